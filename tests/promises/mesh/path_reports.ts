import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/mesh.md",
  sentence: "Third agents do not see what a neighbour reports about an agent.",
  tests: [
    {
      file: "tests/conformance/mesh/paths_test.ts",
      name: "what a neighbour sees of a third agent →",
    },
    {
      file: "tests/conformance/mesh/paths_test.ts",
      name: "paths of agents without an active rule → left out",
    },
  ],
} satisfies KeptPromise;
