import assert from "node:assert/strict";
import { type Agent, assertError, operatorRpc, post, PUBLISHABLE_KEY } from "../client.ts";
import { agree, join, leavesUnchanged, meshTest, newPubkey, ruleBetween } from "../mesh_cast.ts";

const UNKNOWN_AGENT_KEY = `ak_${"0".repeat(64)}`;

/** A well-formed request to every path, about these two agents. */
function requestsAbout(one: Agent, other: Agent): Record<string, object> {
  return {
    "peer/register": { agent_id: one.id, pubkey: newPubkey() },
    "peer/heartbeat": { agent_id: one.id },
    "peer/remove": { agent_id: one.id },
    "netmap": { agent_id: one.id },
    "wg_config": { agent_id: one.id },
    "acl/put": ruleBetween(one, other, { port: 22 }),
    "acl/revoke": ruleBetween(one, other),
    "psk/rotate": { a: one.id, b: other.id },
  };
}

meshTest(
  "every path without a live credential → 401, and nothing changes",
  async ({ alice, bob, carol }) => {
    await join(alice);
    await join(bob);
    await agree(ruleBetween(alice, bob));
    await operatorRpc("revoke_agent_key", { key_id: carol.keyId });
    const credentials: Record<string, string>[] = [
      {},
      { authorization: `Bearer ${UNKNOWN_AGENT_KEY}` },
      { authorization: `Bearer ${carol.key}` },
      { authorization: "Bearer ak_malformed" },
      ...(PUBLISHABLE_KEY ? [{ apikey: PUBLISHABLE_KEY }] : []),
    ];
    await leavesUnchanged([alice, bob], async () => {
      for (const headers of credentials) {
        for (const [path, body] of Object.entries(requestsAbout(alice, bob))) {
          const answer = await post(`/agent-mesh/${path}`, { as: { headers }, body });
          assertError(answer, 401, "unauthenticated");
          assert.equal(answer.headers.get("www-authenticate"), "Bearer");
        }
      }
    });
  },
);

meshTest(
  "every path by a third agent → 403, and nothing changes",
  async ({ alice, bob, carol }) => {
    await join(alice);
    await join(bob);
    await join(carol);
    await agree(ruleBetween(alice, bob));
    await leavesUnchanged([alice, bob, carol], async () => {
      for (const [path, body] of Object.entries(requestsAbout(alice, bob))) {
        assertError(await post(`/agent-mesh/${path}`, { as: carol, body }), 403, "forbidden");
      }
    });
  },
);

meshTest(
  "every path about agents that do not exist → 403 for an agent, the same as if they did",
  async ({ alice, carol }) => {
    const ghost = { ...alice, id: "nobody-has-this" };
    await join(alice);
    await leavesUnchanged([alice, carol], async () => {
      for (const [path, body] of Object.entries(requestsAbout(ghost, alice))) {
        const headers = { "x-request-id": "same" };
        const aboutGhost = await post(`/agent-mesh/${path}`, { as: carol, body, headers });
        const bodyAboutAlice = requestsAbout(alice, ghost)[path];
        const aboutAlice = await post(`/agent-mesh/${path}`, {
          as: carol,
          body: bodyAboutAlice,
          headers,
        });
        assertError(aboutGhost, 403, "forbidden");
        assert.deepEqual(aboutGhost.body, aboutAlice.body, path);
      }
    });
  },
);

meshTest(
  "every path by the operator → 200, for agents that never had a key too",
  async ({ alice, bob }) => {
    const keyless = { ...bob, id: `keyless-${crypto.randomUUID()}` };
    const body = { agent_id: keyless.id, pubkey: newPubkey() };
    await post("/agent-mesh/peer/register", { as: "operator", body });
    await join(alice);
    await agree(ruleBetween(alice, keyless));
    const { "peer/remove": removal, ...others } = requestsAbout(keyless, alice);
    for (const [path, body] of [...Object.entries(others), ["peer/remove", removal] as const]) {
      assert.equal((await post(`/agent-mesh/${path}`, { as: "operator", body })).status, 200, path);
    }
  },
);

meshTest(
  "an agent whose key is revoked → its peer stays, its next request is 401",
  async ({ alice }) => {
    await join(alice);
    await leavesUnchanged([alice], async () => {
      await operatorRpc("revoke_agent_keys", { agent_id: alice.id });
      assertError(await post("/agent-mesh/wg_config", { as: alice }), 401, "unauthenticated");
    });
  },
);
