/** What the sweep does about tasks, in situations that take time, or many rows. */
import assert from "node:assert/strict";
import {
  artifactTest,
  grant,
  type InboxPage,
  publish,
  revoke,
} from "../../conformance/artifacts.ts";
import { type Agent, operatorRpc, succeed } from "../../conformance/client.ts";
import { eventsOf } from "../../conformance/changes/feed.ts";
import { statesOf, take, type Task, tell, workOf } from "../../conformance/tasks/tasks.ts";
import { callAsService, withStackDatabase } from "../connection.ts";

const OPERATOR = { kind: "operator", request_id: "test" };

/** Ends the time of a take. */
async function lapse({ take_id }: Task): Promise<void> {
  const ended = await withStackDatabase((sql) =>
    sql`update artifacts.tasks set ready_at = now() - interval '1 second'
      where take_id = ${take_id} returning grant_id`
  );
  assert.equal(ended.length, 1);
}

/** Calls settle_tasks until nothing remains. */
async function settle(): Promise<void> {
  for (;;) {
    const { status, body } = await operatorRpc<{ remaining: number }>("settle_tasks", {
      caller: OPERATOR,
      max_entries: 1000,
    });
    assert.equal(status, 200, JSON.stringify(body));
    if (body.remaining === 0) return;
  }
}

/** The builder's task, taken, of a grant with these terms. */
async function takenBy(planner: Agent, builder: Agent, terms: object = {}): Promise<Task> {
  await grant(planner, await publish(planner), { to: builder, ...terms });
  const [task] = await take(builder);
  return task!;
}

async function typesOf(agent: Agent): Promise<string[]> {
  const { events } = await eventsOf("agent-artifacts", agent);
  return events.map(({ type }) => type).filter((type) => type.startsWith("task."));
}

artifactTest(
  "a last attempt that lapsed, and nobody looks → the sweep parks it, with one event",
  async ({ planner, builder }) => {
    const task = await takenBy(planner, builder, { max_attempts: 1 });
    await lapse(task);
    await settle();
    await settle();
    const { state, attempt, reason, taken_by } = await workOf(planner);
    assert.deepEqual([state, attempt, reason, taken_by], [
      "parked",
      1,
      "The last take lapsed.",
      null,
    ]);
    assert.deepEqual(await typesOf(planner), ["task.taken", "task.parked"]);
    assert.equal((await tell(builder, "done", { take_id: task.take_id })).status, 409);
    assert.deepEqual(await take(builder), []);
  },
);

artifactTest(
  "a take that lapsed, with attempts left → the sweep lets it wait, and the inbox tells of it",
  async ({ planner, builder }) => {
    const task = await takenBy(planner, builder);
    const { latest } = await succeed("/agent-artifacts/inbox", { as: builder });
    await lapse(task);
    await settle();
    const body = { after: latest };
    const { grants } = await succeed<InboxPage>("/agent-artifacts/inbox", { as: builder, body });
    assert.deepEqual(grants.map(({ grant_id }) => grant_id), [task.grant_id]);
    // Nobody said that it failed, so no answer of a failure is repeated.
    for (const what of ["done", "fail", "extend"] as const) {
      const late = await tell(builder, what, {
        take_id: task.take_id,
        ...(what === "extend" && { seconds: 30 }),
        ...(what === "fail" && { reason: "Late." }),
      });
      assert.deepEqual([late.status, late.body["error"] && "refused"], [409, "refused"]);
    }
    assert.deepEqual(await typesOf(planner), ["task.taken"]);
    const [again] = await take(builder);
    assert.equal(again!.attempt, 2);
  },
);

artifactTest(
  "takes that still hold, and tasks that are done → the sweep changes nothing",
  async ({ planner, builder }) => {
    const held = await takenBy(planner, builder);
    const done = await takenBy(planner, builder);
    await tell(builder, "done", { take_id: done.take_id });
    const before = await statesOf(builder);
    await settle();
    assert.deepEqual(await statesOf(builder), before);
    assert.equal((await tell(builder, "done", { take_id: held.take_id })).status, 200);
  },
);

artifactTest(
  "a task that lapsed, or was parked, and whose grant has ended → gone, without an event",
  async ({ planner, builder }) => {
    const lapsed = await takenBy(planner, builder, { max_attempts: 1 });
    const parked = await takenBy(planner, builder);
    await tell(builder, "fail", { take_id: parked.take_id, reason: "Never.", final: true });
    await lapse(lapsed);
    for (const { grant_id } of [lapsed, parked]) await revoke(planner, { grant_id });
    const before = await typesOf(planner);
    await settle();
    assert.deepEqual(await typesOf(planner), before);
    const left = await withStackDatabase((sql) =>
      sql`select from artifacts.tasks where grant_id in ${sql([lapsed.grant_id, parked.grant_id])}`
    );
    assert.equal(left.length, 0);
  },
);

artifactTest(
  "settle_tasks with a bound → so many at a time, and says that more remain",
  async ({ planner, builder }) => {
    await settle();
    const tasks: Task[] = [];
    for (let given = 0; given < 3; given++) tasks.push(await takenBy(planner, builder));
    for (const task of tasks) await lapse(task);
    const answers = [];
    for (let call = 0; call < 2; call++) {
      answers.push((await operatorRpc("settle_tasks", { caller: OPERATOR, max_entries: 2 })).body);
    }
    assert.deepEqual(answers, [
      { waiting: 2, parked: 0, remaining: 1 },
      { waiting: 1, parked: 0, remaining: 0 },
    ]);
  },
);

artifactTest(
  "settle_tasks by an agent → forbidden, and nothing is settled",
  async ({ planner, builder }) => {
    const task = await takenBy(planner, builder, { max_attempts: 1 });
    await lapse(task);
    await withStackDatabase(async (sql) => {
      const [key] = await sql`select key_hash from agents.keys where key_id = ${planner.keyId}`;
      const caller = { kind: "agent", key_hash: key!["key_hash"], request_id: "test" };
      await assert.rejects(
        callAsService(sql, "settle_tasks", { caller, max_entries: 10 }),
        /forbidden/,
      );
      const [row] = await sql`select state from artifacts.tasks where take_id = ${task.take_id}`;
      assert.equal(row!["state"], "taken");
    });
  },
);

artifactTest(
  "a version that is taken → keep_versions leaves it until the take ends",
  async ({ planner, builder }) => {
    const first = await publish(planner, { key: "log" });
    await grant(planner, first, { to: builder });
    const [task] = await take(builder);
    const further = { keep_versions: 1, end_grants: true };
    for (let version = 2; version <= 3; version++) await publish(planner, { key: "log", further });
    assert.deepEqual(await statesOf(builder), ["taken 1"]);
    assert.equal((await tell(builder, "done", { take_id: task!.take_id })).status, 200);
    await publish(planner, { key: "log", further });
    assert.deepEqual(await statesOf(builder), []);
  },
);
