import assert from "node:assert/strict";
import { programOf } from "../../../packages/local/tests/stack/stack_process.ts";
import { randomBytes } from "node:crypto";
import {
  type Agent,
  type Answer,
  assertError,
  SECRET_KEY,
  SUPABASE_URL,
} from "../../conformance/client.ts";
import { configOf, meshTest, pairUp, rotate } from "../../conformance/mesh_cast.ts";
import { withStackDatabase } from "../../database/connection.ts";
import { stackEncryptionKeys } from "../mesh_function.ts";
import { type OwnFunction, startOwnFunction } from "../own_function.ts";
import { startProxy } from "../proxy.ts";

/** The path that the command calls, which the proxy below intercepts. */
const PSK_KEYS = "/functions/v1/agent-mesh/psk/keys";

/** The stack as a deployment whose agent-mesh has other encryption keys. */
async function startDeployment(pskEncryptionKeys: string) {
  const own = await startMeshFunction(pskEncryptionKeys);
  const proxy = startProxy(
    SUPABASE_URL,
    ({ path }) => path === PSK_KEYS ? askForKeys(own) : undefined,
  );
  return {
    own,
    proxy,
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await own[Symbol.asyncDispose]();
    },
  };
}

function askForKeys(own: OwnFunction): Promise<Response> {
  return fetch(`${own.process.url}/agent-mesh/psk/keys`, {
    method: "POST",
    headers: { apikey: SECRET_KEY },
  });
}

meshTest(
  "psk reencrypt → the old key can be dropped, and no configuration changes",
  async ({ alice, bob }) => {
    const [newKey, stackKeys] = [newEncryptionKey(), await stackEncryptionKeys()];
    const keys = `${newKey},${stackKeys}`;
    await pairUp(alice, bob);
    const before = await configOf(alice);
    await using deployment = await startDeployment(keys);
    try {
      const { url } = deployment.proxy;
      assert.match(await reencrypt(keys, url), /^[1-9][0-9]* PSKs reencrypted/);
      assert.match(await reencrypt(keys, url), /^0 PSKs reencrypted/);
      await using own = await startMeshFunction(newKey);
      assert.deepEqual((await wgConfig(own, alice)).body, { ...before });
    } finally {
      // Encrypt with a key of the stack again: its own function does not have the new key.
      await reencrypt(`${stackKeys},${newKey}`);
    }
    assert.equal((await configOf(bob)).agent_id, bob.id);
    assert.deepEqual(await configOf(alice), before);
  },
);

meshTest(
  "psk reencrypt with a key that the functions do not have → the order of steps, exit code 1, nothing changes",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    const config = await configOf(alice);
    const before = await encryptedPsks();
    const { code, output } = await runReencrypt(
      `${newEncryptionKey()},${await stackEncryptionKeys()}`,
    );
    assert.equal(code, 1);
    assert.match(
      output,
      /^Nothing was changed: the newest encryption key of the functions is [0-9a-f]{16}, /,
    );
    assert.match(
      output,
      /First set PSK_ENCRYPTION_KEYS .* Then run .* Remove the old encryption keys only/,
    );
    assert.deepEqual(await encryptedPsks(), before);
    assert.deepEqual(await configOf(alice), config);
  },
);

meshTest(
  "psk reencrypt where the functions have the new key, but behind the old one → the same refusal",
  async ({ alice, bob }) => {
    const [newKey, stackKeys] = [newEncryptionKey(), await stackEncryptionKeys()];
    await pairUp(alice, bob);
    await configOf(alice);
    const before = await encryptedPsks();
    await using deployment = await startDeployment(`${stackKeys},${newKey}`);
    const { code, output } = await runReencrypt(`${newKey},${stackKeys}`, deployment.proxy.url);
    assert.equal(code, 1);
    assert.match(output, /^Nothing was changed: the newest encryption key of the functions is /);
    assert.deepEqual(await encryptedPsks(), before);
  },
);

meshTest(
  "psk reencrypt of functions without any key → their own sentence, exit code 1, nothing changes",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    await configOf(alice);
    const before = await encryptedPsks();
    await using deployment = await startDeployment("");
    const { code, output } = await runReencrypt(await stackEncryptionKeys(), deployment.proxy.url);
    assert.equal(code, 1);
    assert.match(
      output,
      /^\/agent-mesh\/psk\/keys answered HTTP 503: PSK_ENCRYPTION_KEYS is not set/,
    );
    assert.deepEqual(await encryptedPsks(), before);
  },
);

