import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "SECURITY.md",
  sentence: "The service hands out bytes only if they have the committed SHA-256.",
  tests: [
    {
      file: "tests/conformance/artifacts/commit_test.ts",
      name: "/commit with a wrong digest → 422",
    },
    {
      file: "tests/conformance/artifacts/commit_test.ts",
      name: "a PUT begun before the commit and finished after it →",
    },
    {
      file: "tests/own_function/commits/overtaken_commit_test.ts",
      name: "an upload replaced by one of the same size when /commit has begun → 422",
    },
    {
      file: "tests/own_function/commits/large_commit_test.ts",
      name: "PUT of another object between two calls of /commit →",
    },
  ],
} satisfies KeptPromise;
