import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/operating.md",
  sentence: "No row has the pseudonym together with the name, or with the name's keyed hash.",
  tests: [
    {
      file: "tests/database/erasure/erase_agent_test.ts",
      name: "agent erase of an agent that is named everywhere →",
    },
    {
      file: "tests/database/erasure/kept_out_test.ts",
      name: "agent erase → no row has the pseudonym together with",
    },
    {
      file: "tests/database/tables/erasure_test.ts",
      name: "an agent that only one column names, for each column →",
    },
  ],
} satisfies KeptPromise;
