import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/fleets.md",
  sentence: "The agent gets only 401 `enrolment_refused`, so a stranger learns nothing.",
  tests: [
    {
      file: "tests/conformance/enrolment/wrong_tokens_test.ts",
      name: "every wrong token → refused by the same bytes",
    },
  ],
} satisfies KeptPromise;
