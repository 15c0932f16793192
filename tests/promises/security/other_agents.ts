import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "SECURITY.md",
  sentence:
    "An agent cannot read, change or end anything that belongs to another agent and was not granted to it.",
  tests: [
    {
      file: "tests/conformance/artifacts/fetch_and_open_test.ts",
      name: "/open by an agent without a live grant → 404",
    },
    {
      file: "tests/conformance/artifacts/delete_test.ts",
      name: "/delete by anybody but the owner and the operator → 404 or 401",
    },
    {
      file: "tests/conformance/mesh/callers_test.ts",
      name: "every path by a third agent → 403",
    },
    {
      file: "tests/users/operations_test.ts",
      name: "every operation on another agent's things by a user →",
    },
  ],
} satisfies KeptPromise;
