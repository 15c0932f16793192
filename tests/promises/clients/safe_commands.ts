import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/mcp.md",
  sentence:
    "**A command is safe to run as it is.** It saves the file under a name that the reading agent chose, or under the artifact's id, but never under a name that another agent chose. It fails if the bytes do not match the SHA-256.",
  tests: [
    {
      file: "tests/conformance/mcp/put_and_get_test.ts",
      name: "get → a resource link, and a command that downloads and verifies",
    },
    {
      file: "tests/unit/mcp_commands_test.ts",
      name: "commands with hostile file names and URLs →",
    },
  ],
} satisfies KeptPromise;
