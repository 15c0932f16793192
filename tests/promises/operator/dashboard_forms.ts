import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/dashboard.md",
  sentence:
    "A form is accepted only from a page of the dashboard itself, and only with the token that was made for this form.",
  tests: [
    {
      file: "packages/operator/tests/dashboard/acting_test.ts",
      name: "every action, without a token, with that of another form",
    },
    {
      file: "packages/operator/tests/dashboard/acting_test.ts",
      name: "every action with the token of its form → done; the same form again",
    },
  ],
} satisfies KeptPromise;
