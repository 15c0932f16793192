import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CommandError } from "../../packages/command/command_error.ts";
import { PROJECT } from "../../packages/local/project.ts";
import {
  type MigrationFile,
  readMigrationFiles,
} from "../../packages/local/postgres/migration_files.ts";

/** A release, and the migrations that it added. */
export interface Release {
  /** As in CHANGELOG.md. The tag is this version with a leading `v`. */
  readonly version: string;
  /**
   * The SHA-256 of each migration file, by file name: no byte may change. `MigrationRecord` digests
   * would not do, because they omit what the Supabase CLI does not record.
   */
  readonly migrations: Readonly<Record<string, string>>;
}

/** All releases, oldest first. They are in a file instead of tags, so that every clone has them. */
export async function readReleases(project: string = PROJECT): Promise<Release[]> {
  return JSON.parse(await readFile(releasesFile(project), "utf8"));
}

/**
 * Records a release. From then on, nobody may change its migrations. Returns the file names of the
 * migrations that the release adds. Throws CommandError.
 */
export async function recordRelease(project: string, version: string): Promise<string[]> {
  if (version === "unreleased") {
    throw new CommandError(
      "The version is still `unreleased`: set it in supabase/functions/_shared/request/version.ts first.",
    );
  }
  const [mistake] = await findReleaseMistakes(project);
  if (mistake !== undefined) throw new CommandError(mistake);
  const releases = await readReleases(project);
  if (releases.some((release) => release.version === version)) {
    throw new CommandError(`${version} is already recorded in supabase/releases.json.`);
  }
  const released = digestsOf(releases);
  const added = (await readMigrations(project)).filter(({ file }) => !released.has(file));
  const migrations = Object.fromEntries(added.map(({ file, text }) => [file, sha256(text)]));
  const recorded = JSON.stringify([...releases, { version, migrations }], null, 2);
  await writeFile(releasesFile(project), `${recorded}\n`);
  return added.map(({ file }) => file);
}

/**
 * Violations of the rules for released migrations: one sentence for each that is missing or was
 * changed, and for each new one that would have to be applied before them. Empty if there are none.
 */
export async function findReleaseMistakes(project: string = PROJECT): Promise<string[]> {
  const released = digestsOf(await readReleases(project));
  const migrations = await readMigrations(project);
  const newest = [...released.keys()].sort().at(-1);
  const present = new Map(migrations.map(({ file, text }) => [file, sha256(text)]));
  return [
    ...[...released].flatMap(([file, digest]) => {
      const now = present.get(file);
      if (now === digest) return [];
      return [
        now === undefined
          ? `${file} was released and is gone: restore it.`
          : `${file} was released and has been changed: restore it, and write a new migration.`,
      ];
    }),
    ...migrations.flatMap(({ file }) =>
      newest === undefined || released.has(file) || file > newest
        ? []
        : [`${file} is not released, and older than ${newest}: give it a later version.`]
    ),
  ];
}

function digestsOf(releases: readonly Release[]): Map<string, string> {
  return new Map(releases.flatMap(({ migrations }) => Object.entries(migrations)));
}

function readMigrations(project: string): Promise<MigrationFile[]> {
  return readMigrationFiles(join(project, "supabase", "migrations"));
}

function releasesFile(project: string): string {
  return join(project, "supabase", "releases.json");
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
