import postgres from "postgres";
import { CommandError, reasonOf } from "../../packages/command/command_error.ts";
import { applyMigrations } from "../../packages/local/postgres/migrations.ts";
import { createProjectDatabase } from "../../packages/local/postgres/platform.ts";
import { type Catalogue, readCatalogue } from "./catalogue.ts";
import { compareCatalogues } from "./differences.ts";
import { readSchemaFiles } from "../../packages/local/postgres/schema_files.ts";

/**
 * Builds one database from the migrations and one from the schema files, on a running cluster, and
 * drops both. Resolves to their differences in the form of `compareCatalogues`.
 */
export async function compareSchema(superuserUrl: string): Promise<string[]> {
  const migrations = await catalogueOf(
    superuserUrl,
    (databaseUrl) => applyMigrations({ databaseUrl }),
  );
  const schemas = await catalogueOf(superuserUrl, applySchemas);
  return compareCatalogues({ migrations, schemas });
}

async function catalogueOf(
  superuserUrl: string,
  build: (databaseUrl: string) => Promise<unknown>,
): Promise<Catalogue> {
  const name = `schema_${crypto.randomUUID().replaceAll("-", "")}`;
  const databaseUrl = await createProjectDatabase({
    superuserUrl,
    name,
    defaultPrivileges: "older",
  });
  try {
    await build(databaseUrl);
    return await withDatabase(databaseUrl, readCatalogue);
  } finally {
    await withDatabase(superuserUrl, (sql) => sql`drop database ${sql(name)} with (force)`);
  }
}

/** Makes everything that the schema files define, in one transaction. Throws CommandError. */
async function applySchemas(databaseUrl: string): Promise<void> {
  const files = await readSchemaFiles();
  await withDatabase(databaseUrl, (sql) =>
    sql.begin(async (transaction) => {
      for (const { path, text } of files) {
        await transaction.unsafe(text).catch((cause: unknown) => {
          throw new CommandError(`supabase/${path} failed: ${reasonOf(cause)}.`, { cause });
        });
      }
    }));
}

async function withDatabase<Result>(
  url: string,
  use: (sql: postgres.Sql) => Promise<Result>,
): Promise<Result> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await use(sql);
  } finally {
    await sql.end();
  }
}
