import assert from "node:assert/strict";
import { artifactTest, grant, inbox, open, publish, revoke } from "../artifacts.ts";
import { assertError, assertInvalid, operatorRpc, post } from "../client.ts";
import { inboxIn, statesOf, take, tell } from "./tasks.ts";

const NO_TAKE = `take_${"0".repeat(32)}`;

artifactTest(
  "/inbox/take → the oldest first, each once, and as many as asked for",
  async ({ planner, builder }) => {
    const keys = ["first", "second", "third"];
    for (const key of keys) {
      await grant(planner, await publish(planner, { key }), { to: builder, note: key });
    }
    const [first] = await take(builder);
    assert.equal(first!.key, "first");
    assert.deepEqual([first!.state, first!.attempt, first!.note], ["taken", 1, "first"]);
    const lasts = (Date.parse(first!.taken_until) - Date.now()) / 1000;
    assert.ok(lasts > 250 && lasts <= 301, `${lasts} s`);
    assert.deepEqual((await take(builder, { max: 50 })).map(({ key }) => key), ["second", "third"]);
    assert.deepEqual(await take(builder), []);
    // The inbox shows what the caller itself has taken.
    assert.deepEqual((await inbox(builder)).length, 3);
    assert.deepEqual(await inboxIn(builder, ["waiting", "parked"]), []);
  },
);

artifactTest(
  "/inbox/take by prefix and by sender → only these; of a blocked sender → none",
  async ({ planner, builder, stranger }) => {
    await grant(planner, await publish(planner, { key: "a/1" }), { to: builder });
    await grant(stranger, await publish(stranger, { key: "b/1" }), { to: builder });
    assert.deepEqual(await take(builder, { prefix: "c/" }), []);
    const [theirs] = await take(builder, { from_agent: stranger.id, max: 5 });
    assert.equal(theirs!.key, "b/1");
    await post("/agent-artifacts/inbox/block", { as: builder, body: { from_agent: planner.id } });
    assert.deepEqual(await take(builder, { prefix: "a/" }), []);
    await post("/agent-artifacts/inbox/unblock", { as: builder, body: { from_agent: planner.id } });
    assert.equal((await take(builder, { prefix: "a/" })).length, 1);
  },
);

artifactTest(
  "/inbox/done with a reply → the giver has the answer; repeated → the same answer, one grant",
  async ({ planner, builder }) => {
    const asked = await grant(planner, await publish(planner, { key: "plan" }), { to: builder });
    const [task] = await take(builder);
    const built = await publish(builder, { key: "house", content: "a house" });
    const body = {
      take_id: task!.take_id,
      reply: { artifact_id: built.artifact_id, note: "Built." },
    };
    const answers = await Promise.all([1, 2, 3].map(() => tell(builder, "done", body)));
    for (const { status, body } of answers) {
      assert.equal(status, 200, JSON.stringify(body));
      assert.deepEqual(body, answers[0]!.body);
    }
    const [reply, ...others] = await inbox(planner);
    assert.deepEqual(others, []);
    assert.deepEqual(answers[0]!.body, {
      grant_id: asked.grant_id,
      state: "done",
      reply: { grant_id: reply!.grant_id },
    });
    assert.deepEqual([reply!.note, reply!.reply_to], ["Built.", asked.grant_id]);
    assert.equal((await open(planner, built)).status, 200);
    assert.deepEqual(await inbox(builder), []);
    assert.deepEqual(await statesOf(builder), ["done 1"]);
  },
);

artifactTest(
  "/inbox/done without a take → of the agent's own task; then nobody can take it",
  async ({ planner, builder, stranger }) => {
    const { grant_id } = await grant(planner, await publish(planner), { to: builder });
    assertError(await tell(stranger, "done", { grant_id }), 404, "grant_not_found");
    assertError(await tell(planner, "done", { grant_id }), 404, "grant_not_found");
    const body = { grant_id, state: "done", reply: null };
    for (const _ of [1, 2]) {
      assert.deepEqual((await tell(builder, "done", { grant_id })).body, body);
    }
    assert.deepEqual(await take(builder), []);
    assert.deepEqual(await inbox(builder), []);

    const other = await grant(planner, await publish(planner, { key: "other" }), { to: builder });
    await take(builder);
    // A task that is held has its outcome from its taker alone.
    assertError(await tell(builder, "done", { grant_id: other.grant_id }), 409, "take_lapsed");
    assert.deepEqual(await statesOf(builder), ["taken 1", "done 0"]);
  },
);

