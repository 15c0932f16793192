import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The project's migrations. */
export const MIGRATIONS_DIRECTORY = new URL("../../../supabase/migrations/", import.meta.url);

export interface MigrationFile {
  /** `<version>_<name>.sql`. */
  readonly file: string;
  readonly version: string;
  readonly name: string;
  readonly text: string;
}

// The same rule as the Supabase CLI's, which also skips other files.
const MIGRATION_FILE = /^([0-9]+)_(.*)\.sql$/;

/** The migrations of a directory, in the order in which they are applied. */
export async function readMigrationFiles(
  named: string | URL | null = null,
): Promise<MigrationFile[]> {
  const directory = named ?? MIGRATIONS_DIRECTORY;
  const path = directory instanceof URL ? fileURLToPath(directory) : directory;
  const files = (await readdir(path)).sort();
  return await Promise.all(files.flatMap((file) => {
    const [, version, name] = MIGRATION_FILE.exec(file) ?? [];
    if (version === undefined || name === undefined) return [];
    return [readFile(join(path, file), "utf8").then((text) => ({ file, version, name, text }))];
  }));
}

/** A migration as a database records it, and as `inspect_deployment` reports it. */
export interface MigrationRecord {
  readonly version: string;
  readonly name: string;
  /**
   * The MD5 of its text without white space and semicolons; null if the text was not recorded.
   * Equal for equal texts, whether a whole file was recorded or the statements into which the
   * Supabase CLI splits it.
   */
  readonly digest: string | null;
}

/** The record that applying a migration makes. */
export function recordOf({ version, name, text }: MigrationFile): MigrationRecord {
  return { version, name, digest: digestOf(text) };
}

/** Whether two records of one version may be of the same migration. An unknown text matches any. */
export function isSameMigration(one: MigrationRecord, other: MigrationRecord): boolean {
  return one.name === other.name &&
    (one.digest === other.digest || one.digest === null || other.digest === null);
}

function digestOf(text: string): string {
  return createHash("md5").update(text.replaceAll(/[ \t\r\n;]/g, "")).digest("hex");
}