meshTest(
  "psk reencrypt while the functions are set back to the old key → stops before the next page, and says how far it came",
  async ({ alice, bob }) => {
    const [newKey, stackKeys] = [newEncryptionKey(), await stackEncryptionKeys()];
    const keys = `${newKey},${stackKeys}`;
    await pairUp(alice, bob);
    const before = await configOf(alice);
    await using deployment = await startDeployment(keys);
    const { own, proxy } = deployment;
    let isFirst = true;
    proxy.intercept(({ path }) => {
      if (path !== PSK_KEYS || !isFirst) return undefined;
      isFirst = false;
      return askForKeys(own);
    });
    try {
      const { code, output } = await runReencrypt(keys, proxy.url);
      assert.equal(code, 1);
      assert.match(
        output,
        /^[1-9][0-9]* PSKs were reencrypted: the newest encryption key of the functions is /,
      );
    } finally {
      await reencrypt(`${stackKeys},${newKey}`);
    }
    assert.deepEqual(await configOf(alice), before);
  },
);

meshTest(
  "psk reencrypt without the key that encrypted a PSK → a sentence for each, exit code 1, nothing changes",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    await configOf(alice);
    const before = await encryptedPsks();
    const newKey = newEncryptionKey();
    await using deployment = await startDeployment(newKey);
    const { code, output } = await runReencrypt(newKey, deployment.proxy.url);
    assert.equal(code, 1);
    const named =
      `The PSK of ${alice.id} and ${bob.id} is encrypted under key [0-9a-f]{16}, which `;
    assert.match(output, new RegExp(`^${named}`, "m"));
    assert.match(output, /^0 PSKs reencrypted under key .*; [1-9][0-9]* were not\. .*\n$/m);
    assert.deepEqual(await encryptedPsks(), before);
  },
);

meshTest(
  "psk reencrypt with a PSK whose key is lost → the others are reencrypted, and it is reported",
  async ({ alice, bob, carol }) => {
    const [newKey, stackKeys] = [newEncryptionKey(), await stackEncryptionKeys()];
    const keys = `${newKey},${stackKeys}`;
    await pairUp(alice, bob);
    await pairUp(alice, carol);
    const lost = `v1.${"0".repeat(16)}.${randomBytes(72).toString("base64")}`;
    await configOf(alice);
    await withStackDatabase((sql) =>
      sql`update mesh.pairs set encrypted_psk = ${lost} where ${carol.id} in (low_agent, high_agent)`
    );
    await using deployment = await startDeployment(keys);
    try {
      const { code, output } = await runReencrypt(keys, deployment.proxy.url);
      assert.equal(code, 1);
      assert.match(
        output,
        new RegExp(`^The PSK of ${alice.id} and ${carol.id} is encrypted under key 0{16}`),
      );
      assert.match(output, /^[1-9][0-9]* PSKs reencrypted under key .*; 1 were not\./m);
      const answer = await wgConfig(deployment.own, alice);
      assert.deepEqual(assertError(answer, 503, "misconfigured"), { agent_id: carol.id });
      assert.equal((await wgConfig(deployment.own, bob)).status, 200);
    } finally {
      await rotate(alice, alice, carol);
      await reencrypt(`${stackKeys},${newKey}`);
    }
    assert.ok((await configOf(alice)).config.includes("PresharedKey"));
  },
);

Deno.test("psk reencrypt without PSK_ENCRYPTION_KEYS → one sentence, exit code 1: it does not guess", async () => {
  const before = await encryptedPsks();
  const { code, output } = await runReencrypt("");
  assert.equal(code, 1);
  assert.match(output, /^Set PSK_ENCRYPTION_KEYS to what the functions have: .*\n$/);
  assert.deepEqual(await encryptedPsks(), before);
});

function startMeshFunction(pskEncryptionKeys: string): Promise<OwnFunction> {
  return startOwnFunction({
    name: "agent-mesh",
    environment: { PSK_ENCRYPTION_KEYS: pskEncryptionKeys },
  });
}

function wgConfig(own: OwnFunction, as: Agent): Promise<Answer> {
  return own.post("/wg_config", { as, body: {} });
}

function newEncryptionKey(): string {
  return randomBytes(32).toString("base64");
}

async function reencrypt(pskEncryptionKeys: string, url?: string): Promise<string> {
  const { code, output } = await runReencrypt(pskEncryptionKeys, url);
  assert.equal(code, 0, output);
  return output;
}

/** Runs the command against the deployment at `url`. Default: the stack. */
async function runReencrypt(
  pskEncryptionKeys: string,
  url = SUPABASE_URL,
): Promise<{ code: number; output: string }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-prompt",
      "--allow-env",
      "--allow-read",
      "--allow-net",
      ...programOf("agentops psk reencrypt"),
    ],
    cwd: new URL("../../..", import.meta.url),
    env: {
      SUPABASE_URL: url,
      SUPABASE_SECRET_KEY: SECRET_KEY,
      PSK_ENCRYPTION_KEYS: pskEncryptionKeys,
    },
  }).output();
  const decoder = new TextDecoder();
  return { code, output: decoder.decode(stdout) + decoder.decode(stderr) };
}

function encryptedPsks(): Promise<unknown[]> {
  return withStackDatabase(async (sql) => [
    ...await sql`select low_agent, high_agent, encrypted_psk from mesh.pairs order by 1, 2`
      .values(),
  ]);
}
