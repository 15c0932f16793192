import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/backup.md",
  sentence:
    "**It raises every `config_version`** beyond any that was ever handed out: to the current time, in units of 10 microseconds.",
  tests: [
    {
      file: "tests/database/operator/after_restore_test.ts",
      name: "after_restore() → every config_version is beyond",
    },
    {
      file: "tests/database/operator/after_restore_test.ts",
      name: "after_restore() beside registrations and rules →",
    },
    {
      file: "tests/mesh_up/life/restored_service_test.ts",
      name: "the database is restored, and another rule gets",
    },
  ],
} satisfies KeptPromise;
