import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/dashboard.md",
  sentence:
    "Requests from other web pages are refused, and so are requests to host names other than `127.0.0.1` and `localhost`.",
  tests: [
    {
      file: "packages/operator/tests/dashboard/guard_test.ts",
      name: "a Host that somebody else has resolve to loopback → 421",
    },
    {
      file: "packages/operator/tests/dashboard/guard_test.ts",
      name: "a request from a page of another origin → 403",
    },
    {
      file: "tests/browser/dashboard_test.ts",
      name: "a page of another origin that knows the URL →",
    },
  ],
} satisfies KeptPromise;
