import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "SECURITY.md",
  sentence:
    "`agentfiles mesh up` never runs a line that a server sent, and its private key never leaves the host.",
  tests: [
    {
      file: "tests/mesh_up/trust/values_test.ts",
      name: "/wg_config with a value that is no data of its kind →",
    },
    {
      file: "packages/cli/tests/mesh_up/accept_test.ts",
      name: "any configuration that the service renders → accepted; the firewall has the rules",
    },
    {
      file: "packages/cli/tests/mesh_up/accept_test.ts",
      name: "a field that this agent does not know → ignored",
    },
    {
      file: "tests/mesh_up/trust/private_key_test.ts",
      name: "an agent that registers, reports, gets another private key",
    },
  ],
} satisfies KeptPromise;
