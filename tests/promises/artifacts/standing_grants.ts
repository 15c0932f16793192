import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/artifacts.md",
  sentence: "No commit after the first answer is granted.",
  tests: [
    {
      file: "tests/conformance/standing/standing_test.ts",
      name: "/standing/end → its grants end and commits are not granted",
    },
    {
      file: "tests/database/standing/races_test.ts",
      name: "a commit waits for /standing/end →",
    },
    {
      file: "tests/database/standing/races_test.ts",
      name: "/standing/end waits for a commit →",
    },
    {
      file: "tests/database/standing/limits_test.ts",
      name: "/standing/end of more than 500 grants →",
    },
  ],
} satisfies KeptPromise;
