import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/retention.md",
  sentence:
    "**Only the sweep and an erasure can change the log.** `truncate` is always refused, even for the table's owner.",
  tests: [
    {
      file: "tests/database/schema/privileges_test.ts",
      name: "the event log refuses to be changed, by its owner",
    },
    {
      file: "tests/database/events/retention_test.ts",
      name: "the log → its owner, service_role and the superuser cannot delete",
    },
    {
      file: "tests/database/erasure/erase_agent_test.ts",
      name: "updates of the log that are no erasure",
    },
  ],
} satisfies KeptPromise;
