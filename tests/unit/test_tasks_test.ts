import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../local/command/project.ts";

const TASKS = ["test", "test:programs", "test:long", "test:rotation", "test:faults"];

interface Folders {
  readonly run: readonly string[];
  /** Those below them that other runs take. */
  readonly left: readonly string[];
}

/** What each `deno test` of a task runs: a `+` stands between two. */
function runsOf(task: string): Folders[] {
  return task.split(" + ").map((run) => {
    const words = run.split(" ");
    const ignored = words.find((word) => word.startsWith("--ignore="));
    return {
      run: words.filter((word) => word === "tests" || word.startsWith("tests/")),
      left: ignored?.slice("--ignore=".length).split(",") ?? [],
    };
  });
}

function isIn(file: string, folders: readonly string[]): boolean {
  return folders.some((folder) => file.startsWith(`${folder}/`));
}

Deno.test("every file of tests → run once by all tasks together", async () => {
  const { tasks } = JSON.parse(await readFile(join(PROJECT, "deno.json"), "utf8"));
  const running = TASKS.flatMap((name) => runsOf(tasks[name]));
  const files = (await readdir(join(PROJECT, "tests"), { recursive: true }))
    .filter((file) => file.endsWith("_test.ts")).map((file) => `tests/${file}`);
  assert.ok(files.length > 100);
  const wrong = files.filter((file) =>
    running.filter(({ run, left }) => isIn(file, run) && !isIn(file, left)).length !== 1
  );
  assert.deepEqual(wrong, []);
});
