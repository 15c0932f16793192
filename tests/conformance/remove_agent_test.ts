/** What remains after the operator removes an agent. */
import assert from "node:assert/strict";
import {
  type Artifact,
  artifactTest,
  commit,
  deleteArtifact,
  download,
  grant,
  inbox,
  leavesUnchanged,
  listed,
  open,
  publish,
  redeem,
  register,
  registerAndUpload,
  sha256,
} from "./artifacts.ts";
import {
  type Agent,
  assertError,
  operatorRpc,
  PUBLISHABLE_KEY,
  succeed,
  SUPABASE_URL,
} from "./client.ts";
import { assertUnauthenticated, listWith } from "./credentials.ts";
import {
  agree,
  heartbeat,
  idsIn,
  join,
  meshTest,
  netmapOf,
  pairUp,
  putRule,
  ruleBetween,
  tryJoin,
} from "./mesh_cast.ts";

/** Calls remove_agent; anything but 200 fails. */
async function removeAgent(
  { id }: { readonly id: string },
  options: { keep_artifacts?: boolean; max_entries?: number } = {},
) {
  const answer = await operatorRpc("remove_agent", { agent_id: id, ...options });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body;
}

const NOTHING = { keys: 0, peer: false, grants: 0, artifacts: 0, remaining: false };

/** An agent's artifacts, as the operator sees them. */
async function listedByOperator({ id }: Agent): Promise<Artifact[]> {
  const body = { agent_id: id };
  const page = await succeed<{ artifacts: Artifact[] }>("/agent-artifacts/list", {
    as: "operator",
    body,
  });
  return page.artifacts;
}

artifactTest(
  "remove_agent → its keys, uploads, artifacts and the grants from and to it have ended; a second time → nothing",
  async ({ planner, builder, stranger }) => {
    const own = await publish(planner, { key: "own" });
    const given = await grant(planner, own, { to: builder });
    const pending = await registerAndUpload(planner, { key: "pending" });
    const others = await publish(builder, { key: "others" });
    const received = await grant(builder, others, { to: planner });
    const between = await grant(builder, others, { to: stranger });

    assert.deepEqual(await removeAgent(planner), {
      agent_id: planner.id,
      keys: 1,
      peer: false,
      grants: 2,
      artifacts: 2,
      remaining: false,
    });

    assertUnauthenticated(await listWith(planner, { authorization: `Bearer ${planner.key}` }));
    for (const { token } of [given, received]) {
      const { status, body } = await redeem(token);
      assert.equal(status, 410, JSON.stringify(body));
    }
    assert.deepEqual(await inbox(builder), []);
    assertError(await open(builder, own), 404, "artifact_not_found");
    assert.deepEqual(await listedByOperator(planner), []);
    assertError(await commit("operator", pending, sha256("hello")), 410, "artifact_expired");
    // The grants between the other agents still work.
    assert.deepEqual((await listed(builder)).map(({ key }) => key), ["others"]);
    assert.equal((await redeem(between.token)).status, 200);

    await leavesUnchanged([planner, builder, stranger], async () => {
      assert.deepEqual(await removeAgent(planner), { agent_id: planner.id, ...NOTHING });
    });
  },
);

artifactTest(
  "remove_agent with keep_artifacts → committed ones stay for the operator; grants and uploads have ended",
  async ({ planner, builder }) => {
    const own = await publish(planner, { key: "own" });
    const given = await grant(planner, own, { to: builder });
    const pending = await register(planner, { key: "pending" });
    const removed = await removeAgent(planner, { keep_artifacts: true });
    assert.deepEqual([removed["grants"], removed["artifacts"]], [1, 1]);
    assertError(await redeem(given.token), 410, "grant_revoked");
    assertError(await commit("operator", pending, sha256("hello")), 410, "artifact_expired");
    assert.deepEqual(await listedByOperator(planner), [own]);
    const { url } = (await open("operator", own)).body;
    assert.equal(await download(url), "hello");
  },
);

artifactTest(
  "remove_agent of more than one call may end → remaining, until it has all ended",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const tokens: string[] = [];
    for (let n = 0; n < 5; n++) {
      tokens.push((await grant(planner, artifact, { to: builder })).token);
    }
    const first = await removeAgent(planner, { max_entries: 2 });
    assert.deepEqual([first["keys"], first["grants"], first["remaining"]], [1, 2, true]);
    let calls = 1;
    while ((await removeAgent(planner, { max_entries: 2 }))["remaining"]) calls++;
    assert.equal(calls, 2);
    for (const token of tokens) assert.equal((await redeem(token)).status, 410);
  },
);

meshTest(
  "remove_agent → its peer, rules and requests are gone; it is 401, its neighbours see nothing of it",
  async ({ alice, bob, carol }) => {
    const { pubkey } = await pairUp(alice, bob);
    await join(carol);
    await agree(ruleBetween(bob, carol));
    await putRule(alice, ruleBetween(alice, carol));
    await putRule(carol, ruleBetween(carol, alice, { port: 80 }));

    const removed = await removeAgent(alice);
    assert.deepEqual([removed["keys"], removed["peer"]], [1, true]);
    await assert.rejects(heartbeat(alice), /unauthenticated/);
    for (const neighbour of [bob, carol]) {
      const map = await netmapOf(neighbour);
      assert.deepEqual(idsIn(map), [bob.id, carol.id].sort());
      assert.equal(map.acls.length, 1);
      assert.deepEqual(map.acl_requests, []);
      assertError(await tryJoin(neighbour, { pubkey }), 409, "pubkey_in_use");
    }
  },
);

Deno.test("remove_agent of an agent that nobody has heard of → nothing", async () => {
  const id = `nobody-${crypto.randomUUID()}`;
  assert.deepEqual(await removeAgent({ id }), { agent_id: id, ...NOTHING });
});

artifactTest("remove_agent by anybody but the operator → refused", async ({ planner }) => {
  const artifact = await publish(planner);
  await leavesUnchanged([planner], async () => {
    for (const apikey of [planner.key, PUBLISHABLE_KEY ?? "none"]) {
      const response = await fetch(`${SUPABASE_URL}/rest/v1/rpc/agent_api_remove_agent`, {
        method: "POST",
        headers: { apikey, "content-type": "application/json" },
        body: JSON.stringify({ agent_id: planner.id }),
      });
      await response.body?.cancel();
      assert.ok([401, 403, 404].includes(response.status), String(response.status));
    }
  });
  assert.equal((await deleteArtifact(planner, artifact)).status, 200);
});
