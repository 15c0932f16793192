import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "SECURITY.md",
  sentence:
    "Access ends when the call that revokes it has answered. There are two exceptions. Download URLs that were issued earlier work until they expire, by default after a minute. Credentials of a relay work for the rest of their hour, but only at the relay.",
  tests: [
    {
      file: "tests/conformance/artifacts/grant_and_revoke_test.ts",
      name: "/revoke with the request of /grant →",
    },
    {
      file: "tests/conformance/agent_keys_test.ts",
      name: "revoke_agent_key → that key is 401 at once",
    },
    {
      file: "tests/database/enrolment/revoke_races_test.ts",
      name: "32 machines that enrol, join and leave again",
    },
    {
      file: "tests/users/ended_access_test.ts",
      name: "remove_agent → its users are 401 everywhere",
    },
  ],
} satisfies KeptPromise;
