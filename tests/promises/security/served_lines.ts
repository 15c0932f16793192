import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "SECURITY.md",
  sentence:
    "The reference agent never runs a line that a server sent, and its private key never leaves the host.",
  tests: [
    {
      file: "tests/mesh_agent/trust/untrusted_service_test.ts",
      name: "/wg_config with hooks and rules of somebody else →",
    },
    {
      file: "tests/mesh_agent/trust/untrusted_service_test.ts",
      name: "a configuration that was put there as it was served →",
    },
    {
      file: "tests/mesh_agent/trust/check_test.ts",
      name: "check of any mutation of a served configuration →",
    },
    {
      file: "tests/mesh_agent/trust/private_key_test.ts",
      name: "an agent that registers, reports, gets another private key",
    },
  ],
} satisfies KeptPromise;