artifactTest(
  "/inbox/fail → waits again after a pause; with no pause → at once, in the next attempt",
  async ({ planner, builder }) => {
    await grant(planner, await publish(planner), { to: builder });
    const [first] = await take(builder);
    const failed = await tell(builder, "fail", { take_id: first!.take_id, reason: "No roof." });
    const pause = (Date.parse(String(failed.body["next_at"])) - Date.now()) / 1000;
    assert.ok(pause > 7 && pause <= 11, `${pause} s`);
    assert.equal(failed.body["state"], "waiting");
    // Repeated: the same answer.
    const again = await tell(builder, "fail", { take_id: first!.take_id, reason: "No roof." });
    assert.deepEqual(again.body, failed.body);
    assert.deepEqual(await take(builder), []);
    assert.equal((await inboxIn(builder, ["waiting"]))[0]!.next_at, failed.body["next_at"]);

    await grant(planner, await publish(planner, { key: "other" }), { to: builder });
    const [other] = await take(builder);
    const body = { take_id: other!.take_id, reason: "Later.", retry_after_seconds: 0 };
    assert.equal((await tell(builder, "fail", body)).status, 200);
    const [second] = await take(builder);
    assert.deepEqual([second!.grant_id, second!.attempt], [other!.grant_id, 2]);
    assert.notEqual(second!.take_id, other!.take_id);
    for (const what of ["extend", "done", "fail"] as const) {
      const late = await tell(builder, what, {
        take_id: other!.take_id,
        ...(what === "extend" && { seconds: 30 }),
        ...(what === "fail" && { reason: "Late." }),
      });
      assertError(late, 409, "take_lapsed");
    }
    assert.deepEqual(await statesOf(builder), ["taken 2", "waiting 1"]);
  },
);

artifactTest(
  "/inbox/fail with interrupted → no attempt, however often and in the last one, without a pause; with final → parked",
  async ({ planner, builder }) => {
    const { grant_id } = await grant(planner, await publish(planner), {
      to: builder,
      max_attempts: 1,
    });
    const stopped = { reason: "Stopped.", interrupted: true };
    for (let time = 0; time < 2; time++) {
      const [task] = await take(builder);
      assert.equal(task!.attempt, 1);
      const body = { ...stopped, take_id: task!.take_id };
      const answer = await tell(builder, "fail", body);
      assert.equal(answer.body["state"], "waiting");
      // Repeated: the same answer, and no second attempt is taken off.
      assert.deepEqual((await tell(builder, "fail", body)).body, answer.body);
      assert.deepEqual(await statesOf(builder), ["waiting 0"]);
    }
    // A pause can be asked for.
    const [third] = await take(builder);
    const rest = { ...stopped, take_id: third!.take_id, retry_after_seconds: 3600 };
    const rested = await tell(builder, "fail", rest);
    assert.ok(Date.parse(String(rested.body["next_at"])) > Date.now() + 1_800_000);
    assert.deepEqual(await take(builder), []);

    // The giver ends the pause.
    await tell(planner, "requeue", { grant_id });
    const [last] = await take(builder);
    const end = { ...stopped, take_id: last!.take_id, final: true };
    assert.equal((await tell(builder, "fail", end)).body["state"], "parked");
    assert.deepEqual(await statesOf(builder), ["parked 1"]);
  },
);

artifactTest(
  "a poison task → parked after its attempts; /inbox/requeue by its giver alone → it begins again",
  async ({ planner, builder }) => {
    const { grant_id } = await grant(planner, await publish(planner), {
      to: builder,
      max_attempts: 2,
    });
    for (const state of ["waiting", "parked"]) {
      const [task] = await take(builder);
      const body = { take_id: task!.take_id, reason: "Bad.", retry_after_seconds: 0 };
      assert.equal((await tell(builder, "fail", body)).body["state"], state);
    }
    assert.deepEqual(await take(builder), []);
    assert.deepEqual(await inbox(builder), []);
    assertError(await tell(builder, "requeue", { grant_id }), 404, "grant_not_found");
    assert.deepEqual(await statesOf(builder), ["parked 2"]);
    assert.deepEqual((await tell(planner, "requeue", { grant_id })).body, {
      grant_id,
      state: "waiting",
    });
    const [task] = await take(builder);
    assert.equal(task!.attempt, 1);
    // A final failure parks at once.
    const body = { take_id: task!.take_id, reason: "Never.", final: true };
    assert.deepEqual((await tell(builder, "fail", body)).body, {
      grant_id,
      state: "parked",
      next_at: null,
    });
    await tell("operator", "requeue", { grant_id });
    assert.deepEqual(await statesOf(builder), ["waiting 0"]);
  },
);

