import assert from "node:assert/strict";
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../../packages/local/project.ts";
import { findReleaseMistakes, readReleases, recordRelease } from "../../../dev/schema/releases.ts";
import {
  RELEASE_MIGRATION,
  renderMigration,
  squashMigrations,
} from "../../../dev/schema/squash.ts";

const MIGRATIONS = join("supabase", "migrations");
const NEWER = "20991231235959_newer.sql";

/** A temporary project with this schema, before its first release. */
async function openProject() {
  const path = await Deno.makeTempDir({ prefix: "agent-mesh-releases-" });
  for (const name of ["config.toml", "schemas"]) {
    await cp(join(PROJECT, "supabase", name), join(path, "supabase", name), { recursive: true });
  }
  await mkdir(join(path, MIGRATIONS));
  await writeFile(join(path, MIGRATIONS, RELEASE_MIGRATION), "create schema agents;");
  await writeFile(join(path, "supabase", "releases.json"), "[]\n");
  return {
    path,
    migration: (file: string) => join(path, MIGRATIONS, file),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true }),
  };
}

/** The text of every file below a folder. */
async function readAll(folder: string): Promise<Record<string, string>> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  return Object.fromEntries(
    await Promise.all(
      files.filter((file) => file.isFile()).map(async (file) => {
        const path = join(file.parentPath, file.name);
        return [path, await readFile(path, "utf8")];
      }),
    ),
  );
}

Deno.test("the migrations of this tree → those that were released are unchanged; before the first release, what schema:squash writes", async () => {
  assert.deepEqual(await findReleaseMistakes(), []);
  if ((await readReleases()).length > 0) return;
  const directory = join(PROJECT, MIGRATIONS);
  const files = (await readdir(directory)).filter((file) => file.endsWith(".sql"));
  assert.deepEqual(files, [RELEASE_MIGRATION]);
  const text = await readFile(join(directory, RELEASE_MIGRATION), "utf8");
  assert.ok(text === await renderMigration(PROJECT), "run `deno task schema:squash`");
});

Deno.test("squashMigrations() before the first release → one file in place of all migrations", async () => {
  await using project = await openProject();
  await rename(project.migration(RELEASE_MIGRATION), project.migration("20260101000000_first.sql"));
  await writeFile(project.migration(NEWER), "select 1;");
  await squashMigrations(project.path);
  assert.deepEqual(await readdir(join(project.path, MIGRATIONS)), [RELEASE_MIGRATION]);
  const text = await readFile(project.migration(RELEASE_MIGRATION), "utf8");
  assert.match(text, /^-- Written by `deno task schema:squash` from supabase\/schemas\//);
  assert.ok(text.indexOf("create schema agents;") < text.indexOf("grant usage on schema agents"));
});

Deno.test("squashMigrations() after a release → refused, nothing changed, in a folder without git", async () => {
  await using project = await openProject();
  await recordRelease(project.path, "1.0.0");
  await writeFile(project.migration(NEWER), "select 1;");
  const before = await readAll(project.path);
  await assert.rejects(squashMigrations(project.path), {
    name: "CommandError",
    message: /^1\.0\.0 is released, and databases have applied its migrations: write a new /,
  });
  assert.deepEqual(await readAll(project.path), before);
});

Deno.test("recordRelease() twice → each release has the migrations that it added", async () => {
  await using project = await openProject();
  assert.deepEqual(await recordRelease(project.path, "1.0.0"), [RELEASE_MIGRATION]);
  await writeFile(project.migration(NEWER), "select 1;");
  assert.deepEqual(await recordRelease(project.path, "1.1.0"), [NEWER]);
  assert.deepEqual(await recordRelease(project.path, "1.1.1"), []);
  const releases = await readReleases(project.path);
  assert.deepEqual(
    releases.map(({ version, migrations }) => [version, Object.keys(migrations)]),
    [["1.0.0", [RELEASE_MIGRATION]], ["1.1.0", [NEWER]], ["1.1.1", []]],
  );
  // The digest that `sha256sum` prints for the file.
  assert.equal(
    releases[1]!.migrations[NEWER],
    "354b7196c9ba5fb4b21cf615bb6ec4cd5c07503c34229feef033fc081a8c03f4",
  );
  assert.deepEqual(await findReleaseMistakes(project.path), []);
});

for (
  const [version, message] of [
    ["unreleased", /^The version is still `unreleased`: /],
    ["1.0.0", /^1\.0\.0 is already recorded /],
  ] as const
) {
  Deno.test(`recordRelease() of ${version} after 1.0.0 → refused, nothing changed`, async () => {
    await using project = await openProject();
    await recordRelease(project.path, "1.0.0");
    const before = await readAll(project.path);
    await assert.rejects(recordRelease(project.path, version), { name: "CommandError", message });
    assert.deepEqual(await readAll(project.path), before);
  });
}

for (
  const [change, make, mistake] of [
    [
      "changed",
      (file: string) => writeFile(file, "\n", { flag: "a" }),
      /^20261121120000_release\.sql was released and has been changed: restore it, /,
    ],
    [
      "removed",
      (file: string) => rm(file),
      /^20261121120000_release\.sql was released and is gone: restore it\.$/,
    ],
    [
      "preceded by a new one",
      (file: string) => writeFile(join(file, "..", "20200101000000_older.sql"), ""),
      /^20200101000000_older\.sql is not released, and older than 20261121120000_release\.sql: /,
    ],
  ] as const
) {
  Deno.test(`findReleaseMistakes() with a released migration ${change} → says so; no release can be recorded`, async () => {
    await using project = await openProject();
    await recordRelease(project.path, "1.0.0");
    await make(project.migration(RELEASE_MIGRATION));
    const mistakes = await findReleaseMistakes(project.path);
    assert.equal(mistakes.length, 1);
    assert.match(mistakes[0]!, mistake);
    const before = await readAll(project.path);
    await assert.rejects(recordRelease(project.path, "1.1.0"), { message: mistake });
    assert.deepEqual(await readAll(project.path), before);
  });
}
