import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "README.md",
  sentence: "`agentfiles inbox` saves a file only after it has verified the bytes.",
  tests: [
    {
      file: "packages/cli/tests/commands/wrong_bytes_test.ts",
      name: "agentfiles get, get --force, inbox --download of a file whose bytes",
    },
  ],
} satisfies KeptPromise;
