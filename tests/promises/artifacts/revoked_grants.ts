import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/artifacts.md",
  sentence: "A request that begins after `/revoke` has answered is refused.",
  tests: [
    {
      file: "tests/conformance/artifacts/grant_and_revoke_test.ts",
      name: "/revoke with the request of /grant →",
    },
    {
      file: "tests/conformance/artifacts/grant_and_revoke_test.ts",
      name: "/revoke by grant_id →",
    },
    {
      file: "tests/conformance/links/grants_without_agent_test.ts",
      name: "/revoke of a grant for anyone with the token →",
    },
  ],
} satisfies KeptPromise;
