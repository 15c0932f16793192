/** What answers a task: exactly one file, or none. */
import assert from "node:assert/strict";
import type { TaskEntry } from "../../index.ts";
import { agentFiles, bytesIn, collect, registeredKeys } from "../cast.ts";
import { countingFetch, handOver, tasksOf } from "./hand_over.ts";

const once = { wait: false };

Deno.test("done() with a text and a note → one file of the worker, in the giver's inbox, as an answer to its grant", async () => {
  const { planner, builder } = await handOver(["plans/house"]);
  let id = "";
  for await (const task of builder.files.tasks(once)) {
    id = task.id;
    await task.done({ reply: "A house.", note: "Built.", mime: "text/plain", ttlDays: 2 });
  }
  const [file, ...others] = await collect(builder.files.list());
  assert.deepEqual([file!.key, file!.mime, file!.ttl_days, others], [
    "replies/plans/house",
    "text/plain",
    2,
    [],
  ]);
  const [answer, ...more] = await collect(planner.files.inbox());
  assert.deepEqual([answer!.artifact_id, answer!.reply_to, answer!.note, more], [
    file!.artifact_id,
    id,
    "Built.",
    [],
  ]);
  const { body } = await planner.files.get(answer!.artifact_id);
  assert.equal(new TextDecoder().decode(await bytesIn(body)), "A house.");
});

Deno.test("done() with an artifact of the worker, until a time → this one, until then", async () => {
  const { planner, builder } = await handOver(["plan"]);
  const { artifact_id: artifactId } = await builder.files.put("house", "A house.");
  const expiresAt = new Date(Date.now() + 3_600_000);
  for await (const task of builder.files.tasks(once)) {
    await task.done({ reply: { artifactId }, expiresAt });
  }
  const [answer] = await collect(planner.files.inbox());
  assert.equal(answer!.artifact_id, artifactId);
  assert.equal(answer!.expires_at, expiresAt.toISOString());
  assert.equal((await collect(builder.files.list())).length, 1);
});

for (const path of ["/register", "/commit", "/inbox/done"]) {
  Deno.test(`done() with the answer of ${path} lost → one file, and one grant`, async () => {
    let lost = 1;
    const { fetch } = countingFetch(async (asked, go) => {
      const answer = await go();
      if (asked === path && lost-- > 0) throw new TypeError("connection closed");
      return answer;
    });
    const { planner, builder } = await handOver(["plan"], { fetch });
    for await (const task of builder.files.tasks(once)) await task.done({ reply: "A house." });
    assert.equal((await collect(builder.files.list())).length, 1);
    assert.equal((await collect(planner.files.inbox())).length, 1);
    assert.deepEqual((await tasksOf(builder)).map(({ state }) => state), ["done"]);
  });
}

Deno.test("done() again after the service could not be reached → the file is uploaded once", async () => {
  let isDown = true;
  const { fetch } = countingFetch(async (path, go) => {
    if (path !== "/inbox/done" || !isDown) return await go();
    isDown = false;
    // It was recorded all the same.
    await go();
    throw new TypeError("connection closed");
  });
  const { planner, builder } = await handOver(["plan"], { fetch, retrySeconds: 0 });
  for await (const task of builder.files.tasks(once)) {
    const options = { reply: "A house." };
    await assert.rejects(task.done(options), { code: "network_error" });
    assert.equal((await task.done(options)).state, "done");
    await assert.rejects(task.done(options), { code: "take_lapsed" });
    assert.equal(await task.fail("Late."), null);
  }
  const [file, ...others] = await collect(builder.files.list());
  assert.deepEqual(others, []);
  const answers = await collect(planner.files.inbox());
  assert.deepEqual(answers.map(({ artifact_id }) => artifact_id), [file!.artifact_id]);
});

Deno.test("fail() after a done() that the service refused → no file is left, and the giver has none", async () => {
  const { planner, builder } = await handOver(["plan"]);
  for await (const task of builder.files.tasks(once)) {
    const refused = task.done({ reply: "A house.", note: "a\u0001b" });
    await assert.rejects(refused, { code: "invalid_request" });
    assert.equal((await collect(builder.files.list())).length, 1, "for the next try");
    assert.equal((await task.fail("No paper."))!.state, "waiting");
  }
  assert.deepEqual(await collect(builder.files.list()), []);
  assert.deepEqual(await collect(planner.files.inbox()), []);
});

