import postgres from "postgres";
import { type Catalogue, compareCatalogues, readCatalogue } from "./catalogue.ts";
import { applyMigrations } from "./migrations.ts";
import { createProjectDatabase } from "./platform.ts";
import { applySchemas } from "./schemas.ts";

/**
 * Builds one database from the migrations and one from the schema files, on a cluster that runs,
 * and drops both. Resolves to where they differ, one sentence each.
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