artifactTest(
  "/inbox/extend → the take lasts longer; take_lapsed for another agent, and for what was never taken",
  async ({ planner, builder, stranger }) => {
    await grant(planner, await publish(planner), { to: builder });
    const [task] = await take(builder, { seconds: 30 });
    const take_id = task!.take_id;
    const extended = await tell(builder, "extend", { take_id, seconds: 3600 });
    const lasts = (Date.parse(String(extended.body["taken_until"])) - Date.now()) / 1000;
    assert.ok(lasts > 3500 && lasts <= 3601, `${lasts} s`);
    for (const [as, named] of [[stranger, take_id], [builder, NO_TAKE], [builder, "x"]] as const) {
      const body = { take_id: named };
      assertError(await tell(as, "extend", { ...body, seconds: 30 }), 409, "take_lapsed");
      assertError(await tell(as, "done", body), 409, "take_lapsed");
      assertError(await tell(as, "fail", { ...body, reason: "No." }), 409, "take_lapsed");
    }
    assert.deepEqual(await statesOf(builder), ["taken 1"]);
  },
);

artifactTest(
  "a grant that is revoked while it is taken → 410 for its taker, and no task",
  async ({ planner, builder }) => {
    const { grant_id } = await grant(planner, await publish(planner), { to: builder });
    const [task] = await take(builder);
    await revoke(planner, { grant_id });
    const { take_id } = task!;
    assertError(await tell(builder, "extend", { take_id, seconds: 30 }), 410, "grant_revoked");
    assertError(await tell(builder, "done", { take_id }), 410, "grant_revoked");
    assertError(await tell(builder, "fail", { take_id, reason: "No." }), 410, "grant_revoked");
    assertError(await tell(builder, "done", { grant_id }), 410, "grant_revoked");
    assertError(await tell(planner, "requeue", { grant_id }), 410, "grant_revoked");
    assert.deepEqual(await statesOf(builder), []);
    assert.deepEqual(await take(builder), []);
  },
);

artifactTest(
  "/inbox/done with a reply that cannot be granted → refused, the task stays taken, nothing is granted",
  async ({ planner, builder, stranger }) => {
    const plan = await publish(planner);
    await grant(planner, plan, { to: builder });
    const [task] = await take(builder);
    const { take_id } = task!;
    for (const artifact of [plan, await publish(stranger)]) {
      const reply = { artifact_id: artifact.artifact_id };
      assertError(await tell(builder, "done", { take_id, reply }), 404, "artifact_not_found");
    }
    const built = await publish(builder);
    const reply = { artifact_id: built.artifact_id, expires_at: "2001-01-01T00:00:00Z" };
    assertInvalid(await tell(builder, "done", { take_id, reply }), "expires_at");
    assert.deepEqual(await statesOf(builder), ["taken 1"]);
    assert.deepEqual(await inbox(planner), []);
  },
);

artifactTest("bad fields → 422 names each, nothing is taken", async ({ planner, builder }) => {
  await grant(planner, await publish(planner), { to: builder });
  const path = "/agent-artifacts/inbox/take";
  const bad = { max: 51, seconds: 29, prefix: "/", from_agent: "-", wait_seconds: 141 };
  assertInvalid(await post(path, { as: builder, body: bad }), ...Object.keys(bad));
  assertInvalid(await tell(builder, "extend", { take_id: NO_TAKE }), "seconds");
  assertInvalid(await tell(builder, "done", {}), "take_id");
  assertInvalid(await tell(builder, "done", { take_id: NO_TAKE, grant_id: "x" }), "take_id");
  const failed = {
    take_id: NO_TAKE,
    reason: "",
    retry_after_seconds: 86_401,
    final: 1,
    interrupted: "yes",
  };
  assertInvalid(
    await tell(builder, "fail", failed),
    "reason",
    "retry_after_seconds",
    "final",
    "interrupted",
  );
  assert.deepEqual(await statesOf(builder), ["waiting 0"]);
});

artifactTest(
  "/inbox/take with wait_seconds → the task that is granted meanwhile",
  async ({ planner, builder }) => {
    const artifact = await publish(planner);
    const [tasks] = await Promise.all([
      take(builder, { wait_seconds: 20 }),
      grant(planner, artifact, { to: builder }),
    ]);
    assert.deepEqual(tasks.map(({ artifact_id }) => artifact_id), [artifact.artifact_id]);
    assert.deepEqual(await take(builder, { wait_seconds: 1 }), []);
  },
);

artifactTest(
  "an operator's take in an agent's name → the agent's task; without a name → 422",
  async ({ planner, builder }) => {
    await grant(planner, await publish(planner), { to: builder });
    const path = "/agent-artifacts/inbox/take";
    assertInvalid(await post(path, { as: "operator" }), "agent_id");
    const body = { agent_id: builder.id };
    assertError(await post(path, { as: planner, body }), 403, "forbidden");
    assert.equal((await post(path, { as: "operator", body })).status, 200);
    assert.deepEqual(await statesOf(builder), ["taken 1"]);
    assert.equal((await operatorRpc("remove_agent", { agent_id: builder.id })).status, 200);
  },
);
