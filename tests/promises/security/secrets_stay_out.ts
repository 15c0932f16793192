import type { KeptPromise } from "../kept_promise.ts";

// After each run, `dev/checks/test.ts` searches the stack's logs with findSecretsInLogs(), and
// fails if it finds any.
export default {
  page: "SECURITY.md",
  sentence:
    "No agent key, user token, grant token, PSK, secret key, relay credential or signed URL appears in a log, in an error, or in an answer to somebody else.",
  tests: [
    {
      file: "tests/unit/functions/app_test.ts",
      name: "a handler that throws an unexpected error → 500 internal that tells nothing",
    },
    {
      file: "tests/own_function/usage/log_test.ts",
      name: "requests of an agent, of a grant token, of the operator → log lines",
    },
    {
      file: "tests/own_function/mesh/psk_secrecy_test.ts",
      name: "a PSK → in the two /wg_config answers alone",
    },
    {
      file: "tests/unit/log_secrets_test.ts",
      name: "findSecretsInLogs() of a log with",
    },
  ],
} satisfies KeptPromise;
