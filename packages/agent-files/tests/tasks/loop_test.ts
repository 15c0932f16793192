/** `files.tasks()`: which tasks it yields, when, and what becomes of them. */
import assert from "node:assert/strict";
import { askUntil } from "../../../../tests/conformance/ask_until.ts";
import type { Task } from "../../index.ts";
import { agentFiles, bytesIn, collect } from "../cast.ts";
import { countingFetch, handOver, tasksOf } from "./hand_over.ts";

/** Every test here ends when nothing is left. */
const once = { wait: false };

Deno.test("tasks() of a file with a note and metadata → what the giver said, and the verified file in every form", async () => {
  const [planner, builder] = [await agentFiles("planner"), await agentFiles("builder")];
  const metadata = { plan: "house" };
  await planner.files.put("plans/house.json", '{"rooms": 3}', {
    to: [builder.agent.id],
    metadata,
    note: "Build it.\nSoon.",
    mime: "application/json",
  });
  for await (const task of builder.files.tasks(once)) {
    const { id, key, note, from, attempt } = task;
    assert.match(id, /^grant_/);
    assert.deepEqual({ key, note, from, attempt, metadata: task.metadata }, {
      key: "plans/house.json",
      note: "Build it.\nSoon.",
      from: planner.agent.id,
      attempt: 1,
      metadata,
    });
    const { body, artifact } = await task.file();
    assert.deepEqual([artifact.mime, artifact.size], ["application/json", 12]);
    assert.equal(new TextDecoder().decode(await bytesIn(body)), '{"rooms": 3}');
    assert.deepEqual(await task.json(), { rooms: 3 });
    assert.equal((await task.bytes()).byteLength, 12);
    assert.equal((await task.done()).state, "done");
    assert.equal(task.signal.aborted, false);
  }
  assert.deepEqual((await tasksOf(builder)).map(({ state }) => state), ["done"]);
});

Deno.test("a loop that awaits each task → the oldest first, and one held at a time, whatever `concurrency`", async () => {
  for (const concurrency of [1, 4]) {
    const { builder } = await handOver(["a", "b", "c"]);
    const keys: string[] = [];
    for await (const task of builder.files.tasks({ ...once, concurrency })) {
      keys.push(task.key);
      const held = (await tasksOf(builder)).filter(({ state }) => state === "taken");
      assert.deepEqual(held.map(({ key }) => key), [task.key]);
      await task.done();
    }
    assert.deepEqual(keys, ["a", "b", "c"]);
  }
});

Deno.test("a loop that does not wait for its tasks → `concurrency` of them under way, and no more", async () => {
  const { builder } = await handOver(["a", "b", "c", "d", "e"]);
  const held: Task[] = [];
  const seen: string[] = [];
  for await (const task of builder.files.tasks({ ...once, concurrency: 2 })) {
    seen.push(task.key);
    held.push(task);
    if (seen.length < 5 && held.length < 2) continue;
    const taken = (await tasksOf(builder)).filter(({ state }) => state === "taken");
    assert.equal(taken.length, 2);
    // The oldest ends while the loop waits for the next one; in the end, both.
    const ending = seen.length < 5 ? [held.shift()!] : held;
    setTimeout(() => ending.map((task) => task.done()), 50);
  }
  assert.deepEqual(seen, ["a", "b", "c", "d", "e"]);
  assert.deepEqual((await tasksOf(builder)).map(({ state }) => state), Array(5).fill("done"));
});

Deno.test("a loop that leaves a task without an outcome → given back before the next one is taken, and not held", async () => {
  const { builder } = await handOver(["a", "b"]);
  const seen: [key: string, attempt: number][] = [];
  for await (const task of builder.files.tasks(once)) {
    seen.push([task.key, task.attempt]);
    if (seen.length > 1) await task.done();
  }
  // What was given back is the newest that waits.
  assert.deepEqual(seen, [["a", 1], ["b", 1], ["a", 2]]);
});

for (const how of ["break", "an error"] as const) {
  Deno.test(`a loop that ends by ${how} → what it holds can be taken at once, and its signal is aborted`, async () => {
    const { builder } = await handOver(["a", "b", "c"]);
    const held: Task[] = [];
    const run = async () => {
      for await (const task of builder.files.tasks({ concurrency: 2 })) {
        held.push(task);
        if (held.length < 2) continue;
        if (how === "break") break;
        throw new Error("No wood.");
      }
    };
    if (how === "break") await run();
    else await assert.rejects(run(), /No wood/);
    const rows = await tasksOf(builder);
    assert.deepEqual(
      rows.map(({ state, attempt, is_ready }) => [state, attempt, is_ready]),
      [["waiting", 1, true], ["waiting", 1, true], ["waiting", 0, true]],
    );
    for (const { signal } of held) assert.equal(signal.reason.code, "take_lapsed");
  });
}

