import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "SECURITY.md",
  sentence:
    "It cannot run commands on a host with `agentfiles mesh up`, and never sees a private key.",
  tests: [
    {
      file: "tests/mesh_up/trust/values_test.ts",
      name: "/wg_config with a value that is no data of its kind →",
    },
    {
      file: "packages/cli/tests/mesh_up/accept_test.ts",
      name: "${what} → refused, with a printable sentence",
    },
    {
      file: "tests/mesh_up/trust/private_key_test.ts",
      name: "an agent that registers, reports, gets another private key",
    },
  ],
} satisfies KeptPromise;
