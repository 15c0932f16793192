import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/command-line.md",
  sentence:
    "**Unsafe tars:** nothing is extracted, and the exit code is 7, if an entry of a tar is a link or device, leads out of the folder, exists twice, is damaged, or has a name that means something else on this system.",
  tests: [
    {
      file: "packages/agent-files/tests/folders/hostile_test.ts",
      name: "a tar with ${what} (${platform}) → archive_refused",
    },
    {
      file: "packages/cli/tests/folders/folder_verbs_test.ts",
      name: "get of a stranger's tar → the tar; with --extract",
    },
  ],
} satisfies KeptPromise;
