import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/fleets.md",
  sentence:
    "The request goes to an address that was checked, even if the name leads elsewhere a moment later.",
  tests: [
    {
      file: "tests/unit/issuers/addresses_test.ts",
      name: "a name that leads inside a moment after it was checked",
    },
    {
      file: "tests/long/webhooks/addresses_test.ts",
      name: "an issuer that is asked for its keys",
    },
  ],
} satisfies KeptPromise;
