/** The lock under which one process of a host enrols: a killed holder's is taken over by one. */
import assert from "node:assert/strict";
import * as files from "node:fs/promises";
import { join } from "node:path";
import { interpreter, PYTHON_ENVIRONMENT } from "../../../../clients/python/tests/interpreter.ts";
import { withLock } from "../../../agent-files/http/lock.ts";

const PROJECT = new URL("../../../../", import.meta.url).pathname;

/** Writes to the log of the folder when it has the lock, three times. The fourth time, it dies. */
const IN_PYTHON = `
import os, signal, sys, time
from agent_files._keys.lock import locked as _locked
def say(word):
    with open("log", "a") as log:
        log.write(f"{word} {os.getpid()}\\n")
for _ in range(3):
    with _locked("shared.lock"):
        say("enter")
        time.sleep(0.01)
        say("leave")
with _locked("shared.lock"):
    say("dies")
    os.kill(os.getpid(), signal.SIGKILL)
`;

const IN_TYPESCRIPT = `
import * as files from "node:fs/promises";
import { withLock } from "${PROJECT}packages/agent-files/http/lock.ts";
const say = (word) => files.appendFile("log", word + " " + Deno.pid + "\\n");
for (let round = 0; round < 3; round++) {
  await withLock(files, "shared.lock", async () => {
    await say("enter");
    await new Promise((resolve) => setTimeout(resolve, 10));
    await say("leave");
  });
}
await withLock(files, "shared.lock", async () => {
  await say("dies");
  Deno.kill(Deno.pid, "SIGKILL");
  await new Promise(() => {});
});
`;

async function runIn(folder: string, program: string, args: readonly string[]) {
  const { signal, stderr } = await new Deno.Command(program, {
    args: [...args],
    cwd: folder,
    env: PYTHON_ENVIRONMENT,
    stdin: "null",
  }).output();
  return { signal, errors: new TextDecoder().decode(stderr) };
}

/** As if the lock's holder had been killed a minute ago. */
async function age(lock: string): Promise<void> {
  const long = new Date(Date.now() - 60_000);
  const [holder, ...others] = await files.readdir(lock);
  assert.deepEqual(others, []);
  // From here on, another process may take the lock over.
  await files.utimes(join(lock, holder!), long, long);
}

/** A lock whose holder was killed, in a folder of its own. */
async function abandonedLock(ends: AsyncDisposableStack): Promise<string> {
  const folder = await Deno.makeTempDir();
  ends.defer(() => Deno.remove(folder, { recursive: true }));
  const { signal, errors } = await runIn(folder, await interpreter(), ["-c", IN_PYTHON]);
  assert.equal(signal, "SIGKILL", errors);
  const lock = join(folder, "shared.lock");
  await age(lock);
  return lock;
}

Deno.test("two find the lock of a killed process, the second removes it while the first looks → only one holds it at a time", async () => {
  await using ends = new AsyncDisposableStack();
  const lock = await abandonedLock(ends);
  const looked = Promise.withResolvers<void>();
  const isTaken = Promise.withResolvers<void>();
  const slow = {
    ...files,
    // deno-lint-ignore no-explicit-any -- the signature has overloads
    stat: async (...args: [any]) => {
      const state = await files.stat(...args);
      looked.resolve();
      await isTaken.promise;
      return state;
    },
  } as typeof files;
  const order: string[] = [];
  const first = withLock(slow, lock, () => {
    order.push("first");
    return Promise.resolve();
  });
  await looked.promise;
  await withLock(files, lock, async () => {
    order.push("second enters");
    isTaken.resolve();
    await new Promise((resolve) => setTimeout(resolve, 500));
    order.push("second leaves");
  });
  await first;
  assert.deepEqual(order, ["second enters", "second leaves", "first"]);
  await assert.rejects(files.stat(lock), { code: "ENOENT" });
});

Deno.test("the same two in Python → only one holds it at a time", async () => {
  await using ends = new AsyncDisposableStack();
  const lock = await abandonedLock(ends);
  const script = `
import os, threading, time
from agent_files._keys.lock import locked as _locked
order, looked, taken = [], threading.Event(), threading.Event()
stat = os.stat
def slow(path, **options):
    state = stat(path, **options)
    if threading.current_thread().name == "first":
        looked.set()
        taken.wait()
    return state
os.stat = slow
def work():
    with _locked("shared.lock"):
        order.append("first")
first = threading.Thread(target=work, name="first")
first.start()
looked.wait()
with _locked("shared.lock"):
    order.append("second enters")
    taken.set()
    time.sleep(0.5)
    order.append("second leaves")
first.join()
assert order == ["second enters", "second leaves", "first"], order
`;
  const { errors } = await runIn(join(lock, ".."), await interpreter(), ["-c", script]);
  assert.equal(errors, "");
  await assert.rejects(files.stat(lock), { code: "ENOENT" });
});

Deno.test("a holder that slept until its lock was taken over → does not end the lock of its successor", async () => {
  await using ends = new AsyncDisposableStack();
  const folder = await Deno.makeTempDir();
  ends.defer(() => Deno.remove(folder, { recursive: true }));
  const lock = join(folder, "shared.lock");
  const order: string[] = [];
  const [isAsleep, wake, hasSuccessor] = Array.from(
    { length: 3 },
    () => Promise.withResolvers<void>(),
  );
  const sleeper = withLock(files, lock, async () => {
    isAsleep!.resolve();
    await wake!.promise;
  });
  await isAsleep!.promise;
  await age(lock);
  const successor = withLock(files, lock, async () => {
    hasSuccessor!.resolve();
    await sleeper;
    await new Promise((resolve) => setTimeout(resolve, 300));
    order.push("successor leaves");
  });
  await hasSuccessor!.promise;
  const third = withLock(files, lock, () => Promise.resolve(void order.push("third")));
  wake!.resolve();
  await Promise.all([successor, third]);
  assert.deepEqual(order, ["successor leaves", "third"]);
});

Deno.test("24 processes in TypeScript and Python, eight at a time, each killed while it holds the lock → never two at once, and none waits forever", async () => {
  await using ends = new AsyncDisposableStack();
  const folder = await Deno.makeTempDir();
  ends.defer(() => Deno.remove(folder, { recursive: true }));
  const python = await interpreter();
  const programs = Array.from(
    { length: 24 },
    (_, number) =>
      number % 2 === 0
        ? [python, "-c", IN_PYTHON]
        : [Deno.execPath(), "eval", "--no-check", IN_TYPESCRIPT],
  );
  await Promise.all(Array.from({ length: 8 }, async () => {
    for (let next = programs.pop(); next !== undefined; next = programs.pop()) {
      const [program = "", ...args] = next;
      const { signal, errors } = await runIn(folder, program, args);
      assert.equal(signal, "SIGKILL", errors);
      // Nobody else changes the lock of a killed process before it is old.
      await age(join(folder, "shared.lock"));
    }
  }));
  const lines = (await files.readFile(join(folder, "log"), "utf8")).trim().split("\n");
  assert.equal(lines.filter((line) => line.startsWith("dies")).length, 24);
  assert.equal(lines.length, 24 * 7);
  for (const [index, line] of lines.entries()) {
    const [word, process] = line.split(" ");
    if (word === "enter") assert.equal(lines[index + 1], `leave ${process}`, lines.join("\n"));
  }
});
