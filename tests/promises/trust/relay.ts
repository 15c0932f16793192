import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "SECURITY.md",
  sentence: "It can drop packets, but neither read nor change them.",
  tests: [
    {
      file: "packages/agent-peer/tests/wireguard/crypto_test.ts",
      name: "seal() → what OpenSSL's ChaCha20-Poly1305 makes",
    },
    {
      file: "packages/agent-peer/tests/wireguard/hostile_datagrams_test.ts",
      name: "a datagram that was changed anywhere →",
    },
    {
      file: "packages/agent-peer/tests/wireguard/session_test.ts",
      name: "a datagram that is sent again → delivered once",
    },
  ],
} satisfies KeptPromise;
