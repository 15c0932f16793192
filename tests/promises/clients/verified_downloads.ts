import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/command-line.md",
  sentence:
    "**`get`** writes to a temporary file beside the target, and renames it once all bytes are verified.",
  tests: [
    {
      file: "packages/cli/tests/commands/wrong_bytes_test.ts",
      name: "agentfiles get, get --force, inbox --download of a file whose bytes",
    },
    {
      file: "packages/cli/tests/command_line_test.ts",
      name: "agentfiles get of a file that is there → refused",
    },
  ],
} satisfies KeptPromise;
