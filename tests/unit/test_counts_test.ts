import assert from "node:assert/strict";
import {
  addCounts,
  countTests,
  describeCounts,
  type TestCounts,
} from "../../dev/checks/units/test_counts.ts";

/** A report as `deno test --junit-path` writes it; each argument is one file's test cases. */
function report(...files: string[]): string {
  const suites = files.map((cases, index) =>
    `<testsuite name="./tests/${"abc"[index]}_test.ts" tests="1">${cases}</testsuite>`
  );
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="deno test" tests="1">${suites.join("\n")}</testsuites>`;
}

function testCase(name: string, inside = "\n        "): string {
  return `<testcase name="${name}" classname="./a_test.ts" time="0.1" line="2">${inside}</testcase>`;
}

/** What countTests() says of all files together. */
function wholeOf(text: string): TestCounts {
  const { passed, failed, skipped } = countTests(text);
  return { passed, failed, skipped };
}

const FAILURE = '<failure message="Uncaught Error: a &lt;skipped/&gt; b">Error: x</failure>';

Deno.test("countTests() of one that passes, one that fails, one that is skipped → one of each", () => {
  const cases = [
    testCase("passes"),
    testCase("fails", FAILURE),
    testCase("cannot load", '<error message="x"/>'),
    testCase("is left out", "\n<skipped/>\n"),
  ];
  assert.deepEqual(wholeOf(report(cases.join("\n"))), { passed: 1, failed: 2, skipped: 1 });
});

Deno.test("countTests() of a failed test with a failed step of a step → one failed", () => {
  const cases = [
    testCase("test", FAILURE),
    testCase("test &gt; step", FAILURE),
    testCase("test &gt; step &gt; inner step", FAILURE),
    testCase("test &gt; step with a &gt; in it"),
  ];
  assert.deepEqual(wholeOf(report(cases.join("\n"))), { passed: 0, failed: 1, skipped: 0 });
});

Deno.test("countTests() of names with &gt;, quotes and a tag → tests of their own", () => {
  const cases = [
    testCase("a &gt; b"),
    testCase("c"),
    testCase("&quot;c&quot; &gt; &apos;d&apos;"),
    testCase("c&gt;d &amp;gt; &lt;failure&gt;&lt;/testcase&gt;"),
    "<testcase name='a \"quoted\" name'/>",
  ];
  assert.deepEqual(wholeOf(report(cases.join("\n"))), { passed: 5, failed: 0, skipped: 0 });
});

Deno.test("countTests() of a test named like a step of another file's test → a test", () => {
  const text = report(testCase("a"), testCase("a &gt; b"), "");
  assert.deepEqual(wholeOf(text), { passed: 2, failed: 0, skipped: 0 });
});

Deno.test("countTests() of a failure that prints a million escaped characters → one failed", () => {
  const text = report(testCase("a", `<failure>${"&lt;&amp;".repeat(500_000)}</failure>`));
  assert.deepEqual(wholeOf(text), { passed: 0, failed: 1, skipped: 0 });
});

for (const [name, text] of [["no test", report()], ["no text", ""]] as const) {
  Deno.test(`countTests() of ${name} → nothing`, () => {
    assert.deepEqual(wholeOf(text), { passed: 0, failed: 0, skipped: 0 });
  });
}

Deno.test("addCounts() and describeCounts() → the sum, with what was skipped if anything was", () => {
  const one = { passed: 1, failed: 2, skipped: 0 };
  assert.equal(describeCounts(one), "1 passed, 2 failed");
  assert.equal(
    describeCounts(addCounts([one, { passed: 10, failed: 0, skipped: 3 }])),
    "11 passed, 2 failed, 3 skipped",
  );
});

Deno.test("countTests() of three files, two of them with failures → these two, and their counts alone", () => {
  const broken = [testCase("fails", FAILURE), testCase("passes")].join("\n");
  const text = report(broken, testCase("passes"), testCase("cannot load", '<error message="x"/>'));
  const { failedFiles, inFailedFiles } = countTests(text);
  assert.deepEqual(failedFiles, ["tests/a_test.ts", "tests/c_test.ts"]);
  assert.deepEqual(inFailedFiles, { passed: 1, failed: 2, skipped: 0 });
});
