import { addCounts, type TestCounts } from "./test_counts.ts";
import type { UnitResult } from "./queue.ts";

/** With more failures than this, the machine is not to blame, and nothing is repeated. */
const MOST_FILES = 4;

/**
 * Test files in which one failure by chance is a finding: they look for races between requests, or
 * a seed or a kill decides what they do. They are never repeated.
 */
const DECIDED_BY_CHANCE = [
  /rac(?:e|es|ing)[^/]*_test\.ts$/,
  /^tests\/(?:faults|histories|mutations|simulation)\//,
  /^packages\/agent-peer\/tests\/simulation\//,
];

/** Files to run once more, alone, and the counts that their first run has had. */
export interface Repeat {
  readonly files: readonly string[];
  readonly counts: TestCounts;
}

/**
 * The files whose tests failed while other tests ran beside them, to be run once more, alone. Tests
 * wait for real processes and timers, and on a busy machine one of thousands may wait for too long.
 * Null: nothing is to be repeated, because all passed, too many failed, or a failure is a finding.
 */
export function filesToRepeat(results: readonly UnitResult[]): Repeat | null {
  const failed = results.filter(({ counts }) => counts.failed > 0).map(({ unit, counts }) =>
    // A run that ended without a report does not say which of its files failed.
    counts.failedFiles.length > 0
      ? { files: counts.failedFiles, counts: counts.inFailedFiles }
      : { files: unit, counts }
  );
  const files = failed.flatMap(({ files }) => files);
  const isFinding = files.some((file) => DECIDED_BY_CHANCE.some((pattern) => pattern.test(file)));
  if (files.length === 0 || files.length > MOST_FILES || isFinding) return null;
  return { files, counts: addCounts(failed.map(({ counts }) => counts)) };
}

/** The counts of a whole run, in which the repeated files have the counts of their last run. */
export function withRepeated(whole: TestCounts, first: TestCounts, last: TestCounts): TestCounts {
  return {
    passed: whole.passed - first.passed + last.passed,
    failed: whole.failed - first.failed + last.failed,
    skipped: whole.skipped - first.skipped + last.skipped,
  };
}
