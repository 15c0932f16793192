import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/artifacts.md",
  sentence:
    "After a wrong size or digest, the artifact is as it was after `/register`, the wrong bytes are deleted, and the same upload URL accepts a new PUT until it expires.",
  tests: [
    {
      file: "tests/conformance/artifacts/commit_test.ts",
      name: "/commit of bytes of a wrong size → 422",
    },
    {
      file: "tests/conformance/artifacts/commit_test.ts",
      name: "/commit with a wrong digest → 422",
    },
    {
      file: "tests/own_function/commits/large_commit_test.ts",
      name: "/commit over several calls with a wrong digest → 422",
    },
  ],
} satisfies KeptPromise;
