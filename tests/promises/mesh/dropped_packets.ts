import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/mesh.md",
  sentence:
    "All other packets that arrive through the tunnel are dropped, including packets to a network behind the host or to a published container port.",
  tests: [
    {
      file: "tests/wireguard/rules_test.ts",
      name: "rules alice → bob tcp 443 and bob → carol tcp 444 →",
    },
    {
      file: "tests/wireguard/forwarding_test.ts",
      name: "a peer with wider AllowedIPs → reaches neither",
    },
  ],
} satisfies KeptPromise;
