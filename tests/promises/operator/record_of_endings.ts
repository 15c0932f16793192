import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/backup.md",
  sentence:
    "It contains names of agents and files, and the policy's text, but no key and no token.",
  tests: [
    {
      file: "tests/database/tables/stored_secrets_test.ts",
      name: "agent keys, an enrolment key and grant tokens",
    },
    {
      file: "tests/own_function/mesh/psk_secrecy_test.ts",
      name: "a PSK → in the two /wg_config answers alone",
    },
  ],
} satisfies KeptPromise;
