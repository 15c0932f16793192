import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "SECURITY.md",
  sentence:
    "**Any other agent** learns nothing about an agent, except the names in that agent's requests and grants to it. It cannot find out whether an agent exists.",
  tests: [
    {
      file: "tests/conformance/mesh/netmap_test.ts",
      name: "/netmap → the agent and the peers that share an active rule",
    },
    {
      file: "tests/conformance/mesh/netmap_test.ts",
      name: "/netmap with a request → the other side's identifier",
    },
    {
      file: "tests/conformance/mesh/callers_test.ts",
      name: "every path about an agent that does not exist →",
    },
    {
      file: "tests/conformance/callers_test.ts",
      name: "/register, /list, /inbox in another agent's name → 403",
    },
  ],
} satisfies KeptPromise;
