import { XMLParser } from "fast-xml-parser";

/** The result of a test run. */
export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

interface JUnitReport {
  readonly testsuites?: { readonly testsuite?: readonly TestSuite[] };
}

/** The tests of one file. */
interface TestSuite {
  /** The file, such as "./tests/unit/a_test.ts". */
  readonly name: string;
  readonly testcase?: readonly TestCase[];
}

interface TestCase {
  readonly name: string;
  readonly failure?: unknown;
  readonly error?: unknown;
  readonly skipped?: unknown;
}

/** Separates the names of a test and of its step. */
const STEP_OF = " > ";

/** The result of a test run, and what failed in it. */
export interface FileCounts extends TestCounts {
  /** The files with a failed test, from the folder of the run, such as "tests/a_test.ts". */
  readonly failedFiles: readonly string[];
  /** The result of these files alone. */
  readonly inFailedFiles: TestCounts;
}

/**
 * Counts the tests in a JUnit report of `deno test`. The report also lists the tests' steps, which
 * do not count.
 */
export function countTests(report: string): FileCounts {
  const parser = new XMLParser({
    ignoreAttributes: false,
    attributeNamePrefix: "",
    trimValues: false,
    parseTagValue: false,
    // Parse as a list even if there is only one.
    isArray: (tag) => tag === "testsuite" || tag === "testcase",
  });
  const { testsuites }: JUnitReport = parser.parse(report);
  const files = (testsuites?.testsuite ?? []).map((suite) => ({
    name: suite.name.replace(/^\.\//, ""),
    counts: countSuite(suite),
  }));
  const withFailures = files.filter(({ counts }) => counts.failed > 0);
  return {
    ...addCounts(files.map(({ counts }) => counts)),
    failedFiles: withFailures.map(({ name }) => name),
    inFailedFiles: addCounts(withFailures.map(({ counts }) => counts)),
  };
}

function countSuite({ testcase: cases = [] }: TestSuite): TestCounts {
  const names = new Set(cases.map(({ name }) => name));
  const tests = cases.filter(({ name }) => !isStep(name, names));
  const failed = tests.filter((test) => "failure" in test || "error" in test).length;
  const skipped = tests.filter((test) => "skipped" in test).length;
  return { passed: tests.length - failed - skipped, failed, skipped };
}

/**
 * Whether the part of the name before the last separator is the name of a test or step in the same
 * file.
 */
function isStep(name: string, names: ReadonlySet<string>): boolean {
  const end = name.lastIndexOf(STEP_OF);
  if (end === -1) return false;
  const parent = name.slice(0, end);
  return names.has(parent) || isStep(parent, names);
}

/** The sum of several runs. */
export function addCounts(runs: readonly TestCounts[]): TestCounts {
  const sum = (of: keyof TestCounts) => runs.reduce((total, counts) => total + counts[of], 0);
  return { passed: sum("passed"), failed: sum("failed"), skipped: sum("skipped") };
}

/** `12 passed, 0 failed`, and how many were skipped if any were. */
export function describeCounts({ passed, failed, skipped }: TestCounts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}
