import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/dashboard.md",
  sentence: "The secret key stays in the process that serves the page. The browser never gets it.",
  tests: [
    {
      file: "packages/operator/tests/dashboard/guard_test.ts",
      name: "GET of the dashboard's paths → answered",
    },
  ],
} satisfies KeptPromise;
