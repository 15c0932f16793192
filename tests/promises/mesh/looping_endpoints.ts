import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/mesh.md",
  sentence:
    "So each host asks its kernel where an address leads, and never uses one that leads to the host itself or into the mesh.",
  tests: [
    {
      file: "tests/wireguard/names_test.ts",
      name: "peers' names that resolve to this host or into the mesh →",
    },
    {
      file: "tests/mesh_up/trust/untrusted_service_test.ts",
      name: "a peer's name that resolves to this host or into the mesh →",
    },
    {
      file: "packages/cli/tests/mesh_up/accept_test.ts",
      name: "endpoints that lead back to this host or into the mesh",
    },
  ],
} satisfies KeptPromise;
