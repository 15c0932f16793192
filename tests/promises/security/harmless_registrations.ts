import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "SECURITY.md",
  sentence:
    "No registration can harm another agent's host: it cannot add a line to that host's configuration, keep the configuration from loading, or make the host send packets in a loop.",
  tests: [
    {
      file: "tests/wireguard/hostile_test.ts",
      name: "10,000 hostile registrations →",
    },
    {
      file: "tests/unit/wireguard/accepted_registrations_test.ts",
      name: "whatever /peer/register and /acl/put accept →",
    },
    {
      file: "tests/conformance/mesh/fields_test.ts",
      name: "/peer/register with an injection in any field → 422",
    },
    {
      file: "tests/wireguard/names_test.ts",
      name: "an endpoint inside the mesh → nothing is sent in a loop",
    },
  ],
} satisfies KeptPromise;
