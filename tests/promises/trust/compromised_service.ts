import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "SECURITY.md",
  sentence:
    "It cannot run commands on a host of the reference agent, and never sees a private key.",
  tests: [
    {
      file: "tests/mesh_agent/trust/untrusted_service_test.ts",
      name: "/wg_config with hooks and rules of somebody else →",
    },
    {
      file: "tests/mesh_agent/trust/check_test.ts",
      name: "check of a hostile line before",
    },
    {
      file: "tests/mesh_agent/trust/private_key_test.ts",
      name: "an agent that registers, reports, gets another private key",
    },
  ],
} satisfies KeptPromise;
