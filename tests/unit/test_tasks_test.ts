import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { unitsOf, withTestFiles } from "../../dev/checks/units/test_files.ts";
import { readResults, recordResult, takeUnits, writeQueue } from "../../dev/checks/units/queue.ts";
import { PROJECT } from "../../packages/local/project.ts";

const TASKS = [
  "test",
  "test:database",
  "test:programs",
  "test:long",
  "test:rotation",
  "test:simulation",
  "test:faults",
];

/** The test files, and the options that ignore some, in a task's command. */
function namedBy(task: string): string[] {
  return task.split(" ").filter((word) =>
    word.startsWith("--ignore=") || /^(?:clients|packages|tests)\//.test(word)
  );
}

async function testFilesBelow(folder: string): Promise<string[]> {
  const files = await readdir(join(PROJECT, folder), { recursive: true });
  return files.filter((file) => file.endsWith("_test.ts")).map((file) => `${folder}/${file}`);
}

Deno.test("every test file of tests, packages and clients → run once by all tasks together", async () => {
  const { tasks } = JSON.parse(await readFile(join(PROJECT, "deno.json"), "utf8"));
  const runs = await Promise.all(TASKS.map((name) => withTestFiles(namedBy(tasks[name].command))));
  const files = (await Promise.all(["clients", "packages", "tests"].map(testFilesBelow))).flat();
  assert.ok(files.length > 100);
  assert.deepEqual(runs.flat().sort(), files.sort());
});

Deno.test("the test files of `task test` → none needs the TCP/IP stack, which a clone has not built", async () => {
  const { tasks } = JSON.parse(await readFile(join(PROJECT, "deno.json"), "utf8"));
  const files = await withTestFiles(namedBy(tasks["test"].command));
  const sources = await Promise.all(files.map((file) => readFile(join(PROJECT, file), "utf8")));
  const needing = files.filter((_, index) => /^import .*read_lwip\.ts";$/m.test(sources[index]!));
  assert.deepEqual(needing, []);
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

Deno.test("withTestFiles() of a folder without test files → throws, because `deno test` would run all", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await assert.rejects(
      withTestFiles(["tests/unit", folder]),
      { message: `There are no test files in ${folder}.` },
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("unitsOf() → the files of each folder, in the order of the first of each; or each file", () => {
  const files = ["tests/b/one_test.ts", "tests/a/two_test.ts", "tests/b/three_test.ts"];
  assert.deepEqual(unitsOf(files, { each: false }), [
    ["tests/b/one_test.ts", "tests/b/three_test.ts"],
    ["tests/a/two_test.ts"],
  ]);
  assert.deepEqual(unitsOf(files, { each: true }), files.map((file) => [file]));
});

Deno.test("unitsOf() of a folder with 13 files → units of 6, 6 and 1", () => {
  const files = Array.from({ length: 13 }, (_, index) => `tests/a/${index}_test.ts`);
  const units = unitsOf(files, { each: false });
  assert.deepEqual(units.map(({ length }) => length), [6, 6, 1]);
  assert.deepEqual(units.flat(), files);
});

Deno.test("takeUnits() by three at once → every unit is taken once", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const units = Array.from({ length: 50 }, (_, index) => [`tests/${index}_test.ts`]);
    await writeQueue(directory, units);
    const taken: string[] = [];
    await Promise.all([1, 2, 3].map(async () => {
      for await (const [file] of takeUnits(directory)) taken.push(file!);
    }));
    assert.deepEqual(taken.toSorted(), units.flat().sort());
    assert.deepEqual(await Array.fromAsync(takeUnits(directory)), []);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("recordResult() by two at once → readResults() has both", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const counts = { passed: 1, failed: 0, skipped: 0 };
    const results = ["a", "b"].map((name) => ({
      unit: [`tests/${name}_test.ts`],
      counts: { ...counts, failedFiles: [], inFailedFiles: { ...counts, passed: 0 } },
      seconds: 1,
      processorSeconds: 0.5,
    }));
    assert.deepEqual(await readResults(directory), []);
    await Promise.all(results.map((result) => recordResult(directory, result)));
    const read = (await readResults(directory)).toSorted((a, b) =>
      a.unit[0]! < b.unit[0]! ? -1 : 1
    );
    assert.deepEqual(read, results);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});
