/** How long `files.tasks()` holds a task: renewals, lapses, aborts. */
import assert from "node:assert/strict";
import { askUntil } from "../../../../tests/conformance/ask_until.ts";
import type { Task } from "../../index.ts";
import { agentFiles, collect } from "../cast.ts";
import { countingFetch, handOver, hurried, lapseIn, reasonOf, tasksOf } from "./hand_over.ts";

/** The shortest take, in seconds. In a test, it lasts this many times shorter. */
const TAKE_SECONDS = 30;
const FACTOR = 15;

Deno.test("a body that runs longer than the take → renewed meanwhile, and not afterwards", async () => {
  const { fetch, asked } = countingFetch(async (path, go) => {
    const answer = await go();
    const isTake = ["/inbox/take", "/inbox/extend"].includes(path);
    if (isTake && answer.ok) await lapseIn(builder, TAKE_SECONDS / FACTOR);
    return answer;
  });
  const { builder } = await handOver(["a", "b"], { fetch });
  await hurried(FACTOR, async () => {
    const beganAt = performance.now();
    let renewals = 0;
    for await (const task of builder.files.tasks({ wait: false, takeSeconds: TAKE_SECONDS })) {
      if (task.key === "a") {
        await askUntil((count) => count >= 5, () => Promise.resolve(asked("/inbox/extend")));
        assert.ok(performance.now() - beganAt > TAKE_SECONDS * 1000, "longer than one take");
        renewals = asked("/inbox/extend");
      }
      await task.done();
    }
    assert.equal(asked("/inbox/extend"), renewals, "what is done is not renewed");
  });
  const rows = await tasksOf(builder);
  assert.deepEqual(rows.map(({ state, attempt }) => [state, attempt]), Array(2).fill(["done", 1]));
});

Deno.test("a renewal whose answers are lost for a while → repeated in time; the body notices nothing", async () => {
  let lost = 2;
  const { fetch, asked } = countingFetch((path, go) =>
    path === "/inbox/extend" && lost-- > 0 ? Promise.reject(new TypeError("no network")) : go()
  );
  const { builder } = await handOver(["a"], { fetch });
  await hurried(FACTOR, async () => {
    for await (const task of builder.files.tasks({ wait: false, takeSeconds: TAKE_SECONDS })) {
      await askUntil((count) => count >= 4, () => Promise.resolve(asked("/inbox/extend")));
      assert.equal(task.signal.aborted, false);
      await task.done();
    }
  });
  assert.deepEqual((await tasksOf(builder)).map(({ state }) => state), ["done"]);
});

Deno.test("a take that lapses for the service → the signal is aborted with take_lapsed; done() is refused, and the loop goes on", async () => {
  const { planner, builder } = await handOver(["a", "b"]);
  const keys: string[] = [];
  await hurried(FACTOR, async () => {
    for await (const task of builder.files.tasks({ wait: false, takeSeconds: TAKE_SECONDS })) {
      keys.push(`${task.key} ${task.attempt}`);
      if (keys.length > 1) {
        await task.done();
        continue;
      }
      await lapseIn(builder, 0);
      assert.equal((await reasonOf(task.signal)).code, "take_lapsed");
      await assert.rejects(task.done({ reply: "A house." }), { code: "take_lapsed" });
      assert.equal(await task.fail("Too late."), null);
      await assert.rejects(task.text(), { code: "take_lapsed" });
    }
  });
  assert.deepEqual(keys, ["a 1", "b 1", "a 2"]);
  assert.deepEqual(await collect(builder.files.list()), [], "no reply is left");
  assert.deepEqual(await collect(planner.files.inbox()), []);
});

Deno.test("a take that cannot be renewed at all → over when it lapses, and not before", async () => {
  const { fetch } = countingFetch((path, go) =>
    path === "/inbox/extend" ? Promise.reject(new TypeError("no network")) : go()
  );
  const { builder } = await handOver(["a"], { fetch });
  await hurried(FACTOR, async () => {
    const takenAt = performance.now();
    for await (const task of builder.files.tasks({ takeSeconds: TAKE_SECONDS })) {
      assert.equal((await reasonOf(task.signal)).code, "take_lapsed");
      const lastedSeconds = (performance.now() - takenAt) / 1000;
      assert.ok(lastedSeconds > TAKE_SECONDS / 3, String(lastedSeconds));
      break;
    }
  });
});

