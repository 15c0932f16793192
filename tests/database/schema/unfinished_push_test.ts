import assert from "node:assert/strict";
import { cp, readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { MIGRATIONS_DIRECTORY } from "../../../packages/local/postgres/migration_files.ts";
import { applyMigrations } from "../../../packages/local/postgres/migrations.ts";
import { createProjectDatabase } from "../../../packages/local/postgres/platform.ts";
import { openStateDirectory } from "../../../packages/local/tests/stack/stack_process.ts";
import { SUPERUSER_URL, withStackDatabase } from "../connection.ts";

const MIGRATIONS = fileURLToPath(MIGRATIONS_DIRECTORY);

Deno.test("a push that stops at any migration, to a project that grants new functions to everybody → outsiders can use no schema or table, and the next push finishes it", async () => {
  const files = (await readdir(MIGRATIONS)).filter((file) => file.endsWith(".sql")).sort();
  await using directory = await openStateDirectory();
  const name = `push_${crypto.randomUUID().replaceAll("-", "")}`;
  const databaseUrl = await createProjectDatabase({
    superuserUrl: SUPERUSER_URL,
    name,
    defaultPrivileges: "older",
  });
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  try {
    for (const file of files) {
      await cp(join(MIGRATIONS, file), join(directory.path, file));
      assert.deepEqual(await applyMigrations({ databaseUrl, directory: directory.path }), [file]);
      assert.deepEqual(await whatOutsidersMayUse(sql), [], `after ${file}`);
    }
    await assert.rejects(
      sql.begin(async (transaction) => {
        await transaction`set local role anon`;
        await transaction`select public.agent_api_create_agent_key('intruder')`;
      }),
      /permission denied for function agent_api_create_agent_key/,
    );
    assert.deepEqual([...await sql`select from agents.keys`], []);
  } finally {
    await sql.end();
    await withStackDatabase((cluster) => cluster`drop database ${cluster(name)} with (force)`);
  }
});

/**
 * The project's schemas and tables that outsiders may use. Functions run as their caller, so they
 * could use the same.
 */
async function whatOutsidersMayUse(sql: postgres.Sql): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select role || ' ' || n.nspname as name
    from pg_namespace n, unnest(array['anon', 'authenticated', 'public']) role
    where n.nspname = any (agents.own_schemas())
      and has_schema_privilege(role, n.oid, 'usage, create')
    union all
    select role || ' ' || c.oid::regclass
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace, unnest(array['anon', 'authenticated']) role
    where n.nspname = any (agents.own_schemas()) and c.relkind = 'r'
      and has_table_privilege(role, c.oid, 'select, insert, update, delete, truncate')`;
  return rows.map((row) => row.name);
}
