import postgres from "postgres";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { CommandError, reasonOf } from "../command/command_error.ts";

/** The project's migrations. */
export const MIGRATIONS_DIRECTORY = new URL("../../supabase/migrations/", import.meta.url);

export interface MigrationOptions {
  /** As the role that migrates a hosted project: `postgres`. */
  readonly databaseUrl: string;
  readonly directory?: string | URL;
}

interface Migration {
  readonly file: string;
  readonly version: string;
  readonly name: string;
}

// The same rule as the Supabase CLI's; it passes over other files too.
const MIGRATION_FILE = /^([0-9]+)_(.*)\.sql$/;

/**
 * Applies every migration that the database has no record of, in order, each in one transaction
 * with its record, and returns their file names. A migration that fails leaves nothing behind.
 * Throws CommandError.
 */
export async function applyMigrations(options: MigrationOptions): Promise<string[]> {
  const directory = pathOf(options.directory ?? MIGRATIONS_DIRECTORY);
  const migrations = await listMigrations(directory);
  const sql = postgres(options.databaseUrl, { max: 1, onnotice: () => {} });
  const applied: string[] = [];
  try {
    await createRecords(sql);
    const records = await sql`select version from supabase_migrations.schema_migrations`;
    const known = new Set(records.map((record) => record["version"]));
    for (const migration of migrations) {
      if (known.has(migration.version)) continue;
      // One migration's `set` is not the next one's.
      await sql`reset all`;
      await applyMigration(sql, { migration, directory });
      applied.push(migration.file);
    }
    if (applied.length > 0) await sql`notify pgrst, 'reload schema'`;
  } finally {
    await sql.end();
  }
  return applied;
}

async function listMigrations(directory: string): Promise<Migration[]> {
  const migrations: Migration[] = [];
  for (const file of (await readdir(directory)).sort()) {
    const [, version, name] = MIGRATION_FILE.exec(file) ?? [];
    if (version !== undefined && name !== undefined) migrations.push({ file, version, name });
  }
  return migrations;
}

/** The Supabase CLI's own table, so that it sees what was applied here. */
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
  { migration, directory }: { migration: Migration; directory: string },
): Promise<void> {
  const text = await readFile(join(directory, migration.file), "utf8");
  try {
    await sql.begin(async (transaction) => {
      await transaction.unsafe(text);
      await transaction`
        insert into supabase_migrations.schema_migrations (version, name, statements)
        values (${migration.version}, ${migration.name}, ${[text]})`;
    });
  } catch (cause) {
    throw new CommandError(`Migration ${migration.file} failed: ${reasonOf(cause)}.`, { cause });
  }
}

function pathOf(directory: string | URL): string {
  return directory instanceof URL ? decodeURIComponent(directory.pathname) : directory;
}
