/** An enrolment that is revoked while its agents enrol, join, grant and leave. */
import assert from "node:assert/strict";
import { grant, inbox, publish, tryGrant } from "../../conformance/artifacts.ts";
import { createAgent, endCreatedAgents, post } from "../../conformance/client.ts";
import {
  agentOf,
  endMadeEnrolments,
  enrol,
  type Enrolled,
  newName,
  put,
  revokeAll,
  tryEnrol,
  whoami,
} from "../../conformance/enrolment/enrolments.ts";
import { tryJoin } from "../../conformance/mesh_cast.ts";
import { withStackDatabase } from "../connection.ts";

Deno.test.afterEach(async () => {
  await endMadeEnrolments();
  await endCreatedAgents();
});

/** Counts what is left of an enrolment's agents. */
async function leftOf(enrolment_id: string) {
  const [row] = await withStackDatabase((sql) =>
    sql<{ keys: number; agents: number; peers: number; tags: number }[]>`
      select
        (select count(*)::int from agents.keys
          where enrolment_id = ${enrolment_id} and revoked_at is null) keys,
        (select count(*)::int from agents.enrolled_agents
          where enrolment_id = ${enrolment_id} and cut = 0) agents,
        (select count(*)::int from mesh.peers p join agents.keys k using (agent_id)
          where k.enrolment_id = ${enrolment_id}) peers,
        (select count(*)::int from agents.agent_tags
          where enrolment_id = ${enrolment_id}) tags`
  );
  return row;
}

Deno.test("32 machines that enrol, join and leave again and again while the enrolment is revoked → nothing of them is left, and none comes back", async () => {
  const { enrolment_key, enrolment_id } = await put({ uses_left: null, tags: ["tag:racer"] });
  const came: Enrolled[] = [];
  let isOver = false;
  const machine = async () => {
    const agent_name = newName("racer");
    while (!isOver) {
      const { status, body } = await tryEnrol({ enrolment_key, agent_name });
      if (status === 429 || status === 503) continue;
      if (status === 401) return;
      assert.equal(status, 200, JSON.stringify(body));
      came.push(body);
      await tryJoin(agentOf(body));
      if (came.length % 5 === 0) await post("/agent-mesh/leave", { as: agentOf(body) });
    }
  };
  const machines = Promise.all(Array.from({ length: 32 }, machine));
  while (came.length < 60) await new Promise((resolve) => setTimeout(resolve, 5));
  const { remaining } = await revokeAll(enrolment_id);
  assert.equal(remaining, 0);
  // True at once, although requests of these agents are still in flight.
  assert.deepEqual(await leftOf(enrolment_id), { keys: 0, agents: 0, peers: 0, tags: 0 });
  isOver = true;
  await machines;
  for (const agent of came) assert.equal((await whoami(agent)).status, 401);
  assert.deepEqual(await leftOf(enrolment_id), { keys: 0, agents: 0, peers: 0, tags: 0 });
});

Deno.test("agents that grant without a pause while the enrolment is revoked with undo_grants → no grant of theirs is left, and every other one is", async () => {
  const { enrolment_key, enrolment_id } = await put({ uses_left: null });
  const [reader, outsider] = [await createAgent("reader"), await createAgent("outsider")];
  await grant(outsider, await publish(outsider), { to: reader });
  let made = 0;
  const givers = await Promise.all(
    Array.from(
      { length: 4 },
      async () => agentOf(await enrol({ enrolment_key, agent_name: newName("giver") })),
    ),
  );
  const artifacts = await Promise.all(givers.map((giver) => publish(giver)));
  const granting = givers.map(async (giver, index) => {
    while (true) {
      const { status } = await tryGrant(giver, artifacts[index]!, { to: reader });
      if (status === 401) return;
      if (status === 200) made++;
    }
  });
  while (made < 40) await new Promise((resolve) => setTimeout(resolve, 5));
  const { grants } = await revokeAll(enrolment_id, { undo_grants: true });
  const left = await inbox(reader);
  await Promise.all(granting);
  assert.equal(grants, made);
  assert.deepEqual(left.map(({ from_agent }) => from_agent), [outsider.id]);
  assert.deepEqual((await inbox(reader)).length, 1);
});

Deno.test("an enrolment revoked without undo_grants, then with it → the grants stay, then end", async () => {
  const { enrolment_key, enrolment_id } = await put({ uses_left: null });
  const reader = await createAgent("reader");
  const giver = agentOf(await enrol({ enrolment_key, agent_name: newName("giver") }));
  await grant(giver, await publish(giver), { to: reader });
  assert.equal((await revokeAll(enrolment_id)).grants, 0);
  assert.equal((await inbox(reader)).length, 1);
  assert.equal((await revokeAll(enrolment_id, { undo_grants: true })).grants, 1);
  assert.equal((await inbox(reader)).length, 0);
});
