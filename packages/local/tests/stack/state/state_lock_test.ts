import assert from "node:assert/strict";
import { chmod, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CommandError } from "../../../../command/command_error.ts";
import { stateFiles } from "../../../state/state_files.ts";
import { lockState, type StateLock } from "../../../state/state_lock.ts";
import { launch, openStateDirectory, runTask, snapshot } from "../stack_process.ts";

const CONTENDER = fileURLToPath(new URL("./lock_contender.ts", import.meta.url));
const REFUSAL =
  "The service already runs with this state directory; stop it with `deno task stop`.";

/** Starts a process that tries to lock `stateDir` when told to. */
async function startContender(stateDir: string) {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", CONTENDER, stateDir],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const output = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const input = child.stdin.getWriter();
  const nextLine = async () => (await output.read()).value?.trim();
  assert.equal(await nextLine(), "ready");
  return {
    async tryToLock() {
      await input.write(new TextEncoder().encode("go"));
      return await nextLine();
    },
    async kill() {
      child.kill("SIGKILL");
      await child.status;
      await input.abort().catch(() => {});
      await output.cancel();
    },
  };
}

Deno.test("eight processes lock a state directory at once, again after each SIGKILL → one gets it each time", async () => {
  await using state = await openStateDirectory();
  for (let round = 1; round <= 3; round++) {
    const contenders = await Promise.all(
      Array.from({ length: 8 }, () => startContender(state.path)),
    );
    try {
      const results = await Promise.all(contenders.map((contender) => contender.tryToLock()));
      assert.deepEqual(results.toSorted(), [...Array(7).fill(REFUSAL), "locked"], `round ${round}`);
    } finally {
      for (const contender of contenders) await contender.kill();
    }
  }
});

Deno.test("two starts at once with one state directory → one is ready, the other is refused", async () => {
  await using state = await openStateDirectory();
  const services = await Promise.all([1, 2].map(() => launch({ stateDir: state.path })));
  const ready = await Promise.all(services.map((service) => service.ready().catch(() => null)));
  const winner = services.find((_, index) => ready[index] !== null)!;
  const loser = services.find((_, index) => ready[index] === null)!;
  assert.equal(await loser.exit(), 1);
  assert.match(
    await loser.errors,
    /^The service already runs with this state directory( \(process [0-9]+\))?; stop it with `deno task stop`\.\n$/,
  );
  assert.equal((await Deno.readTextFile(stateFiles(state.path).pid)).trim(), String(winner.pid));

  const stop = await runTask("packages/local/stack/stop.ts", {
    environment: { STATE_DIR: state.path },
  });
  assert.equal(stop.output, "Stopped.");
  assert.equal(await winner.exit(), 0);
  await (await lockState(state.path)).release();
});

Deno.test("reset of a state directory that another process has locked → refused, nothing removed", async () => {
  await using state = await openStateDirectory();
  const files = stateFiles(state.path);
  await writeFile(files.processRecords, "{}");
  await writeFile(files.keys, "kept");
  const lock = await lockState(state.path);
  try {
    const before = await snapshot(state.path);
    const reset = await runTask("packages/local/stack/reset.ts", {
      environment: { STATE_DIR: state.path },
    });
    assert.deepEqual(reset, { code: 1, output: "", errors: REFUSAL });
    assert.deepEqual(await snapshot(state.path), before);
  } finally {
    await lock.release();
  }
});

Deno.test("lockState() while others remove the lock's file, as reset does → never two at once", async () => {
  await using state = await openStateDirectory();
  let holders = 0;
  let mostHolders = 0;
  let times = 0;

  async function lockAndRemove(): Promise<void> {
    while (times < 100) {
      const lock = await lockUnlessTaken(state.path);
      if (lock === null) continue;
      holders++;
      times++;
      mostHolders = Math.max(mostHolders, holders);
      // Gives another one time to take the lock, if it could.
      await writeFile(stateFiles(state.path).env, "");
      holders--;
      await lock.remove();
    }
  }

  await Promise.all(Array.from({ length: 8 }, lockAndRemove));
  assert.equal(mostHolders, 1);
});

async function lockUnlessTaken(stateDir: string): Promise<StateLock | null> {
  try {
    return await lockState(stateDir);
  } catch (cause) {
    assert.ok(cause instanceof CommandError);
    assert.equal(cause.message, REFUSAL);
    return null;
  }
}

Deno.test("lockState() → a state directory that it makes is closed to others, one that is there stays as it is", async () => {
  await using state = await openStateDirectory();
  await chmod(state.path, 0o750);
  const made = join(state.path, "made");
  for (const stateDir of [state.path, made]) {
    const lock = await lockState(stateDir);
    await lock.release();
  }
  const modes = await Promise.all(
    [state.path, made, stateFiles(made).logs].map(async (path) => (await stat(path)).mode & 0o777),
  );
  assert.deepEqual(modes, [0o750, 0o700, 0o700]);
});
