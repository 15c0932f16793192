import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/mesh.md",
  sentence:
    "Requests to one agent are limited per sender, not in total, so no agent can keep others from sending requests.",
  tests: [
    {
      file: "tests/own_function/mesh/limits_test.ts",
      name: "/acl/put of more requests than allowed → 409",
    },
    {
      file: "tests/own_function/mesh/limits_test.ts",
      name: "/acl/put of more requests of one agent to another",
    },
  ],
} satisfies KeptPromise;
