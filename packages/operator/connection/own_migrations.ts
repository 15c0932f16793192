import {
  type MigrationRecord,
  readMigrationFiles,
  recordOf,
} from "../../local/postgres/migration_files.ts";

/** The migrations of this release. `dev/release/` puts them into the released program. */
export async function readOwnMigrations(): Promise<readonly MigrationRecord[]> {
  return (await readMigrationFiles()).map(recordOf);
}
