import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { type Agent, type Answer, assertError } from "../../conformance/client.ts";
import { artifactTest } from "../../conformance/artifacts.ts";
import { configOf, join, meshTest, netmapOf, pairUp, rotate } from "../../conformance/mesh_cast.ts";
import { stackEncryptionKeys } from "../mesh_function.ts";
import { type OwnFunction, startOwnFunction } from "../own_function.ts";

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
  "a key that was dropped too early → 503 misconfigured that says what to do; after a rotation, 200",
  async ({ alice, bob }) => {
    await pairUp(alice, bob);
    await configOf(alice);
    await using own = await startMeshFunction(newEncryptionKey());
    const answer = await wgConfig(own, alice);
    assertError(answer, 503, "misconfigured");
    assert.match(messageOf(answer), /psk reencrypt/);
    await rotate(alice, alice, bob);
    assert.equal((await wgConfig(own, alice)).status, 200);
    await rotate(alice, alice, bob);
  },
);

artifactTest(
  "PSK_ENCRYPTION_KEYS=oops → agent-artifacts does not mind; agent-mesh says which variable is wrong",
  async ({ planner }) => {
    const environment = { PSK_ENCRYPTION_KEYS: "oops" };
    await using artifacts = await startOwnFunction({ environment });
    const listed: Answer = await artifacts.post("/list", {
      as: planner,
      body: { agent_id: planner.id },
    });
    assert.deepEqual([listed.status, listed.body["artifacts"]], [200, []]);

    await using mesh = await startOwnFunction({ name: "agent-mesh", environment });
    const refused: Answer = await mesh.post("/netmap", { as: planner, body: {} });
    assertError(refused, 503, "misconfigured");
    assert.match(messageOf(refused), /^PSK_ENCRYPTION_KEYS cannot be used\./);
    assert.ok(!JSON.stringify(refused.body).includes("oops"));
  },
);

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

function messageOf(answer: Answer): string {
  return (answer.body as { error: { message: string } }).error.message;
}
