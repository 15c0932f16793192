import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/artifacts.md",
  sentence: "A request with a wrong credential is never served as if it had none.",
  tests: [
    {
      file: "tests/conformance/callers_test.ts",
      name: "/list with a wrong credential → 401",
    },
    {
      file: "tests/conformance/callers_test.ts",
      name: "every path with an unknown agent key → 401",
    },
    {
      file: "tests/users/refused_tokens_test.ts",
      name: "operations with tokens that are not a signed-in user's → 401",
    },
  ],
} satisfies KeptPromise;
