import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "SECURITY.md",
  sentence: "Every request body gets an answer that the contract describes.",
  tests: [
    {
      file: "tests/mutations/mutations_test.ts",
      name: "${MUTANTS} mutations of valid requests",
    },
    {
      file: "tests/mutations/hosted_test.ts",
      name: "${MUTANTS} mutations of valid requests under the Deno that hosted projects run",
    },
    {
      file: "tests/conformance/conventions_test.ts",
      name: "/register with a body that is not a JSON object → 400",
    },
    {
      file: "tests/unit/functions/described_answers_test.ts",
      name: "assertDescribed() of ${what} → fails",
    },
  ],
} satisfies KeptPromise;
