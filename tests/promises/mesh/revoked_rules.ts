import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/mesh.md",
  sentence: "Once the hosts apply the change, no traffic passes, not even on open connections.",
  tests: [
    {
      file: "tests/conformance/mesh/acl_test.ts",
      name: "/acl/revoke by ${revoker} → the rule is gone for both sides",
    },
    {
      file: "tests/mesh_up/tunnel/changes_test.ts",
      name: "/acl/revoke → an open TCP connection stops",
    },
    {
      file: "tests/mesh_up/tunnel/revoked_flow_test.ts",
      name: "a peer resets a connection that was revoked",
    },
    {
      file: "tests/sandbox/kernel_host_test.ts",
      name: "a rule that the ${who} revokes → its open connection is reset",
    },
  ],
} satisfies KeptPromise;
