import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/fleets.md",
  sentence: "So one enrolment key does not reveal which names exist.",
  tests: [
    {
      file: "tests/database/enrolment/one_use_test.ts",
      name: "a one-use enrolment key and a name that somebody has →",
    },
    {
      file: "tests/database/enrolment/one_use_test.ts",
      name: "a used-up enrolment key → the same refusal",
    },
  ],
} satisfies KeptPromise;
