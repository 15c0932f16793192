import type { KeptPromise } from "../kept_promise.ts";

export default {
  page: "docs/command-line.md",
  sentence:
    "**Names:** a file's name (`key`) cannot lead out of the folder, and symbolic links below `DIR` are not followed.",
  tests: [
    {
      file: "packages/cli/tests/inbox/download_folder_test.ts",
      name: "inbox --download of ${JSON.stringify(key.slice(0, 30))} from",
    },
    {
      file: "packages/cli/tests/inbox/links_test.ts",
      name: "inbox --download of a key with a link on its way →",
    },
    {
      file: "packages/cli/tests/inbox/links_test.ts",
      name: "inbox --download while the agent's folder becomes a link",
    },
  ],
} satisfies KeptPromise;
