import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/mesh.md",
  sentence:
    "**Encryption keys** (`PSK_ENCRYPTION_KEYS`) are in the functions' secrets, and never in Postgres.",
  tests: [
    {
      file: "tests/own_function/mesh/psk_secrecy_test.ts",
      name: "a PSK → in the two /wg_config answers alone",
    },
    {
      file: "tests/unit/wireguard/psk_encryption_test.ts",
      name: "printing or serialising a PSK or an encryption key",
    },
  ],
} satisfies KeptPromise;
