import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { withTestFiles } from "../../dev/checks/test_files.ts";
import { PROJECT } from "../../local/command/project.ts";

const TASKS = ["test", "test:programs", "test:long", "test:rotation", "test:faults"];

/** What each `deno test` of a task is given: a `+` stands between two. */
function runsOf(task: string): string[][] {
  return task.split(" + ").map((run) =>
    run.split(" ").filter((word) => word.startsWith("--ignore=") || word.startsWith("tests/"))
  );
}

Deno.test("every file of tests → run once by all tasks together", async () => {
  const { tasks } = JSON.parse(await readFile(join(PROJECT, "deno.json"), "utf8"));
  const runs = await Promise.all(TASKS.flatMap((name) => runsOf(tasks[name])).map(withTestFiles));
  const files = (await readdir(join(PROJECT, "tests"), { recursive: true }))
    .filter((file) => file.endsWith("_test.ts")).map((file) => `tests/${file}`);
  assert.ok(files.length > 100);
  assert.deepEqual(runs.flat().sort(), files.sort());
});

Deno.test("withTestFiles() → files in the place of folders, without those to ignore; options and files stay", async () => {
  const args = [
    "--filter",
    "/health",
    "--ignore=tests/faults/points",
    "tests/faults",
    "tests/x.ts",
  ];
  const [filter, value, ...files] = await withTestFiles(args);
  assert.deepEqual([filter, value, files.at(-1)], ["--filter", "/health", "tests/x.ts"]);
  assert.ok(files.includes("tests/faults/commit_test.ts"));
  assert.deepEqual(files.filter((file) => file.includes("/points/")), []);
});
