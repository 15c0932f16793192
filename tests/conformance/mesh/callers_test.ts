import assert from "node:assert/strict";
import { assertUnauthenticated, UNKNOWN_AGENT_KEY } from "../credentials.ts";
import { type Agent, assertError, operatorRpc, post, PUBLISHABLE_KEY, succeed } from "../client.ts";
import { endMadeEnrolments, type Enrolment, put, revokeAll } from "../enrolment/enrolments.ts";
import {
  agree,
  join,
  leavesUnchanged as leavesMeshUnchanged,
  meshTest,
  newPubkey,
  ruleBetween,
} from "../mesh_cast.ts";
import { cardsOf, FUNCTIONS, MESH_CARDS } from "../../operations/cards.ts";

Deno.test.afterEach(endMadeEnrolments);

/** The requests of the operations' cards, about two agents. */
function requestsAbout(
  one: Agent,
  other: Agent,
  enrolment_id = `enr_${"0".repeat(32)}`,
): Record<string, object> {
  const artifact_id = `art_${"0".repeat(32)}`;
  return Object.fromEntries(
    cardsOf("agent-mesh").flatMap(([path, { asks }]) =>
      typeof asks === "string" ? [] : [[path, asks({ one, other, artifact_id, enrolment_id })]]
    ),
  );
}

/** Asserts that `refused` changes nothing about the agents and their enrolments. */
async function leavesUnchanged(
  agents: readonly Agent[],
  refused: () => Promise<unknown>,
): Promise<void> {
  const before = await enrolmentsTo(agents);
  await leavesMeshUnchanged(agents, refused);
  assert.deepEqual(await enrolmentsTo(agents), before);
}

async function enrolmentsTo(agents: readonly Agent[]): Promise<Enrolment[]> {
  const found: Enrolment[] = [];
  let cursor: string | null = null;
  do {
    const page: { enrolments: Enrolment[]; next_cursor: string | null } = await succeed(
      "/agent-mesh/enrolment/list",
      { as: "operator", body: { limit: 1000, ...(cursor === null ? {} : { cursor }) } },
    );
    found.push(
      ...page.enrolments.filter(({ agent_id }) => agents.some(({ id }) => id === agent_id)),
    );
    cursor = page.next_cursor;
  } while (cursor !== null);
  return found;
}

Deno.test("the operations without a credential in the headers → /fetch and /enroll", () => {
  const paths = FUNCTIONS.flatMap((name) => cardsOf(name))
    .filter(([, { asks }]) => typeof asks === "string").map(([path]) => path);
  assert.deepEqual(paths, ["/fetch", "/enroll", "/enroll"]);
});

meshTest(
  "every path without a live credential → 401, and nothing changes",
  async ({ alice, bob, carol }) => {
    await join(alice);
    await join(bob);
    await agree(ruleBetween(alice, bob));
    const { enrolment_id } = await put({ agent_id: alice.id });
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
        for (const [path, body] of Object.entries(requestsAbout(alice, bob, enrolment_id))) {
          assertUnauthenticated(await post(`/agent-mesh${path}`, { as: { headers }, body }));
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
    const { enrolment_id } = await put({ agent_id: alice.id });
    await leavesUnchanged([alice, bob, carol], async () => {
      for (const [path, body] of Object.entries(requestsAbout(alice, bob, enrolment_id))) {
        assertError(await post(`/agent-mesh${path}`, { as: carol, body }), 403, "forbidden");
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
        const aboutGhost = await post(`/agent-mesh${path}`, { as: carol, body, headers });
        const bodyAboutAlice = requestsAbout(alice, ghost)[path];
        const aboutAlice = await post(`/agent-mesh${path}`, {
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
    const { enrolment_id } = await put();
    const requests = requestsAbout(keyless, alice, enrolment_id);
    const isLast = (path: string) => MESH_CARDS[path as keyof typeof MESH_CARDS].isLast ?? false;
    const inOrder = Object.entries(requests)
      .toSorted(([one], [other]) => Number(isLast(one)) - Number(isLast(other)));
    for (const [path, body] of inOrder) {
      const answer = await post(`/agent-mesh${path}`, { as: "operator", body });
      if (path === "/relay" && answer.status === 503) assertError(answer, 503, "misconfigured");
      else assert.equal(answer.status, 200, path);
      if (path === "/enrolment/put") await revokeAll(String(answer.body["enrolment_id"]));
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
