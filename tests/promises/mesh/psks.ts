import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/mesh.md",
  sentence:
    "They are unencrypted only in the answers of `/wg_config` to the two agents and to the operator.",
  tests: [
    {
      file: "tests/own_function/mesh/psk_secrecy_test.ts",
      name: "a PSK → in the two /wg_config answers alone",
    },
    {
      file: "tests/conformance/mesh/configuration/json_test.ts",
      name: "/wg_config with another format, of another agent",
    },
  ],
} satisfies KeptPromise;
