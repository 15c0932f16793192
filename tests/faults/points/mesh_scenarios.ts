import assert from "node:assert/strict";
import { type Agent, createAgent } from "../../conformance/client.ts";
import {
  configOf,
  heartbeat,
  idsIn,
  join,
  netmapOf,
  newPubkey,
  pairUp,
  ruleBetween,
  valuesOf,
} from "../../conformance/mesh_cast.ts";
import { stackEncryptionKeys } from "../../own_function/mesh_function.ts";
import { OWN_RELAY } from "../../own_function/relay/relays.ts";
import type { Arranged, Scenario } from "./scenario.ts";

/**
 * The service polls for changes once a second, starting a second after it records the heartbeat.
 */
const WAIT_SECONDS = 4;

const environment = { PSK_ENCRYPTION_KEYS: await stackEncryptionKeys() };

function meshScenario(
  path: string,
  arrange: (one: Agent, other: Agent) => Promise<Arranged>,
): Scenario {
  return {
    functionName: "agent-mesh",
    path,
    environment,
    settled: ["200"],
    async arrange() {
      return await arrange(...await Promise.all([createAgent("one"), createAgent("other")]));
    },
  };
}

/** Asserts that each agent has the other in its configuration, with the same PSK. */
async function assertConnected(one: Agent, other: Agent): Promise<void> {
  const [psk, ...more] = valuesOf("PresharedKey", await configOf(one));
  assert.ok(psk);
  assert.deepEqual(more, []);
  assert.deepEqual(valuesOf("PresharedKey", await configOf(other)), [psk]);
}

async function assertOnline(agent: Agent): Promise<void> {
  assert.equal((await netmapOf(agent)).peers[0]?.online, true);
}

export const MESH_SCENARIOS: readonly Scenario[] = [
  meshScenario(
    "/health",
    () => Promise.resolve({ request: { method: "GET", as: "nobody" } }),
  ),
  meshScenario("/peer/register", async (one, other) => {
    await pairUp(one, other);
    const pubkey = newPubkey();
    return {
      request: { as: one, body: { agent_id: one.id, pubkey } },
      async holds() {
        assert.deepEqual(valuesOf("PublicKey", await configOf(other)), [pubkey]);
        await assertConnected(one, other);
      },
    };
  }),
  meshScenario("/peer/heartbeat", async (one, other) => {
    await pairUp(one, other);
    const path = { handshake_age_seconds: 42, endpoint: "203.0.113.7:4242", via: "direct" };
    return {
      request: { as: one, body: { agent_id: one.id, paths: [{ agent_id: other.id, ...path }] } },
      async holds() {
        await assertOnline(one);
        const peer = (await netmapOf(other)).peers.find(({ agent_id }) => agent_id === one.id);
        assert.equal(peer?.path?.reported_by_peer?.endpoint, path.endpoint);
      },
    };
  }),
  {
    ...meshScenario("/peer/heartbeat", async (one) => {
      await join(one);
      const { config_version } = await heartbeat(one);
      return {
        request: {
          as: one,
          body: { agent_id: one.id, config_version, wait_seconds: WAIT_SECONDS },
        },
        holds: () => assertOnline(one),
      };
    }),
    situation: "that waits",
  },
  meshScenario("/peer/remove", async (one, other) => {
    await pairUp(one, other);
    return {
      request: { as: one, body: { agent_id: one.id } },
      holds: async () => assert.deepEqual(idsIn(await netmapOf(other)), [other.id]),
    };
  }),
  meshScenario("/netmap", async (one, other) => {
    await pairUp(one, other);
    return { request: { as: one } };
  }),
  meshScenario("/acl/put", async (one, other) => {
    await join(other);
    const rule = ruleBetween(one, other);
    return {
      request: { as: one, body: rule },
      holds: async () =>
        assert.deepEqual((await netmapOf(other)).acl_requests, [
          { ...rule, waiting_for: other.id },
        ]),
    };
  }),
  meshScenario("/acl/revoke", async (one, other) => {
    await pairUp(one, other);
    return {
      request: { as: one, body: ruleBetween(one, other) },
      async holds() {
        for (const agent of [one, other]) assert.deepEqual((await netmapOf(agent)).acls, []);
      },
    };
  }),
  meshScenario("/wg_config", async (one, other) => {
    await pairUp(one, other);
    return { request: { as: one }, holds: () => assertConnected(one, other) };
  }),
  meshScenario("/psk/rotate", async (one, other) => {
    await pairUp(one, other);
    const [old] = valuesOf("PresharedKey", await configOf(one));
    return {
      request: { as: one, body: { a: one.id, b: other.id } },
      async holds() {
        await assertConnected(one, other);
        assert.ok(!valuesOf("PresharedKey", await configOf(one)).includes(old!));
      },
    };
  }),
  {
    ...meshScenario("/relay", async (one) => {
      await join(one);
      return { request: { as: one } };
    }),
    environment: OWN_RELAY,
  },
  meshScenario("/psk/keys", () => Promise.resolve({ request: { as: "operator" } })),
];
