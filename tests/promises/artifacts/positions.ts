import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/artifacts.md",
  sentence: "If you send it as `after` in the next request, you get everything that is new, once.",
  tests: [
    {
      file: "tests/conformance/changes/inbox_position_test.ts",
      name: "/inbox with the latest of an earlier answer as after →",
    },
    {
      file: "tests/database/changes/inbox_position_test.ts",
      name: "/inbox with after, when a grant is committed after one",
    },
    {
      file: "tests/database/changes/feeds_test.ts",
      name: "events of transactions that commit in another order",
    },
  ],
} satisfies KeptPromise;
