import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/fleets.md",
  sentence:
    "The issuer's public keys are fetched from its address: only by https, never from a private address, without redirects, at most 256 KiB within 5 seconds, and at most 100.",
  tests: [
    {
      file: "tests/unit/issuers/addresses_test.ts",
      name: "an issuer's address → https, a public DNS name",
    },
    {
      file: "tests/unit/issuers/addresses_test.ts",
      name: "a name whose addresses are of the internet →",
    },
    {
      file: "tests/unit/issuers/hostile_answers_test.ts",
      name: "each redirect, also to the same server",
    },
    {
      file: "tests/unit/issuers/hostile_answers_test.ts",
      name: "keys of 256 KiB → read",
    },
  ],
} satisfies KeptPromise;
