/** Real PostgreSQL for tests: the stack's database, and new ones in the same cluster. */
import postgres from "postgres";
import { applyMigrations } from "../../packages/local/postgres/migrations.ts";
import {
  createProjectDatabase,
  type DefaultPrivileges,
} from "../../packages/local/postgres/platform.ts";

export const SUPERUSER_URL = required("SUPABASE_SUPERUSER_DB_URL");

/**
 * Runs `run` as superuser of the stack's database, to arrange states that no caller can create.
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
 * Runs `run` on a new database with the project's migrations and these default privileges, and
 * drops it afterwards.
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

/** Creates a database with the project's migrations. The caller drops it. */
export async function createFromTemplate(
  name: string,
  defaultPrivileges: DefaultPrivileges,
): Promise<void> {
  await withStackDatabase(async (sql) => {
    const template = await makeTemplate(sql, defaultPrivileges);
    // file_copy is faster than writing every page to the WAL.
    await sql`create database ${sql(name)} template ${
      sql(template)
    } strategy file_copy owner postgres`;
  });
}

/**
 * The template database that every `withProjectDatabase` copies. The first call of a run creates
 * it.
 */
async function makeTemplate(
  sql: postgres.Sql,
  defaultPrivileges: DefaultPrivileges,
): Promise<string> {
  const name = `template_of_tests_${defaultPrivileges}`;
  const session = await sql.reserve();
  try {
    // A session-level lock, because a database cannot be created in a transaction.
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

/** The superuser's URL of a database in the stack's cluster. */
export function databaseUrl(name: string): string {
  const url = new URL(SUPERUSER_URL);
  url.pathname = `/${name}`;
  return url.href;
}

/** The superuser's URL of the database to which `sql` is connected. */
export async function urlOf(sql: postgres.Sql): Promise<string> {
  const [row] = await sql<[{ name: string }]>`select current_database() as name`;
  return databaseUrl(row.name);
}

/**
 * Calls an SQL function, by its name without the prefix, as PostgREST does: as service_role, with
 * named arguments. Returns its JSON value.
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
      `select public.agent_api_${functionName}(${list}) as result`,
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
