import assert from "node:assert/strict";
import { leavesUnchanged, listed, publish } from "../conformance/artifacts.ts";
import { type Answer, operatorRpc, post, send } from "../conformance/client.ts";
import { assertUnauthenticated } from "../conformance/credentials.ts";
import { eventsOf, nextEvents } from "../conformance/changes/feed.ts";
import { withStackDatabase } from "../database/connection.ts";
import { arrangeValidRequests } from "../mutations/valid_requests.ts";
import { agentsIn, isIdentified, keyIn, sent } from "./requests.ts";
import { newName, signIn } from "./signed_in.ts";

/** Asserts 401, or for MCP the same error inside a tool's result. */
function assertRefused(answer: Answer): void {
  const result = answer.body["result"] as { isError: boolean; content: { text: string }[] };
  if (result === undefined) return assertUnauthenticated(answer);
  assert.equal(result.isError, true);
  assert.equal(JSON.parse(result.content[0]!.text).error.code, "unauthenticated");
}

Deno.test("remove_agent → its users are 401 everywhere, by old and new tokens, with nothing changed, until readmit_agent", async () => {
  const requests = (await arrangeValidRequests()).filter(isIdentified)
    .filter(({ headers }) => keyIn(headers) !== undefined);
  const agents = await agentsIn(requests);
  const before = await Promise.all(agents.map((agent) => signIn(agent)));
  for (const { id } of agents) {
    const removed = await operatorRpc("remove_agent", { agent_id: id, keep_artifacts: true });
    assert.equal(removed.status, 200);
  }
  const after = await Promise.all(agents.map((agent) => signIn(agent)));
  await leavesUnchanged(agents, async () => {
    for (const request of requests) {
      const place = agents.findIndex(({ key }) => key === keyIn(request.headers));
      for (const user of [before[place]!, after[place]!]) {
        assertRefused(await sent(request, user.key));
      }
    }
  });

  for (const [place, { id }] of agents.entries()) {
    // A new agent key does not readmit the agent's users.
    await operatorRpc("create_agent_key", { agent_id: id });
    const headers = { authorization: `Bearer ${before[place]!.key}` };
    assertUnauthenticated(await send("/agent-artifacts/whoami", { headers }));
    for (const readmitted of [true, false]) {
      const { body } = await operatorRpc("readmit_agent", { agent_id: id });
      assert.deepEqual(body, { agent_id: id, readmitted });
    }
    assert.equal((await send("/agent-artifacts/whoami", { headers })).status, 200);
    await operatorRpc("remove_agent", { agent_id: id });
  }
});

Deno.test("remove_agent and readmit_agent of an agent that only users act as → one event each, however often they are called", async () => {
  const user = await signIn(newName("ada"));
  for (let time = 0; time < 2; time++) await operatorRpc("remove_agent", { agent_id: user.id });
  for (let time = 0; time < 2; time++) await operatorRpc("readmit_agent", { agent_id: user.id });
  await withStackDatabase(async (sql) => {
    const events = await sql`
      select action, actor_kind from agents.events where subject_agent_id = ${user.id} order by event_id`;
    assert.deepEqual(events.map(({ action, actor_kind }) => [action, actor_kind]), [
      ["agent.removed", "operator"],
      ["agent.readmitted", "operator"],
    ]);
    assert.equal(
      (await sql`
      select from agents.removed_agents where agent_id = ${user.id}`).length,
      0,
    );
  });
});

Deno.test("/inbox that waits while its user's token ends → 401; while the agent is removed → 401", async () => {
  const ending = await signIn(newName("ada"), { seconds: 2 });
  const removed = await signIn(newName("grace"));
  const wait = (user: typeof ending) =>
    post("/agent-artifacts/inbox", { as: user, body: { wait_seconds: 50 } });
  const waiting = [wait(ending), wait(removed)];
  await operatorRpc("remove_agent", { agent_id: removed.id });
  for (const answer of await Promise.all(waiting)) assertUnauthenticated(answer);
  await operatorRpc("readmit_agent", { agent_id: removed.id });
});

Deno.test("/events that waits as a user → told of what the agent's key does", async () => {
  const name = newName("ada");
  const [one, other] = [await signIn(name), await signIn(name)];
  const { latest } = await eventsOf("agent-artifacts", one);
  const told = nextEvents("agent-artifacts", one, {
    after: latest,
    count: 1,
    types: ["artifact.committed"],
  });
  const { artifact_id } = await publish(other);
  assert.equal((await told).events[0]?.["artifact_id"], artifact_id);
  assert.deepEqual((await listed(one)).map((artifact) => artifact.artifact_id), [artifact_id]);
  await operatorRpc("remove_agent", { agent_id: name.id });
});