Deno.test("a grant that is revoked while its task is under way → the signal is aborted with grant_revoked", async () => {
  const { planner, builder } = await handOver(["a"]);
  await hurried(FACTOR, async () => {
    for await (const task of builder.files.tasks({ takeSeconds: TAKE_SECONDS })) {
      await planner.files.revoke({ grant_id: task.id });
      assert.equal((await reasonOf(task.signal)).code, "grant_revoked");
      await assert.rejects(task.done(), { code: "grant_revoked" });
      break;
    }
  });
});

for (const whose of ["the call's", "the client's"] as const) {
  Deno.test(`abort() of ${whose} signal while bodies run → at once: their signals, what they hold, and the loop`, async () => {
    const abort = new AbortController();
    const { signal } = abort;
    const { builder } = await handOver(["a", "b", "c"], whose === "the client's" ? { signal } : {});
    const held: Task[] = [];
    const reason = new Error("Stop.");
    const loop = async () => {
      const options = whose === "the call's" ? { signal } : {};
      for await (const task of builder.files.tasks({ ...options, concurrency: 2 })) {
        held.push(task);
        // While the loop waits for one of the two to end.
        if (held.length === 2) setTimeout(() => abort.abort(reason), 100);
      }
    };
    await assert.rejects(loop(), reason);
    assert.deepEqual(held.map(({ signal }) => signal.reason), [reason, reason]);
    const rows = await tasksOf(builder);
    assert.deepEqual(
      rows.map(({ key, state, attempt, is_ready }) => [key, state, attempt, is_ready]),
      [
        // A worker that is stopped made no attempt.
        ["a", "waiting", 0, true],
        ["b", "waiting", 0, true],
        ["c", "waiting", 0, true],
      ],
    );
    await assert.rejects(held[0]!.done(), reason);
  });
}

Deno.test("abort() while a body runs that ignores it → given back before the body ends", async () => {
  const { builder } = await handOver(["a"]);
  const abort = new AbortController();
  const loop = async () => {
    for await (const _ of builder.files.tasks({ signal: abort.signal })) {
      abort.abort(new Error("Stop."));
      await askUntil(([row]) => row!.state === "waiting", () => tasksOf(builder));
    }
  };
  await assert.rejects(loop(), /Stop/);
});

Deno.test("abort() while the loop waits for a task → the request is cut, and nothing is held", async () => {
  const { fetch, asked } = countingFetch();
  const { planner, builder } = await handOver([], { fetch });
  const abort = new AbortController();
  const loop = collect(builder.files.tasks({ signal: abort.signal }));
  await askUntil((count) => count === 2, () => Promise.resolve(asked("/inbox/take")));
  abort.abort(new Error("Stop."));
  await assert.rejects(loop, /Stop/);
  await planner.files.put("a", "1", { to: [builder.agent.id] });
  const { tasks } = await builder.files.take();
  assert.equal(tasks[0]!.attempt, 1, "nobody else has taken it");
});

Deno.test("abort() while a request takes a task → it is given back before the loop ends", async () => {
  const abort = new AbortController();
  const { fetch } = countingFetch(async (path, go) => {
    const answer = await go();
    // The service has taken it, and the answer is still on its way.
    if (path === "/inbox/take") abort.abort(new Error("Stop."));
    return answer;
  });
  const { builder } = await handOver(["a"], { fetch });
  await assert.rejects(collect(builder.files.tasks({ signal: abort.signal })), /Stop/);
  const [row] = await tasksOf(builder);
  assert.deepEqual([row!.state, row!.is_ready, row!.attempt], ["waiting", true, 0]);
});

Deno.test("tasks() with an aborted signal → its reason, and asks nobody", async () => {
  const { fetch, asked } = countingFetch();
  const { files } = await agentFiles("builder", { fetch });
  const signal = AbortSignal.abort(new Error("Stop."));
  await assert.rejects(collect(files.tasks({ signal })), /Stop/);
  assert.equal(asked("/inbox/take"), 0);
});
