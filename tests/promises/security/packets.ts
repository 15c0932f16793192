import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "SECURITY.md",
  sentence:
    "Once the receiving host has applied its newest configuration, no packet passes unless an active rule allows it.",
  tests: [
    {
      file: "tests/wireguard/rules_test.ts",
      name: "rules alice → bob tcp 443 and bob → carol tcp 444 →",
    },
    {
      file: "tests/wireguard/rules_test.ts",
      name: "/acl/put by one side → no packet passes",
    },
    {
      file: "tests/mesh_up/tunnel/changes_test.ts",
      name: "/acl/revoke → an open TCP connection stops",
    },
    {
      file: "tests/sandbox/kernel_host_test.ts",
      name: "a port scan of a sandbox by a visible host",
    },
  ],
} satisfies KeptPromise;
