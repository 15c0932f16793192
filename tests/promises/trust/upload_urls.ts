import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "SECURITY.md",
  sentence: "Upload URLs last two hours, and cannot replace bytes that a commit has taken.",
  tests: [
    {
      file: "tests/conformance/artifacts/register_and_upload_test.ts",
      name: "/register → the pending artifact",
    },
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
