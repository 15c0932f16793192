/** Real PostgreSQL for tests: the stack's own database, and fresh ones beside it. */
import postgres from "postgres";
import { applyMigrations } from "../../local/postgres/migrations.ts";
import { createProjectDatabase, type DefaultPrivileges } from "../../local/postgres/platform.ts";

export const SUPERUSER_URL = required("SUPABASE_SUPERUSER_DB_URL");

/**
 * The database that the stack's service works on, as its superuser: to arrange what no caller can.
 */
export async function withStackDatabase<Result>(
  run: (sql: postgres.Sql) => Promise<Result>,
): Promise<Result> {
  const sql = connect(SUPERUSER_URL);
  try {
    return await run(sql);
  } finally {
    await sql.end();
  }
}

/**
 * A fresh database with the project's migrations, of one kind of default privileges; dropped
 * afterwards.
 */
export async function withProjectDatabase(
  { defaultPrivileges = "older" }: { defaultPrivileges?: DefaultPrivileges },
  run: (sql: postgres.Sql) => Promise<void>,
): Promise<void> {
  const name = `test_${crypto.randomUUID().replaceAll("-", "_")}`;
  const databaseUrl = await createProjectDatabase({
    superuserUrl: SUPERUSER_URL,
    name,
    defaultPrivileges,
  });
  try {
    await applyMigrations({ databaseUrl });
    const url = new URL(SUPERUSER_URL);
    url.pathname = `/${name}`;
    const sql = connect(url.href);
    try {
      await run(sql);
    } finally {
      await sql.end();
    }
  } finally {
    await withStackDatabase((sql) => sql`drop database ${sql(name)} with (force)`);
  }
}

/** By which the superuser opens further sessions of the database that `sql` is connected to. */
export async function urlOf(sql: postgres.Sql): Promise<string> {
  const [row] = await sql<[{ name: string }]>`select current_database() as name`;
  const url = new URL(SUPERUSER_URL);
  url.pathname = `/${row.name}`;
  return url.href;
}

/**
 * Calls an SQL function as PostgREST does: as service_role, with named arguments, for its one JSON
 * value.
 */
export async function callAsService<Result = Record<string, unknown>>(
  sql: postgres.Sql,
  functionName: string,
  parameters: Record<string, unknown>,
): Promise<Result> {
  return await sql.begin(async (transaction) => {
    await transaction`set local role service_role`;
    const names = Object.keys(parameters);
    const list = names.map((name, index) => `${name} => $${index + 1}`).join(", ");
    const values = names.map((name) => parameters[name] as postgres.ParameterOrJSON<never>);
    const rows = await transaction.unsafe(
      `select public.${functionName}(${list}) as result`,
      values,
    );
    return rows[0]!["result"] as Result;
  }) as Result;
}

function connect(url: string): postgres.Sql {
  return postgres(url, { max: 4, onnotice: () => {} });
}

function required(name: string): string {
  const value = Deno.env.get(name);
  if (!value) throw new Error(`Set ${name}, or run these tests by \`deno task test\`.`);
  return value;
}
