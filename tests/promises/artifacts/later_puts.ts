import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/artifacts.md",
  sentence:
    "A later PUT to that URL, or one that is still running, does not change what others download.",
  tests: [
    {
      file: "tests/conformance/artifacts/commit_test.ts",
      name: "a PUT begun after the commit →",
    },
    {
      file: "tests/conformance/artifacts/commit_test.ts",
      name: "a PUT begun before the commit and finished after it →",
    },
  ],
} satisfies KeptPromise;
