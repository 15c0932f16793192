import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/artifacts.md",
  sentence: "Grants of the first artifact still give the first bytes.",
  tests: [
    {
      file: "tests/conformance/artifacts/commit_test.ts",
      name: "/commit of a newer artifact under the key →",
    },
  ],
} satisfies KeptPromise;
