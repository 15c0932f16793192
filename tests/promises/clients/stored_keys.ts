import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/command-line.md",
  sentence: "A stored agent key is only ever sent to the address it was stored for.",
  tests: [
    {
      file: "packages/cli/tests/command_line_test.ts",
      name: "agentfiles login → a file of mode 600",
    },
    {
      file: "packages/agent-files/tests/faults_test.ts",
      name: "an address that answers with a redirect → refused",
    },
  ],
} satisfies KeptPromise;
