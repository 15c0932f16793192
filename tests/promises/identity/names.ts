import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/fleets.md",
  sentence: "Any other way in gets 409 `agent_name_taken`, and nothing changes.",
  tests: [
    {
      file: "tests/users/names_test.ts",
      name: "a name that way ${first} of four has taken → 409",
    },
    {
      file: "tests/users/names_test.ts",
      name: "four ways in for one name at the same time",
    },
  ],
} satisfies KeptPromise;