Deno.test("tasks() with fromAgent and prefix → only those, and the others stay", async () => {
  const { planner, builder } = await handOver(["plans/a", "drawings/b"]);
  const other = await agentFiles("other");
  await other.files.put("plans/c", "3", { to: [builder.agent.id] });
  const options = { ...once, fromAgent: planner.agent.id, prefix: "plans/" };
  for await (const task of builder.files.tasks(options)) {
    assert.equal(task.key, "plans/a");
    await task.done();
  }
  const left = (await tasksOf(builder)).filter(({ state }) => state !== "done");
  assert.deepEqual(left.map(({ attempt }) => attempt), [0, 0]);
});

Deno.test("tasks() that waits → later tasks, too; it waits for one answer at a time", async () => {
  const { fetch, asked } = countingFetch();
  const { planner, builder } = await handOver([], { fetch });
  const keys: string[] = [];
  for await (
    const task of (async function* () {
      setTimeout(() => void planner.files.put("a", "1", { to: [builder.agent.id] }), 300);
      yield* builder.files.tasks();
    })()
  ) {
    keys.push(task.key);
    assert.equal(await task.text(), keys.length === 1 ? "1" : "2");
    await task.done();
    if (keys.length === 2) break;
    await planner.files.put("b", "2", { to: [builder.agent.id] });
  }
  assert.deepEqual(keys, ["a", "b"]);
  // For `a`: one that finds nothing, and one that waits. For `b`: one.
  assert.equal(asked("/inbox/take"), 3);
  // Taken by a request that waited, so for a short time.
  assert.equal(asked("/inbox/extend"), 1);
});

Deno.test("fail() with an Error, a long text, nothing → the task rests, with a reason that the service accepts; final → parked", async () => {
  const { builder } = await handOver(["a", "b", "c", "d"]);
  const reasons = [new Error("No roof."), "😀".repeat(300), "", "Never."];
  for await (const task of builder.files.tasks(once)) {
    const reason = reasons.shift();
    const failed = await task.fail(reason, { final: reason === "Never." });
    assert.equal(failed!.state, reason === "Never." ? "parked" : "waiting");
    assert.equal(task.signal.aborted, false);
    assert.equal(await task.fail("Again."), null, "there is one outcome");
  }
  const rows = await tasksOf(builder);
  assert.deepEqual(rows.map(({ state, is_ready }) => [state, is_ready]), [
    ...Array(3).fill(["waiting", false]),
    ["parked", false],
  ]);
  assert.deepEqual(rows.map(({ reason }) => reason), [
    "No roof.",
    "😀".repeat(250),
    "No reason was given.",
    "Never.",
  ]);
});

Deno.test("fail() that the service refuses → its error, and the task is held; release() → it can be taken at once", async () => {
  const { builder } = await handOver(["a"]);
  for await (const task of builder.files.tasks()) {
    const refused = task.fail("No roof.", { retryAfterSeconds: -1 });
    await assert.rejects(refused, { code: "invalid_request" });
    assert.deepEqual((await tasksOf(builder)).map(({ state }) => state), ["taken"]);
    assert.equal((await task.release())!.state, "waiting");
    break;
  }
  const [row] = await tasksOf(builder);
  assert.deepEqual([row!.state, row!.is_ready, row!.attempt], ["waiting", true, 1]);
});

Deno.test("tasks() with a concurrency of 0, takeSeconds of 1 → invalid_request, and nothing is taken", async () => {
  const { builder } = await handOver(["a"]);
  for (const wrong of [{ concurrency: 0 }, { concurrency: 1.5 }, { takeSeconds: 1 }]) {
    await assert.rejects(collect(builder.files.tasks(wrong)), { code: "invalid_request" });
  }
  const { tasks } = await builder.files.take();
  assert.equal(tasks[0]!.attempt, 1);
});

Deno.test("a 429, a 503 and a lost connection while taking → waited out, and the task is taken", async () => {
  const ways = [429, 503, 0];
  const { fetch } = countingFetch((path, go) => {
    if (path !== "/inbox/take" || ways.length === 0) return go();
    const status = ways.shift()!;
    if (status === 0) return Promise.reject(new TypeError("connection closed"));
    const error = { code: "rate_limited", message: "Wait.", retryable: true };
    return Promise.resolve(Response.json({ error }, { status, headers: { "retry-after": "1" } }));
  });
  const { builder } = await handOver(["a"], { fetch });
  for await (const task of builder.files.tasks(once)) await task.done();
  assert.deepEqual((await tasksOf(builder)).map(({ state, attempt }) => [state, attempt]), [
    ["done", 1],
  ]);
});

Deno.test("a service that refuses the agent key while a task is under way → the loop's error", async () => {
  let isRefused = false;
  const { fetch } = countingFetch((path, go) => {
    if (path !== "/inbox/take" || !isRefused) return go();
    const error = { code: "unauthenticated", message: "Unknown key.", retryable: false };
    return Promise.resolve(Response.json({ error }, { status: 401 }));
  });
  const { builder } = await handOver(["a"], { fetch });
  const loop = async () => {
    for await (const _ of builder.files.tasks({ concurrency: 2 })) isRefused = true;
  };
  await assert.rejects(loop(), { code: "unauthenticated" });
  const [row] = await askUntil(([row]) => row!.state === "waiting", () => tasksOf(builder));
  assert.equal(row!.is_ready, true);
});