Deno.test("done() with a note, a key or an expiry and no reply, or a source that cannot be read → refused, and the task is held", async () => {
  const { builder } = await handOver(["plan"]);
  for await (const task of builder.files.tasks(once)) {
    for (const wrong of [{ note: "Built." }, { key: "house" }, { expiresAt: new Date() }]) {
      await assert.rejects(task.done(wrong), { code: "invalid_request", status: 0 });
    }
    const reply = { path: "/nonexistent/house" };
    await assert.rejects(task.done({ reply }), { code: "source_unreadable" });
    assert.deepEqual((await tasksOf(builder)).map(({ state }) => state), ["taken"]);
    assert.deepEqual(await registeredKeys(builder.agent), []);
    assert.equal((await task.done()).reply, null);
  }
});

Deno.test("put() and share() to a tag's agents with deliver, note, maxAttempts, replyTo, idempotencyKey → in the grant", async () => {
  const { planner, builder } = await handOver(["plan"]);
  const [question] = await collect(builder.files.inbox());
  const to = [planner.agent.id];
  const words = { note: "Better so?", replyTo: question!.grant_id };
  const put = await builder.files.put("question", "1", { ...words, to, idempotencyKey: "q-1" });
  const shared = await builder.files.share("question", planner.agent.id, {
    ...words,
    maxAttempts: 1,
    idempotencyKey: "q-2",
  });
  const again = await builder.files.share("question", planner.agent.id, {
    ...words,
    maxAttempts: 1,
    idempotencyKey: "q-2",
  });
  assert.deepEqual([again.grant_id, again.token], [shared.grant_id, null]);
  const entries = await collect(planner.files.inbox());
  assert.deepEqual(
    entries.map(({ grant_id, note, reply_to }) => [grant_id, note, reply_to]).sort(),
    [put.grants[0]!, shared].map(({ grant_id }) => [grant_id, words.note, words.replyTo]).sort(),
  );
  const [first, second] = (await planner.files.take({ max: 2 })).tasks;
  const fail = async ({ take_id }: TaskEntry) =>
    (await planner.files.fail({ take_id, reason: "No." })).state;
  assert.deepEqual([first!.grant_id, second!.grant_id], [put.grants[0]!.grant_id, shared.grant_id]);
  assert.deepEqual([await fail(first!), await fail(second!)], ["waiting", "parked"]);
});

Deno.test("put() with words for nobody, deliver: one without a tag, one idempotencyKey for two → invalid_request, and nothing is registered", async () => {
  const { agent, files } = await agentFiles("planner");
  for (
    const wrong of [
      { note: "Build it." },
      { to: ["builder"], deliver: "one" },
      { to: ["builder", "other"], idempotencyKey: "plan-1" },
    ] as const
  ) {
    await assert.rejects(files.put("plan", "1", wrong), { code: "invalid_request", status: 0 });
  }
  assert.deepEqual(await registeredKeys(agent), []);
});

Deno.test("put() with keepVersions; get(), share(), remove() of a version → that one", async () => {
  const [planner, builder] = [await agentFiles("planner"), await agentFiles("builder")];
  for (const text of ["1", "2", "3"]) {
    await planner.files.put("plan", text, { keepVersions: 1, endGrants: true });
  }
  const versions = async () =>
    (await collect(planner.files.versions("plan"))).map(({ version }) => version);
  assert.deepEqual(await versions(), [3, 2]);
  const { body } = await planner.files.get({ key: "plan", version: 2 });
  assert.equal(new TextDecoder().decode(await bytesIn(body)), "2");
  await planner.files.share({ key: "plan", version: 2 }, builder.agent.id);
  const owner = { key: "plan", agentId: planner.agent.id };
  assert.equal((await builder.files.get({ ...owner, version: 2 })).artifact.size, 1);
  await assert.rejects(builder.files.get({ ...owner, version: 3 }), { code: "artifact_not_found" });
  await assert.rejects(planner.files.remove({ key: "plan", version: 1 }), {
    code: "artifact_not_found",
  });
  await planner.files.remove({ key: "plan", version: 2 });
  assert.deepEqual(await versions(), [3]);
});
