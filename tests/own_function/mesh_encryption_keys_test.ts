import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { type Agent, type Answer, assertError } from "../conformance/client.ts";
import { configOf, join, meshTest, netmapOf, pairUp, rotate } from "../conformance/mesh_cast.ts";
import { withStackDatabase } from "../database/connection.ts";
import { stackEncryptionKeys } from "./mesh_function.ts";
import { type OwnFunction, startOwnFunction } from "./own_function.ts";

meshTest(
  "/wg_config without PSK_ENCRYPTION_KEYS → 503 misconfigured, with the command that sets them",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    await using own = await startOwnFunction({ name: "agent-mesh" });
    const answer = await wgConfig(own, alice);
    assertError(answer, 503, "misconfigured");
    assert.match(messageOf(answer), /supabase secrets set PSK_ENCRYPTION_KEYS=/);
    const other = (await netmapOf(alice)).peers.find(({ self }) => !self);
    assert.equal(other?.psk_version, null, "no PSK was made");
  },
);

meshTest(
  "any request where PSK_ENCRYPTION_KEYS holds no keys → 503 misconfigured, which does not repeat it",
  async ({ alice }) => {
    await join(alice);
    const almostAKey = randomBytes(31).toString("base64");
    for (const PSK_ENCRYPTION_KEYS of [almostAKey, `${newEncryptionKey()},${almostAKey}`]) {
      await using own = await startMeshFunction(PSK_ENCRYPTION_KEYS);
      for (const path of ["/wg_config", "/netmap"]) {
        const answer: Answer = await own.post(path, { as: alice, body: {} });
        assertError(answer, 503, "misconfigured");
        assert.match(messageOf(answer), /^PSK_ENCRYPTION_KEYS cannot be used\./);
        assert.ok(!JSON.stringify(answer.body).includes(almostAKey));
      }
    }
  },
);

meshTest(
  "a new key in front → PSKs that the old one encrypted still open",
  async ({ alice, bob }) => {
    const stackKeys = await stackEncryptionKeys();
    await pairUp(alice, bob);
    const { config } = await configOf(alice);
    await using own = await startMeshFunction(`${newEncryptionKey()},${stackKeys}`);
    assert.equal((await wgConfig(own, alice)).body["config"], config);
  },
);

meshTest(
  "a key that is dropped too early → 503 misconfigured that says what to do; after a rotation, 200",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    await configOf(alice);
    await using own = await startMeshFunction(newEncryptionKey());
    const answer = await wgConfig(own, alice);
    assertError(answer, 503, "misconfigured");
    assert.match(messageOf(answer), /psk:reencrypt/);
    await rotate(alice, alice, bob);
    assert.equal((await wgConfig(own, alice)).status, 200);
    await rotate(alice, alice, bob);
  },
);

meshTest(
  "psk:reencrypt → the old key can be dropped, and no configuration changes",
  async ({ alice, bob }) => {
    const [newKey, stackKeys] = [newEncryptionKey(), await stackEncryptionKeys()];
    await pairUp(alice, bob);
    const before = await configOf(alice);
    try {
      assert.match(await reencrypt(`${newKey},${stackKeys}`), /^[1-9][0-9]* PSKs reencrypted/);
      assert.match(await reencrypt(`${newKey},${stackKeys}`), /^0 PSKs reencrypted/);
      await using own = await startMeshFunction(newKey);
      assert.deepEqual((await wgConfig(own, alice)).body, { ...before });
    } finally {
      // The stack's own function does not know the new key.
      await reencrypt(`${stackKeys},${newKey}`);
    }
    assert.deepEqual(await configOf(bob).then(({ agent_id }) => agent_id), bob.id);
    assert.deepEqual(await configOf(alice), before);
  },
);

meshTest(
  "psk:reencrypt without the key that encrypted a PSK → a sentence for each, exit code 1, nothing changes",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    await configOf(alice);
    const before = await encryptedPsks();
    const { code, output } = await runReencrypt(newEncryptionKey());
    assert.equal(code, 1);
    const named =
      `The PSK of ${alice.id} and ${bob.id} is encrypted under key [0-9a-f]{16}, which `;
    assert.match(output, new RegExp(`^${named}`, "m"));
    assert.match(output, /^0 PSKs reencrypted under key .*; [1-9][0-9]* were not\. .*\n$/m);
    assert.deepEqual(await encryptedPsks(), before);
  },
);

meshTest(
  "psk:reencrypt with a PSK whose key is lost → the others are reencrypted, and it is told of",
  async ({ alice, bob, carol }) => {
    const [newKey, stackKeys] = [newEncryptionKey(), await stackEncryptionKeys()];
    await pairUp(alice, bob);
    await pairUp(alice, carol);
    const lost = `v1.${"0".repeat(16)}.${randomBytes(72).toString("base64")}`;
    await configOf(alice);
    await withStackDatabase((sql) =>
      sql`update mesh.pairs set encrypted_psk = ${lost} where ${carol.id} in (low_agent, high_agent)`
    );
    try {
      const { code, output } = await runReencrypt(`${newKey},${stackKeys}`);
      assert.equal(code, 1);
      assert.match(
        output,
        new RegExp(`^The PSK of ${alice.id} and ${carol.id} is encrypted under key 0{16}`),
      );
      assert.match(output, /^[1-9][0-9]* PSKs reencrypted under key .*; 1 were not\./m);
      await using own = await startMeshFunction(`${newKey},${stackKeys}`);
      const answer = await wgConfig(own, alice);
      assert.deepEqual(assertError(answer, 503, "misconfigured"), { agent_id: carol.id });
      assert.equal((await wgConfig(own, bob)).status, 200);
    } finally {
      await rotate(alice, alice, carol);
      await reencrypt(`${stackKeys},${newKey}`);
    }
    assert.equal((await configOf(alice)).config.includes("PresharedKey"), true);
  },
);

Deno.test("psk:reencrypt without PSK_ENCRYPTION_KEYS → one sentence, exit code 1: it does not guess", async () => {
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

async function reencrypt(pskEncryptionKeys: string): Promise<string> {
  const { code, output } = await runReencrypt(pskEncryptionKeys);
  assert.equal(code, 0, output);
  return output;
}

async function runReencrypt(pskEncryptionKeys: string): Promise<{ code: number; output: string }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--no-prompt",
      "--allow-env",
      "--allow-read",
      "--allow-net",
      "dev/operator/psk_reencrypt.ts",
    ],
    cwd: new URL("../..", import.meta.url),
    env: { PSK_ENCRYPTION_KEYS: pskEncryptionKeys },
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

function messageOf(answer: Answer): string {
  return (answer.body as { error: { message: string } }).error.message;
}
