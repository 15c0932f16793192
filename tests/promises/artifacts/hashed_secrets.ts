import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/artifacts.md",
  sentence: "**Agent keys and grant tokens are stored as hashes.**",
  tests: [
    {
      file: "tests/database/tables/stored_secrets_test.ts",
      name: "agent keys, an enrolment key and grant tokens",
    },
  ],
} satisfies KeptPromise;
