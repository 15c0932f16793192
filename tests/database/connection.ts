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
  await createFromTemplate(name, defaultPrivileges);
  try {
    const sql = connect(databaseUrl(name));
    try {
      await run(sql);
    } finally {
      await sql.end();
    }
  } finally {
    await withStackDatabase((sql) => sql`drop database ${sql(name)} with (force)`);
  }
}

/** Makes a database with the project's migrations, which the caller drops. */
export async function createFromTemplate(
  name: string,
  defaultPrivileges: DefaultPrivileges,
): Promise<void> {
  await withStackDatabase(async (sql) => {
    const template = await makeTemplate(sql, defaultPrivileges);
    // Copying the files is quicker than writing all of them to the log.
    await sql`create database ${sql(name)} template ${
      sql(template)
    } strategy file_copy owner postgres`;
  });
}

/**
 * The database that every `withProjectDatabase` copies. The first one of a run
 * makes it.
 */
async function makeTemplate(
  sql: postgres.Sql,
  defaultPrivileges: DefaultPrivileges,
): Promise<string> {
  const name = `template_of_tests_${defaultPrivileges}`;
  const session = await sql.reserve();
  try {
    // Of the session: a database cannot be created in a transaction.
    await session`select pg_advisory_lock(hashtextextended(${name}, 0))`;
    const [made] = await session`select from pg_database where datname = ${name}`;
    if (made === undefined) {
      const unfinished = `${name}_unfinished`;
      await session`drop database if exists ${session(unfinished)}`;
      await applyMigrations({
        databaseUrl: await createProjectDatabase({
          superuserUrl: SUPERUSER_URL,
          name: unfinished,
          defaultPrivileges,
        }),
      });
      await session`alter database ${session(unfinished)} rename to ${session(name)}`;
    }
    await session`select pg_advisory_unlock(hashtextextended(${name}, 0))`;
  } finally {
    session.release();
  }
  return name;
}

/** By which the superuser opens a database of the stack's cluster. */
export function databaseUrl(name: string): string {
  const url = new URL(SUPERUSER_URL);
  url.pathname = `/${name}`;
  return url.href;
}

/** By which the superuser opens further sessions of the database that `sql` is connected to. */
export async function urlOf(sql: postgres.Sql): Promise<string> {
  const [row] = await sql<[{ name: string }]>`select current_database() as name`;
  return databaseUrl(row.name);
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
