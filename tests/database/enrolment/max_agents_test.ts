/** How many agents an enrolment may have, whatever races. */
import assert from "node:assert/strict";
import { assertError, createAgent, endCreatedAgents, post } from "../../conformance/client.ts";
import {
  agentOf,
  endMadeEnrolments,
  enrol,
  eventsOf,
  newName,
  put,
  tryEnrol,
  use,
  whoami,
} from "../../conformance/enrolment/enrolments.ts";
import { withStackDatabase } from "../connection.ts";

Deno.test.afterEach(async () => {
  await endMadeEnrolments();
  await endCreatedAgents();
});

/** How many agents of an enrolment have not ended, and how many uses it has left. */
async function countOf(enrolment_id: string) {
  const [row] = await withStackDatabase((sql) =>
    sql<{ agents: number; uses_left: number | null }[]>`
      select
        (select count(*)::int from agents.enrolled_agents a
          where a.enrolment_id = e.enrolment_id and a.ended_at is null) agents,
        e.uses_left
      from agents.enrolments e where e.enrolment_id = ${enrolment_id}`
  );
  return row!;
}

Deno.test("/enroll of 40 names at once, on both functions, by an enrolment of at most 5 agents → exactly 5 agents, the others limit_exceeded", async () => {
  const { enrolment_key, enrolment_id, max_agents } = await put({
    uses_left: null,
    max_agents: 5,
  });
  assert.equal(max_agents, 5);
  const answers = await Promise.all(
    Array.from(
      { length: 40 },
      (_, index) =>
        tryEnrol({ enrolment_key, agent_name: newName("vm") }, {
          by: index % 2 === 0 ? "agent-artifacts" : "agent-mesh",
        }),
    ),
  );
  const refused = answers.filter(({ status }) => status !== 200);
  assert.equal(refused.length, 35);
  for (const answer of refused) {
    assert.deepEqual(assertError(answer, 409, "limit_exceeded"), {
      limit: "agents_of_enrolment",
      maximum: 5,
    });
  }
  assert.equal((await countOf(enrolment_id)).agents, 5);
  const told = (await eventsOf("enrolment.refused"))
    .filter((event) => event["enrolment_id"] === enrolment_id);
  assert.deepEqual(new Set(told.map(({ reason }) => reason)), new Set(["too_many_agents"]));
});

Deno.test("an enrolment with all its agents → each of them enrols again; one that left makes room for one", async () => {
  const { enrolment_key, enrolment_id } = await put({ uses_left: null, max_agents: 2 });
  const [first, second, third] = [newName("vm"), newName("vm"), newName("vm")];
  const leaving = await enrol({ enrolment_key, agent_name: first });
  await use(leaving);
  await use(await enrol({ enrolment_key, agent_name: second }));
  const again = await enrol({ enrolment_key, agent_name: second });
  assert.equal(again.generation, 2);
  const proof = { enrolment_key, agent_name: third };
  assertError(await tryEnrol(proof), 409, "limit_exceeded");
  assert.equal((await whoami(leaving)).status, 200);
  assert.equal((await post("/agent-mesh/leave", { as: agentOf(leaving) })).status, 200);
  const races = await Promise.all(
    [proof, { enrolment_key, agent_name: first }].map((one) => tryEnrol(one)),
  );
  assert.deepEqual(races.map(({ status }) => status).sort(), [200, 409]);
  assert.equal((await countOf(enrolment_id)).agents, 2);
});

Deno.test("max_agents that is left out → a thousand; of an agent that is named and was taken over → it counts, too", async () => {
  assert.equal((await put())["max_agents"], 1000);
  const planner = await createAgent("planner");
  const { enrolment_key, enrolment_id } = await put({
    agent_id: planner.id,
    max_agents: 1,
    uses_left: 3,
  });
  await use(await enrol({ enrolment_key }));
  await use(await enrol({ enrolment_key }));
  assert.deepEqual(await countOf(enrolment_id), { agents: 1, uses_left: 1 });
});

Deno.test("a refusal for the number of agents → uses_left and every agent as before", async () => {
  const { enrolment_key, enrolment_id } = await put({ uses_left: 9, max_agents: 1 });
  const one = await enrol({ enrolment_key, agent_name: newName("vm") });
  await use(one);
  const before = await countOf(enrolment_id);
  const taken = await createAgent("new-planner");
  // The same answer for a free and a taken name.
  for (const agent_name of [newName("vm"), taken.id]) {
    assertError(await tryEnrol({ enrolment_key, agent_name }), 409, "limit_exceeded");
  }
  assert.deepEqual(await countOf(enrolment_id), before);
  assert.equal((await whoami(one)).status, 200);
});
