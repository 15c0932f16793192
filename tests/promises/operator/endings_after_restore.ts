import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/backup.md",
  sentence:
    "Removed and erased agents are removed and erased again, and the same for agent keys, enrolments, grants, files, rules and peers.",
  tests: [
    {
      file: "tests/long/restore/endings_test.ts",
      name: "after-restore --record of everything that can end →",
    },
  ],
} satisfies KeptPromise;
