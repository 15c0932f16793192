import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/policy.md",
  sentence:
    "A policy never changes the agents' own agreements: they stay when the policy no longer has the rule. An empty policy ends the policy's own rules and nothing else.",
  tests: [
    {
      file: "tests/database/policy/policy_test.ts",
      name: "an empty policy → ends the rules of the policy",
    },
    {
      file: "tests/database/policy/agents_test.ts",
      name: "/peer/remove → the agents' own rules go, the policy's stay",
    },
  ],
} satisfies KeptPromise;
