import assert from "node:assert/strict";
import { mkdir, readdir, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { identifyProcess, isRunning } from "../../../processes/process_identity.ts";
import { sendSignal } from "../../../processes/end_process.ts";
import { ProcessRecords } from "../../../state/process_records.ts";
import { stopStack } from "../../../stack/stop.ts";
import { copyStateDirectory, openStateDirectory, runTask, snapshot } from "../stack_process.ts";

function reset(stateDir: string) {
  return runTask("packages/local/stack/reset.ts", { environment: { STATE_DIR: stateDir } });
}

/** Writes files, given by their paths below `directory`. */
async function fill(directory: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, name)), { recursive: true });
    await writeFile(join(directory, name), text);
  }
}

/** Files of another program under names that a stack uses too. */
const OF_ANOTHER_PROGRAM = {
  "env": "A=1\n",
  "keys.json": "{}",
  "logs/today": "a line\n",
  "pid": "1\n",
  "postgres/compose.yaml": "",
  "storage/photo": "bytes",
};

for (
  const [name, files] of [
    ["everything but processes.json", OF_ANOTHER_PROGRAM],
    ["a processes.json of another program", {
      ...OF_ANOTHER_PROGRAM,
      "processes.json": '{"apps":[{"script":"server.js"}]}',
    }],
    ["a processes.json that is a list", { ...OF_ANOTHER_PROGRAM, "processes.json": "[]" }],
    ["a processes.json that is a number", { ...OF_ANOTHER_PROGRAM, "processes.json": "5" }],
    ["a processes.json that is damaged", { ...OF_ANOTHER_PROGRAM, "processes.json": "" }],
    ["logs alone", { "logs/today": "a line\n" }],
  ] as const
) {
  Deno.test(`reset of a directory without a stack, with ${name} → refused, nothing removed`, async () => {
    await using directory = await openStateDirectory();
    await fill(directory.path, files);
    const before = await snapshot(directory.path);
    const { code, errors } = await reset(directory.path);
    assert.equal(code, 1);
    assert.equal(
      errors,
      `${directory.path} is not a state directory, for no stack ever ran there: nothing was removed; set STATE_DIR to the right one.`,
    );
    assert.deepEqual(await snapshot(directory.path), before);
  });
}

Deno.test("reset of an absent or empty directory → nothing to do, exit code 0", async () => {
  await using directory = await openStateDirectory();
  const absent = join(directory.path, "absent");
  for (const path of [directory.path, absent]) {
    const { code, output } = await reset(path);
    assert.equal(code, 0);
    assert.equal(output, `${path} is absent or empty: there is nothing to remove.`);
  }
  assert.deepEqual(await readdir(directory.path), []);
});

for (
  const [name, files] of [
    ["had recorded itself", {
      "processes.json": '{"stack":{"pid":4194304,"startedAt":"1","stateDir":"/tmp"}}',
    }],
    ["had only locked the directory", { "processes.json.new": "" }],
  ] as const
) {
  Deno.test(`reset after a start that died when it ${name} → removed`, async () => {
    await using state = await openStateDirectory();
    await mkdir(join(state.path, "logs"));
    await fill(state.path, { "lock": "", "pid": "4194304\n", ...files });
    const { code, errors } = await reset(state.path);
    assert.equal(code, 0, errors);
    await assert.rejects(readdir(state.path), { code: "ENOENT" });
  });
}

Deno.test("reset of a state directory with something else in it → that stays", async () => {
  await using state = await openStateDirectory();
  await fill(state.path, {
    ...OF_ANOTHER_PROGRAM,
    "env.new": "",
    "notes.txt": "mine",
    "processes.json": "{}",
  });
  const { code, errors } = await reset(state.path);
  assert.equal(code, 0, errors);
  assert.deepEqual(await readdir(state.path), ["notes.txt"]);
});

Deno.test("stop and reset of a copied state directory → the processes go on; stop of a moved one → they end", async () => {
  await using state = await openStateDirectory();
  const child = new Deno.Command("sleep", { args: ["600"] }).spawn();
  const identity = (await identifyProcess(child.pid))!;
  try {
    await new ProcessRecords(state.path).set("postgrest", child.pid);
    await using copy = await copyStateDirectory(state.path);
    assert.equal(await stopStack(copy.path), "The service is not running.");
    assert.equal((await reset(copy.path)).code, 0);
    assert.equal(await isRunning(identity), true);

    const moved = `${state.path}-moved`;
    await rename(state.path, moved);
    assert.match(await stopStack(moved), /ended what it left running: postgrest\.$/);
    assert.equal(await isRunning(identity), false);
    await rename(moved, state.path);
  } finally {
    sendSignal(identity, "SIGKILL");
    await child.status;
  }
});
