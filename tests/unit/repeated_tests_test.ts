import assert from "node:assert/strict";
import { describeCosts } from "../../dev/checks/units/costs.ts";
import { measureIdle, processorSecondsOfChildren } from "../../dev/checks/units/processor_time.ts";
import type { UnitResult } from "../../dev/checks/units/queue.ts";
import { filesToRepeat, withRepeated } from "../../dev/checks/units/repeat.ts";

const NOTHING = { passed: 0, failed: 0, skipped: 0 };

/** A unit of two files. `failed`: how many of five tests in the first file failed. */
function resultOf(file: string, failed: number): UnitResult {
  return {
    unit: [file, `${file}_other_test.ts`],
    counts: {
      passed: 9 - failed,
      failed,
      skipped: 0,
      failedFiles: failed > 0 ? [file] : [],
      inFailedFiles: failed > 0 ? { passed: 5 - failed, failed, skipped: 0 } : NOTHING,
    },
    seconds: 12.3,
    processorSeconds: failed,
  };
}

Deno.test("filesToRepeat() → the failed files alone, and what they counted", () => {
  const results = [
    resultOf("tests/unit/a_test.ts", 0),
    resultOf("tests/database/b_test.ts", 2),
    resultOf("packages/cli/tests/c_test.ts", 1),
  ];
  assert.deepEqual(filesToRepeat(results), {
    files: ["tests/database/b_test.ts", "packages/cli/tests/c_test.ts"],
    counts: { passed: 7, failed: 3, skipped: 0 },
  });
});

Deno.test("filesToRepeat() of a unit that ended without a report → all its files", () => {
  const counts = { ...NOTHING, failed: 1, failedFiles: [], inFailedFiles: NOTHING };
  const repeat = filesToRepeat([{ ...resultOf("tests/unit/a_test.ts", 0), counts }]);
  assert.deepEqual(repeat?.files, ["tests/unit/a_test.ts", "tests/unit/a_test.ts_other_test.ts"]);
  assert.equal(repeat?.counts.failed, 1);
});

Deno.test("filesToRepeat() when all passed, or more than four files failed → null", () => {
  const failed = Array.from(
    { length: 5 },
    (_, index) => resultOf(`tests/unit/${index}_test.ts`, 1),
  );
  assert.equal(filesToRepeat([resultOf("tests/unit/a_test.ts", 0)]), null);
  assert.equal(filesToRepeat(failed), null);
  assert.equal(filesToRepeat(failed.slice(1))?.files.length, 4);
});

for (
  const file of [
    "tests/long/removal_race_test.ts",
    "tests/database/tasks/races_test.ts",
    "tests/long/racing_sweep_test.ts",
    "tests/faults/points/commit_test.ts",
    "tests/histories/histories_test.ts",
    "tests/mutations/mutations_test.ts",
    "tests/simulation/found_test.ts",
    "packages/agent-peer/tests/simulation/seeds_test.ts",
  ]
) {
  Deno.test(`filesToRepeat() with ${file}, where one failure is a finding → null`, () => {
    assert.equal(filesToRepeat([resultOf("tests/unit/a_test.ts", 1), resultOf(file, 1)]), null);
  });
}

Deno.test("withRepeated() → the counts of the first run of these files are replaced", () => {
  const whole = { passed: 100, failed: 3, skipped: 1 };
  const first = { passed: 7, failed: 3, skipped: 1 };
  assert.deepEqual(
    withRepeated(whole, first, { passed: 10, failed: 0, skipped: 1 }),
    { passed: 103, failed: 0, skipped: 1 },
  );
  // A failure that no file has, such as a secret in a log, stays.
  assert.equal(withRepeated({ ...whole, failed: 4 }, first, { ...first, failed: 0 }).failed, 1);
});

Deno.test("describeCosts() → the dearest unit first, with its time and number of tests", () => {
  const lines = describeCosts([resultOf("tests/a_test.ts", 1), resultOf("tests/b_test.ts", 3)]);
  assert.deepEqual(lines, [
    "The tests of 2 units used 4 s of processor time. Most:",
    "    3 s of processor time,   12 s,   9 tests: tests/b_test.ts +1",
    "    1 s of processor time,   12 s,   9 tests: tests/a_test.ts +1",
  ]);
});

Deno.test("processorSecondsOfChildren() → grows by what a child computes", async () => {
  const before = await processorSecondsOfChildren();
  const code = "const end = process.cpuUsage().user + 3e5; while (process.cpuUsage().user < end);";
  await new Deno.Command(Deno.execPath(), { args: ["eval", code] }).output();
  assert.ok(await processorSecondsOfChildren() - before >= 0.3);
});

Deno.test("measureIdle() of two processors, one idle and one busy half of the time → 0.75; of no time → 0", () => {
  const at = (user: number, idle: number) => ({ user, nice: 0, sys: 0, irq: 0, idle });
  let now = [at(100, 500), at(40, 600)];
  const idleShare = measureIdle(() => now);
  assert.equal(idleShare(), 0);
  now = [at(150, 550), at(40, 700)];
  assert.equal(idleShare(), 0.75);
});
