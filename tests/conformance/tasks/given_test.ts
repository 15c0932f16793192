/** What a giver sees of a grant as work. */
import assert from "node:assert/strict";
import {
  artifactTest,
  type Cast,
  givenGrants,
  grant,
  inbox,
  open,
  publish,
  redeem,
} from "../artifacts.ts";
import { type Agent, assertError, ISO_TIMESTAMP, post, succeed } from "../client.ts";
import { newTag, setTags } from "../tags/tagged.ts";
import { take, tell, UNTOUCHED, workOf } from "./tasks.ts";

/** A grant of a new file to an agent. */
async function handedOver({ planner, builder }: Cast, terms: object = {}) {
  return await grant(planner, await publish(planner), { to: builder, ...terms });
}

function assertInstant(text: unknown): asserts text is string {
  assert.match(String(text), ISO_TIMESTAMP);
}

artifactTest(
  "a grant that is taken, fails, and is done → its giver sees each step",
  async (cast) => {
    const { planner, builder } = cast;
    await handedOver(cast, { note: "Build it." });
    assert.deepEqual(await workOf(planner), { ...UNTOUCHED, note: "Build it." });

    const [first] = await take(builder);
    const { shown_at, ...taken } = await workOf(planner);
    assertInstant(shown_at);
    const { shown_at: _, ...untouched } = { ...UNTOUCHED, note: "Build it." };
    assert.deepEqual(taken, {
      ...untouched,
      state: "taken",
      attempt: 1,
      taken_by: builder.id,
      taken_until: first!.taken_until,
    });

    const failed = { take_id: first!.take_id, reason: "No roof.", retry_after_seconds: 0 };
    await tell(builder, "fail", failed);
    assert.deepEqual(await workOf(planner), {
      ...untouched,
      state: "waiting",
      attempt: 1,
      reason: "No roof.",
      shown_at,
    });

    const [second] = await take(builder);
    const reply = { artifact_id: (await publish(builder)).artifact_id };
    const done = await tell(builder, "done", { take_id: second!.take_id, reply });
    const { done_at, ...last } = await workOf(planner);
    assertInstant(done_at);
    const { done_at: __, ...rest } = untouched;
    assert.deepEqual(last, {
      ...rest,
      state: "done",
      attempt: 2,
      taken_by: builder.id,
      shown_at,
      reply_grant_id: (done.body["reply"] as { grant_id: string }).grant_id,
    });
  },
);

artifactTest(
  "a task that is parked, then requeued → its giver sees why, then that it waits",
  async (cast) => {
    const { planner, builder } = cast;
    const { grant_id } = await handedOver(cast);
    const [task] = await take(builder);
    await tell(builder, "fail", { take_id: task!.take_id, reason: "Never.", final: true });
    const parked = await workOf(planner);
    assert.deepEqual(
      [parked.state, parked.attempt, parked.reason, parked.taken_by, parked.taken_until],
      ["parked", 1, "Never.", null, null],
    );
    await tell(planner, "requeue", { grant_id });
    const { state, attempt, reason } = await workOf(planner);
    assert.deepEqual([state, attempt, reason], ["waiting", 0, "Never."]);
  },
);

artifactTest(
  "a grant that fails and is done with a reply → events for its giver: when it comes again, and the answer",
  async (cast) => {
    const { planner, builder } = cast;
    const { grant_id } = await handedOver(cast);
    const [first] = await take(builder);
    const failed = { take_id: first!.take_id, reason: "No roof.", retry_after_seconds: 0 };
    const { next_at } = (await tell(builder, "fail", failed)).body;
    const [second] = await take(builder);
    const reply = { artifact_id: (await publish(builder)).artifact_id };
    const done = await tell(builder, "done", { take_id: second!.take_id, reply });
    const { events } = await succeed<{ events: Record<string, unknown>[] }>(
      "/agent-artifacts/events",
      { as: planner, body: { types: ["task.failed", "task.done"] } },
    );
    assertInstant(next_at);
    assert.deepEqual(
      new Set(
        events.map((event) =>
          [event["type"], event["grant_id"], event["next_at"], event["reply_grant_id"]].join(" ")
        ),
      ),
      new Set([
        `task.failed ${grant_id} ${next_at} `,
        `task.done ${grant_id}  ${(done.body["reply"] as { grant_id: string }).grant_id}`,
      ]),
    );
  },
);

artifactTest(
  "/inbox/requeue of a task that is taken or done → stays so: a repeated request undoes nothing",
  async (cast) => {
    const { planner, builder } = cast;
    const { grant_id } = await handedOver(cast);
    const [task] = await take(builder);
    for (const state of ["taken", "done"]) {
      if (state === "done") await tell(builder, "done", { take_id: task!.take_id });
      const before = await workOf(planner);
      assert.deepEqual((await tell(planner, "requeue", { grant_id })).body, { grant_id, state });
      assert.deepEqual(await workOf(planner), before);
      assert.equal(before.state, state);
    }
    assert.deepEqual(await take(builder), []);
  },
);

