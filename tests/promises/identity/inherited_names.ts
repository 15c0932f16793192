import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/fleets.md",
  sentence: "It inherits nothing in either case.",
  tests: [
    {
      file: "tests/database/enrolment/later_cuts_test.ts",
      name: "after ${days} days and a whole sweep → every cut still cuts",
    },
    {
      file: "tests/users/take_over_test.ts",
      name: "take_over_agent of a stranger's finance",
    },
  ],
} satisfies KeptPromise;
