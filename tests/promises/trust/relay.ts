import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "SECURITY.md",
  sentence: "It can drop packets, but neither read nor change them.",
  tests: [
    {
      file: "tests/unit/tunnel/crypto_test.ts",
      name: "seal() → what OpenSSL's ChaCha20-Poly1305 makes",
    },
    {
      file: "tests/unit/tunnel/hostile_datagrams_test.ts",
      name: "a datagram that was changed anywhere →",
    },
    {
      file: "tests/unit/tunnel/session_test.ts",
      name: "a datagram that is sent again → delivered once",
    },
  ],
} satisfies KeptPromise;
