import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "SECURITY.md",
  sentence:
    "An OAuth client that the user signs in to gets its own token, which is refused unless `USER_OAUTH_CLIENT_IDS` lists the client.",
  tests: [
    {
      file: "tests/users/oauth_clients_test.ts",
      name: "the token of an OAuth client → 401",
    },
  ],
} satisfies KeptPromise;
