import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/users.md",
  sentence: "From then on, all tokens of its users are refused, new tokens included.",
  tests: [
    {
      file: "tests/users/ended_access_test.ts",
      name: "remove_agent → its users are 401 everywhere",
    },
    {
      file: "tests/database/erasure/kept_out_test.ts",
      name: "a user whose agent is removed, then erased → 401",
    },
  ],
} satisfies KeptPromise;
