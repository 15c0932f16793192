/** What a test run came to. */
export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

const TEST_CASE = /<testcase name="([^"]*)"[^>]*?(?:\/>|>(.*?)<\/testcase>)/gs;
/** Stands between the names of a test and of its step, as the report spells it. */
const STEP_OF = " &gt; ";

/** Counts the tests of a JUnit report of `deno test`; their steps are not tests. */
export function countTests(report: string): TestCounts {
  const cases = [...report.matchAll(TEST_CASE)].map(([, name = "", body = ""]) => ({ name, body }));
  const names = new Set(cases.map(({ name }) => name));
  const tests = cases.filter(({ name }) => !isStep(name, names));
  const failed = tests.filter(({ body }) => /<(?:failure|error)\b/.test(body)).length;
  const skipped = tests.filter(({ body }) => body.includes("<skipped")).length;
  return { passed: tests.length - failed - skipped, failed, skipped };
}

function isStep(name: string, names: ReadonlySet<string>): boolean {
  const end = name.lastIndexOf(STEP_OF);
  if (end === -1) return false;
  const parent = name.slice(0, end);
  return names.has(parent) || isStep(parent, names);
}

/** What several runs came to together. */
export function addCounts(runs: readonly TestCounts[]): TestCounts {
  const sum = (of: keyof TestCounts) => runs.reduce((total, counts) => total + counts[of], 0);
  return { passed: sum("passed"), failed: sum("failed"), skipped: sum("skipped") };
}

/** `12 passed, 0 failed`, and how many were skipped if any were. */
export function describeCounts({ passed, failed, skipped }: TestCounts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}
