import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/mcp.md",
  sentence:
    "A path that leads out of this folder is refused, whether by its text or through a symbolic link, even a link created while the file is being opened. The file that stores the agent key is refused, too.",
  tests: [
    {
      file: "packages/cli/tests/mcp/paths_test.ts",
      name: "a path that leads out by its text or by a link",
    },
    {
      file: "packages/cli/tests/mcp/paths_test.ts",
      name: "a folder that becomes a link out of the root while a file is looked for",
    },
    {
      file: "packages/cli/tests/mcp/paths_test.ts",
      name: "the file with the agent's key, in the folder",
    },
  ],
} satisfies KeptPromise;