artifactTest("an inbox that shows a grant → shown_at, from the first time on", async (cast) => {
  const { planner, builder } = cast;
  await handedOver(cast);
  // None of these shows it to its grantee: they are no answer of its inbox.
  await post("/agent-artifacts/inbox", { as: "operator", body: { agent_id: builder.id } });
  await post("/agent-artifacts/inbox", { as: builder, body: { from_agent: planner.id } });
  await post("/agent-artifacts/inbox", { as: builder, body: { states: ["waiting"] } });
  assert.deepEqual(await workOf(planner), UNTOUCHED);
  await inbox(builder);
  const { shown_at } = await workOf(planner);
  assertInstant(shown_at);
  await inbox(builder);
  await take(builder);
  assert.equal((await workOf(planner)).shown_at, shown_at);
});

artifactTest(
  "an inbox read by positions → shown_at of what it shows, and of nothing later",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const first = await grant(planner, artifact, { to: builder });
    const { latest } = await succeed("/agent-artifacts/inbox", { as: builder });
    const second = await grant(planner, artifact, { to: builder });
    const shown = async () =>
      new Map(
        (await givenGrants(planner)).grants.map(({ grant_id, shown_at }) => [grant_id, shown_at]),
      );
    const before = await shown();
    assertInstant(before.get(first.grant_id));
    assert.equal(before.get(second.grant_id), null);
    await succeed("/agent-artifacts/inbox", { as: builder, body: { after: latest } });
    const after = await shown();
    assert.equal(after.get(first.grant_id), before.get(first.grant_id));
    assertInstant(after.get(second.grant_id));
    assert.ok(after.get(second.grant_id)! > after.get(first.grant_id)!);
  },
);

/** The builder and the stranger have a new tag. */
async function tagged({ builder, stranger }: Cast): Promise<string> {
  const tag = newTag();
  for (const agent of [builder, stranger]) await setTags(agent, tag);
  return tag;
}

artifactTest(
  "a grant to each agent of a tag → its giver sees how many are in which state",
  async (cast) => {
    const { planner, builder, stranger } = cast;
    const to_tag = await tagged(cast);
    await grant(planner, await publish(planner), { to_tag });
    const { state, attempt, tasks } = await workOf(planner);
    assert.deepEqual([state, attempt], [null, null]);
    assert.deepEqual(tasks, { waiting: 2, taken: 0, done: 0, parked: 0 });

    const takeOf = async (agent: Agent) => (await take(agent))[0]!.take_id;
    await tell(builder, "done", { take_id: await takeOf(builder) });
    assert.deepEqual((await workOf(planner)).tasks, { waiting: 1, taken: 0, done: 1, parked: 0 });
    const take_id = await takeOf(stranger);
    assert.deepEqual((await workOf(planner)).tasks, { waiting: 0, taken: 1, done: 1, parked: 0 });
    await tell(stranger, "fail", { take_id, reason: "No.", final: true });
    assert.deepEqual((await workOf(planner)).tasks, { waiting: 0, taken: 0, done: 1, parked: 1 });
  },
);

artifactTest(
  "a grant to one agent of a tag → its giver sees who has it; shown to the first that looks",
  async (cast) => {
    const { planner, builder, stranger } = cast;
    const to_tag = await tagged(cast);
    await grant(planner, await publish(planner), { to_tag, deliver: "one" });
    assert.deepEqual(await workOf(planner), { ...UNTOUCHED, deliver: "one" });
    await inbox(stranger);
    const { shown_at } = await workOf(planner);
    assertInstant(shown_at);
    const [task] = await take(builder);
    const { state, taken_by, taken_until, tasks } = await workOf(planner);
    assert.deepEqual([state, taken_by, taken_until, tasks], [
      "taken",
      builder.id,
      task!.taken_until,
      null,
    ]);
  },
);

artifactTest(
  "a grant as work → nobody but its giver and the operator sees what became of it",
  async (cast) => {
    const { planner, builder, stranger } = cast;
    const { token, artifact_id } = await handedOver(cast, { note: "Build it." });
    await take(builder);
    for (const agent of [builder, stranger]) {
      assert.deepEqual((await givenGrants(agent)).grants, []);
      const body = { agent_id: planner.id };
      assertError(await post("/agent-artifacts/grants", { as: agent, body }), 403, "forbidden");
    }
    for (const answer of [await open(builder, { artifact_id }), await redeem(token)]) {
      assert.equal(answer.status, 200);
      assert.equal("note" in answer.body, false);
    }
    assert.equal((await workOf(planner)).taken_by, builder.id);
  },
);
