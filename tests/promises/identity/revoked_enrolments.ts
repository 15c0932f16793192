import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/fleets.md",
  sentence: "Revoking an enrolment ends every agent that enrolled with it.",
  tests: [
    {
      file: "tests/conformance/enrolment/keys_test.ts",
      name: "/enrolment/revoke → new enrolments and every key end",
    },
    {
      file: "tests/database/enrolment/revoke_races_test.ts",
      name: "32 machines that enrol, join and leave again",
    },
  ],
} satisfies KeptPromise;
