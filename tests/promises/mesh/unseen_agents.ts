import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/mesh.md",
  sentence: "The two agents do not see each other, and no traffic passes.",
  tests: [
    {
      file: "tests/conformance/mesh/netmap_test.ts",
      name: "/netmap → the agent and the peers that share an active rule",
    },
    {
      file: "tests/wireguard/rules_test.ts",
      name: "rules alice → bob tcp 443 and bob → carol tcp 444 →",
    },
  ],
} satisfies KeptPromise;
