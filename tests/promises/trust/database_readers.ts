import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "SECURITY.md",
  sentence:
    "**Whoever can read the database** sees metadata, rules, public keys, endpoints, events, hashes of agent keys and tokens, and encrypted PSKs. This is not enough to act as an agent or to read a PSK.",
  tests: [
    {
      file: "tests/database/tables/stored_secrets_test.ts",
      name: "agent keys, an enrolment key and grant tokens",
    },
    {
      file: "tests/own_function/mesh/psk_secrecy_test.ts",
      name: "a PSK → in the two /wg_config answers alone",
    },
    {
      file: "tests/unit/wireguard/psk_encryption_test.ts",
      name: "the same PSK encrypted twice →",
    },
  ],
} satisfies KeptPromise;
