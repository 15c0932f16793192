import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/command-line.md",
  sentence:
    "The command never changes an existing file: if the bytes are the same, nothing is written; if they differ, the download gets another name.",
  tests: [
    {
      file: "packages/cli/tests/command_line_test.ts",
      name: "agentfiles put, inbox --download, again →",
    },
    {
      file: "packages/cli/tests/inbox/download_folder_test.ts",
      name: "inbox --download where ${isTakenBy} have every name",
    },
  ],
} satisfies KeptPromise;
