import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/monitoring.md",
  sentence: "The line never contains an agent key, a token, a URL or an artifact's `key`.",
  tests: [
    {
      file: "tests/own_function/usage/log_test.ts",
      name: "requests of an agent, of a grant token, of the operator → log lines",
    },
    {
      file: "tests/own_function/links_test.ts",
      name: "requests for a link, good and bad → logged by the link's form",
    },
    {
      file: "tests/own_function/mcp_test.ts",
      name: "the log of a tool's call → one line",
    },
  ],
} satisfies KeptPromise;
