import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/sandbox.md",
  sentence: "**One peer cannot use up the process for the others.**",
  tests: [
    {
      file: "packages/agent-peer/tests/stack/shares_test.ts",
      name: "${name}, by ${count} of the neighbours → another one is served",
    },
    {
      file: "packages/agent-peer/tests/mesh/half_open_test.ts",
      name: "connections that a neighbour keeps half open",
    },
  ],
} satisfies KeptPromise;
