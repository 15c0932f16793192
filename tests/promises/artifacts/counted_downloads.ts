import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/artifacts.md",
  sentence:
    "`/fetch`, `/d` and the agent's `/open` together give that many download URLs, even if many requests come at the same time.",
  tests: [
    {
      file: "tests/conformance/links/max_downloads_test.ts",
      name: "/fetch, /open by the grantee and /d of a grant",
    },
    {
      file: "tests/database/downloads/tag_races_test.ts",
      name: "${AT_ONCE} of /open by ${AGENTS} agents of a tag",
    },
  ],
} satisfies KeptPromise;
