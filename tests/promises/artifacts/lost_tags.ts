import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/artifacts.md",
  sentence: "**Losing the tag:** the agent has no access from its next request on.",
  tests: [
    {
      file: "tests/conformance/tags/grants_test.ts",
      name: "an agent that gets the tag later →",
    },
    {
      file: "tests/database/downloads/tag_races_test.ts",
      name: "/open that begins while ${name} takes the tag away →",
    },
  ],
} satisfies KeptPromise;
