import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "SECURITY.md",
  sentence:
    "**Whoever holds a grant token,** or a link that contains it, has its access until the grant ends or is used up.",
  tests: [
    {
      file: "tests/conformance/artifacts/fetch_and_open_test.ts",
      name: "/fetch, /open after the grant's end → 410",
    },
    {
      file: "tests/conformance/links/following_test.ts",
      name: "GET and HEAD /d/<token> of what is unknown, expired, revoked",
    },
    {
      file: "tests/conformance/links/max_downloads_test.ts",
      name: "/fetch, /open by the grantee and /d of a grant",
    },
  ],
} satisfies KeptPromise;
