/** What an agent has taken, and what else it has of tasks, when it leaves or is removed. */
import assert from "node:assert/strict";
import { grant, publish } from "../../conformance/artifacts.ts";
import {
  type Agent,
  createAgent,
  endCreatedAgents,
  operatorRpc,
  post,
} from "../../conformance/client.ts";
import {
  agentOf,
  endMadeEnrolments,
  enrol,
  newName,
  put,
  revokeAll,
  use,
} from "../../conformance/enrolment/enrolments.ts";
import { newTag, setTags } from "../../conformance/tags/tagged.ts";
import { statesOf, take, tell, workOf } from "../../conformance/tasks/tasks.ts";
import { withStackDatabase } from "../connection.ts";

Deno.test.afterEach(async () => {
  await endMadeEnrolments();
  await endCreatedAgents();
});

/** Two workers of a tag, one of them enrolled, which holds the only task. */
async function pool(terms: object = {}) {
  const tag = newTag();
  const [giver, stayer] = [await createAgent("giver"), await createAgent("stayer")];
  const enrolment = await put({ uses_left: null, tags: [tag] });
  const { enrolment_key, enrolment_id } = enrolment;
  const enrolled = await enrol({ enrolment_key, agent_name: newName("leaver") });
  await use(enrolled);
  const leaver = agentOf(enrolled);
  await setTags(stayer, tag);
  const { grant_id } = await grant(giver, await publish(giver), {
    to_tag: tag,
    deliver: "one",
    ...terms,
  });
  const [task] = await take(leaver, { seconds: 3600 });
  assert.equal(task!.grant_id, grant_id);
  assert.deepEqual(await take(stayer), []);
  return { tag, giver, stayer, leaver, enrolled, enrolment_key, enrolment_id, grant_id };
}

type Pool = Awaited<ReturnType<typeof pool>>;

const ENDS: Readonly<Record<string, (pool: Pool) => Promise<unknown>>> = {
  "a worker that leaves": ({ leaver }) => post("/agent-artifacts/leave", { as: leaver }),
  "a worker that is removed": ({ leaver }) => operatorRpc("remove_agent", { agent_id: leaver.id }),
  "a worker whose enrolment is revoked": ({ enrolment_id }) => revokeAll(enrolment_id),
  "a worker whose name is taken over": ({ leaver }) =>
    operatorRpc("take_over_agent", { agent_id: leaver.id }),
};

for (const [situation, end] of Object.entries(ENDS)) {
  Deno.test(`${situation} → its take is given back at once, and its attempt counts`, async () => {
    const made = await pool();
    await end(made);
    const { state, attempt, taken_by } = await workOf(made.giver);
    assert.deepEqual([state, attempt, taken_by], ["waiting", 1, null]);
    const [task] = await take(made.stayer);
    assert.deepEqual([task!.grant_id, task!.attempt], [made.grant_id, 2]);
  });
}

Deno.test("a worker that leaves in the last attempt of its task → the task is parked, for nobody else", async () => {
  const made = await pool({ max_attempts: 1 });
  await post("/agent-artifacts/leave", { as: made.leaver });
  assert.equal((await workOf(made.giver)).state, "parked");
  assert.deepEqual(await take(made.stayer), []);
  const { reason } = await workOf(made.giver);
  assert.equal(reason, "The last take lapsed.");
});

Deno.test("a worker that leaves and enrols again → what it has done stays done", async () => {
  const made = await pool();
  const { tag, giver, leaver, enrolment_key } = made;
  await grant(giver, await publish(giver, { key: "for each" }), { to_tag: tag });
  const [task] = await take(leaver);
  await tell(leaver, "done", { take_id: task!.take_id });
  await post("/agent-artifacts/leave", { as: leaver });
  const again = await enrol({ enrolment_key, agent_name: leaver.id });
  assert.equal(again.agent_id, leaver.id);
  const returned = agentOf(again);
  assert.deepEqual((await take(returned, { max: 50 })).map(({ grant_id }) => grant_id), [
    made.grant_id,
  ]);
  assert.ok((await statesOf(returned)).includes("done 1"));
});

/** How many rows of tasks an agent has by its tags. */
async function tagTasksOf({ id }: Agent): Promise<number> {
  const rows = await withStackDatabase((sql) =>
    sql`select from artifacts.tasks where agent_id = ${id} and to_tag is not null`
  );
  return rows.length;
}

Deno.test("an agent with more tasks of its tags than one call ends → remove_agent says that more remain", async () => {
  const tag = newTag();
  const [giver, worker] = [await createAgent("giver"), await createAgent("worker")];
  await setTags(worker, tag);
  const artifact = await publish(giver);
  for (let given = 0; given < 5; given++) await grant(giver, artifact, { to_tag: tag });
  assert.equal((await take(worker, { max: 50 })).length, 5);
  const remaining: unknown[] = [];
  const left: number[] = [];
  for (let call = 0; call < 3; call++) {
    const { body } = await operatorRpc<{ remaining: boolean }>("remove_agent", {
      agent_id: worker.id,
      max_entries: 2,
    });
    remaining.push(body.remaining);
    left.push(await tagTasksOf(worker));
  }
  assert.deepEqual(left, [3, 1, 0]);
  assert.deepEqual(remaining, [true, true, false]);
});
