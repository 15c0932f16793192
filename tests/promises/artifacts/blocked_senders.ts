import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/artifacts.md",
  sentence:
    "`/inbox/block` hides the grants of `from_agent`: they do not appear in the inbox or in the events, and do not end a wait.",
  tests: [
    {
      file: "tests/conformance/changes/inbox_position_test.ts",
      name: "/inbox/block → the sender's grants do not show",
    },
    {
      file: "tests/conformance/changes/artifact_events_test.ts",
      name: "/events of an agent that has blocked a sender →",
    },
    {
      file: "tests/conformance/changes/waiting_test.ts",
      name: "/inbox with wait_seconds, when nothing comes",
    },
  ],
} satisfies KeptPromise;
