import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/operating.md",
  sentence:
    "Whoever has only a copy of this table cannot test which names it has, because the key is in another table, `agents.name_secret`.",
  tests: [
    {
      file: "tests/database/erasure/kept_out_test.ts",
      name: "the record of erased names → no digest of a name",
    },
  ],
} satisfies KeptPromise;
