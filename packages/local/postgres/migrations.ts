import postgres from "postgres";
import { CommandError, reasonOf } from "../../command/command_error.ts";
import {
  isSameMigration,
  type MigrationFile,
  type MigrationRecord,
  readMigrationFiles,
  recordOf,
} from "./migration_files.ts";

export interface MigrationOptions {
  /** For the role that migrates a hosted project: `postgres`. */
  readonly databaseUrl: string;
  /** Default: the project's own migrations. */
  readonly directory?: string | URL | null;
}

/**
 * Applies every migration that the database has no record of, in order, and returns their file
 * names. Each runs in one transaction with its record, so a migration that fails leaves nothing
 * behind. Throws CommandError.
 */
export async function applyMigrations(options: MigrationOptions): Promise<string[]> {
  const migrations = await readMigrationFiles(options.directory);
  const sql = postgres(options.databaseUrl, { max: 1, onnotice: () => {} });
  const applied: string[] = [];
  try {
    await createRecords(sql);
    const records = await sql`select version from supabase_migrations.schema_migrations`;
    const known = new Set(records.map((record) => record["version"]));
    for (const migration of migrations) {
      if (known.has(migration.version)) continue;
      // A migration's `set` must not affect the next one.
      await sql`reset all`;
      await applyMigration(sql, migration);
      applied.push(migration.file);
    }
    if (applied.length > 0) await sql`notify pgrst, 'reload schema'`;
  } finally {
    await sql.end();
  }
  return applied;
}

/**
 * The first migration that was applied to the database and that the directory lacks, or has with
 * another name or text: `<version>_<name>`. Another schema made such a database, and no migration
 * leads from there to here. Null if there is no such migration. Changes nothing. The local stack's
 * database has no other migrations. A hosted project may have some, which the doctor ignores.
 */
export async function findForeignMigration(options: MigrationOptions): Promise<string | null> {
  const migrations = await readMigrationFiles(options.directory);
  const own = new Map(migrations.map((migration) => [migration.version, recordOf(migration)]));
  const sql = postgres(options.databaseUrl, { max: 1, onnotice: () => {} });
  try {
    const [table] = await sql<{ name: string | null }[]>`
      select to_regclass('supabase_migrations.schema_migrations')::text as name`;
    if (!table?.name) return null;
    const records = await sql<MigrationRecord[]>`
      select version, name, md5(translate(array_to_string(statements, ''), E' \\t\\r\\n;', '')) as digest
      from supabase_migrations.schema_migrations
      order by version collate "C"`;
    const foreign = records.find((record) => {
      const migration = own.get(record.version);
      return migration === undefined || !isSameMigration(record, migration);
    });
    return foreign === undefined ? null : `${foreign.version}_${foreign.name}`;
  } finally {
    await sql.end();
  }
}

/** Creates the Supabase CLI's own table, so that the CLI sees what was applied here. */
async function createRecords(sql: postgres.Sql): Promise<void> {
  await sql.begin(async (transaction) => {
    await transaction`create schema if not exists supabase_migrations`;
    await transaction`
      create table if not exists supabase_migrations.schema_migrations (
        version text primary key,
        statements text[],
        name text
      )`;
  });
}

async function applyMigration(
  sql: postgres.Sql,
  { file, version, name, text }: MigrationFile,
): Promise<void> {
  try {
    await sql.begin(async (transaction) => {
      await transaction.unsafe(text);
      await transaction`
        insert into supabase_migrations.schema_migrations (version, name, statements)
        values (${version}, ${name}, ${[text]})`;
    });
  } catch (cause) {
    throw new CommandError(`Migration ${file} failed: ${reasonOf(cause)}.`, { cause });
  }
}
