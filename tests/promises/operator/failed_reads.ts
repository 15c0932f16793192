import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/architecture.md",
  sentence: "A read that fails is a 5xx, never a smaller map or a shorter configuration.",
  tests: [
    {
      file: "tests/faults/mesh_upstream_test.ts",
      name: "/netmap and /wg_config while the database fails → 503",
    },
    {
      file: "tests/unit/wireguard/mesh_configuration_test.ts",
      name: "one malformed value anywhere → MeshStateError",
    },
  ],
} satisfies KeptPromise;
