import assert from "node:assert/strict";
import { assertUnauthenticated, UNKNOWN_AGENT_KEY } from "../credentials.ts";
import {
  type Agent,
  assertError,
  listedOperations,
  operatorRpc,
  post,
  PUBLISHABLE_KEY,
} from "../client.ts";
import { agree, join, leavesUnchanged, meshTest, newPubkey, ruleBetween } from "../mesh_cast.ts";

/** What only a command of the operator asks, and the OpenAPI document leaves out. */
const UNLISTED = "psk/keys";

/** What asks for a proof of origin instead of a credential. */
const WITHOUT_CREDENTIAL = "enroll";

/** A well-formed request to every path, about two agents. */
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
    "relay": { agent_id: one.id },
    "events": { agent_id: one.id },
    "wait": { agent_id: one.id },
    "leave": { agent_id: one.id },
    [UNLISTED]: {},
  };
}

meshTest("every path of /openapi.json → among those that the tests here ask", async ({ alice }) => {
  const listed = await listedOperations("agent-mesh");
  assert.ok(listed.length > 8, listed.join());
  assert.deepEqual(
    Object.keys(requestsAbout(alice, alice)).sort(),
    [...listed.filter((path) => path !== WITHOUT_CREDENTIAL), UNLISTED].sort(),
  );
});

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
          assertUnauthenticated(await post(`/agent-mesh/${path}`, { as: { headers }, body }));
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
  "every path about an agent that does not exist → the same 403 as about one that does",
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
  "every path by the operator → 200, also for an agent that never had a key",
  async ({ alice, bob }) => {
    const keyless = { ...bob, id: `keyless-${crypto.randomUUID()}` };
    const body = { agent_id: keyless.id, pubkey: newPubkey() };
    await post("/agent-mesh/peer/register", { as: "operator", body });
    await join(alice);
    await agree(ruleBetween(alice, keyless));
    const { "peer/remove": removal, leave, ...others } = requestsAbout(keyless, alice);
    const ends = Object.entries({ "peer/remove": removal, leave });
    for (const [path, body] of [...Object.entries(others), ...ends]) {
      const answer = await post(`/agent-mesh/${path}`, { as: "operator", body });
      if (path === "relay" && answer.status === 503) assertError(answer, 503, "misconfigured");
      else assert.equal(answer.status, 200, path);
    }
  },
);

meshTest(
  "/wg_config by an agent whose keys were revoked → 401, and its peer stays",
  async ({ alice }) => {
    await join(alice);
    await leavesUnchanged([alice], async () => {
      await operatorRpc("revoke_agent_keys", { agent_id: alice.id });
      assertError(await post("/agent-mesh/wg_config", { as: alice }), 401, "unauthenticated");
    });
  },
);
