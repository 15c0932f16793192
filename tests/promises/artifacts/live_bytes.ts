import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/artifacts.md",
  sentence: "**Nothing stays forever, and nothing live is deleted.**",
  tests: [
    {
      file: "tests/database/sweep/rules_test.ts",
      name: "a sweep deletes what has expired, and nothing that an agent may still use",
    },
    {
      file: "tests/database/sweep/sweep_test.ts",
      name: "/sweep in parallel, one killed half-way →",
    },
    {
      file: "tests/long/racing_sweep_test.ts",
      name: "/sweep, /commit, /delete, /open at once",
    },
  ],
} satisfies KeptPromise;
