import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { filesOfHouses, PROJECT } from "./rooms.ts";

/** The files that read the environment, and what. Only one reads the local stack's settings. */
const READERS: Readonly<Record<string, string>> = {
  "packages/local/stack/options.ts": "the settings of the local stack, STATE_DIR among them",
  "packages/local/stack/functions.ts": "what Deno needs to start a function",
  "packages/local/stack/postgrest.ts": "PATH",
  "packages/local/processes/free_port.ts": "PORT_SHARE, of tests that run side by side",
  "packages/local/processes/process_table.ts": "all, for ps",
  "packages/operator/connection/connection.ts": "which project",
  "packages/operator/psk_reencrypt.ts": "PSK_ENCRYPTION_KEYS",
  "packages/operator/reads/named_file.ts": "INIT_CWD",
  "packages/operator/reads/settings.ts": "settings that a function does not tell",
  "dev/checks/conformance.ts": "which deployment",
  "dev/checks/side_by_side.ts": "SHARED_BUILDS, of suites that run one after the other",
  "dev/checks/conformance_run.ts": "all, for the tests",
  "dev/deploy/hosted_deno.ts": "DENO_TLS_CA_STORE",
  "dev/deploy/supabase_cli.ts": "PATH",
  "dev/mesh/apt_source.ts": "PATH",
  "dev/release/main.ts": "which repository",
};

Deno.test("the local stack, the operator's program and dev → the environment is read in the files that are listed, and nowhere else", async () => {
  const houses = /^(?:packages\/(?:local|operator)|dev)\//;
  const files = (await filesOfHouses()).filter((file) => houses.test(file));
  const texts = await Promise.all(
    files.filter((file) => file.endsWith(".ts"))
      .map(async (file) => [file, await readFile(join(PROJECT, file), "utf8")] as const),
  );
  const readers = texts.filter(([, text]) => /\bDeno\.env\b|\bprocess\.env\b/.test(text));
  assert.deepEqual(readers.map(([file]) => file).sort(), Object.keys(READERS).sort());
});
