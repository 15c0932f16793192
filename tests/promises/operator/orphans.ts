import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/retention.md",
  sentence:
    "**The sweep deletes an orphan only after a whole round that began after the orphan was found, and that counted at most 5%.**",
  tests: [
    {
      file: "tests/database/sweep/guard_test.ts",
      name: "a restore in the middle of a round, at each of its calls →",
    },
    {
      file: "tests/database/sweep/guard_test.ts",
      name: "few orphans that a round has counted, then a restore",
    },
    {
      file: "tests/database/sweep/restore_test.ts",
      name: "orphans that are more than 5% of the bucket → held",
    },
  ],
} satisfies KeptPromise;
