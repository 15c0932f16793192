import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import postgres from "postgres";
import { applyMigrations, findForeignMigration } from "../../postgres/migrations.ts";
import { createProjectDatabase, type DefaultPrivileges } from "../../postgres/platform.ts";
import { openStateDirectory } from "./stack_process.ts";

/** A new database without migrations, dropped when the test ends. */
async function openDatabase(defaultPrivileges: DefaultPrivileges = "newer") {
  const superuserUrl = Deno.env.get("SUPABASE_SUPERUSER_DB_URL")!;
  const name = `migrations_${crypto.randomUUID().replaceAll("-", "")}`;
  const url = await createProjectDatabase({ superuserUrl, name, defaultPrivileges });
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  return {
    url,
    sql,
    async [Symbol.asyncDispose]() {
      await sql.end();
      const cluster = postgres(superuserUrl, { max: 1 });
      await cluster`drop database ${cluster(name)} with (force)`;
      await cluster.end();
    },
  };
}

Deno.test("applyMigrations → each once, in order, recorded as the Supabase CLI records it", async () => {
  await using database = await openDatabase();
  await using directory = await openStateDirectory();
  const write = (file: string, text: string) => writeFile(join(directory.path, file), text);
  await write("20260101000001_second.sql", "insert into public.log values ('second')");
  await write("20260101000000_first_one.sql", "-- one\ncreate table public.log (line text);\n\n");
  await write("README.md", "not a migration");
  const options = { databaseUrl: database.url, directory: directory.path };
  const applied = await applyMigrations(options);
  assert.deepEqual(applied, ["20260101000000_first_one.sql", "20260101000001_second.sql"]);

  await write("20260101000001_second.sql", "insert into public.log values ('edited')");
  assert.deepEqual(await applyMigrations(options), []);
  assert.deepEqual([...await database.sql`select line from public.log`], [{ line: "second" }]);
  const records = await database.sql`
    select version, name, statements from supabase_migrations.schema_migrations order by version`;
  assert.deepEqual([...records], [
    {
      version: "20260101000000",
      name: "first_one",
      statements: ["-- one\ncreate table public.log (line text);\n\n"],
    },
    {
      version: "20260101000001",
      name: "second",
      statements: ["insert into public.log values ('second')"],
    },
  ]);
});

Deno.test("applyMigrations with one that fails halfway → leaves nothing of it, keeps those before it", async () => {
  await using database = await openDatabase();
  await using directory = await openStateDirectory();
  await writeFile(join(directory.path, "1_good.sql"), "create table public.good ()");
  await writeFile(
    join(directory.path, "2_bad.sql"),
    "create table public.half (); select 1 / 0;",
  );
  await assert.rejects(
    applyMigrations({ databaseUrl: database.url, directory: directory.path }),
    { message: "Migration 2_bad.sql failed: division by zero." },
  );
  const tables = await database.sql`select tablename from pg_tables where schemaname = 'public'`;
  assert.deepEqual([...tables], [{ tablename: "good" }]);
  const records = await database.sql`select version from supabase_migrations.schema_migrations`;
  assert.deepEqual([...records], [{ version: "1" }]);
});

Deno.test("findForeignMigration → the first record that the directory does not have; none of a database without records, which stays so", async () => {
  await using database = await openDatabase();
  await using directory = await openStateDirectory();
  const write = (file: string, text: string) => writeFile(join(directory.path, file), text);
  const options = { databaseUrl: database.url, directory: directory.path };
  await write("1_one.sql", "select 1;\n\nselect 2;\n");
  await write("2_two.sql", "select 3;");
  assert.equal(await findForeignMigration(options), null);
  const schemas = await database.sql`
    select from pg_namespace where nspname = 'supabase_migrations'`;
  assert.equal(schemas.length, 0);

  await applyMigrations(options);
  await write("3_not_applied_yet.sql", "select 4;");
  assert.equal(await findForeignMigration(options), null);
  // The Supabase CLI would record the first migration this way.
  await database.sql`
    update supabase_migrations.schema_migrations set statements = '{select 1,select 2}'
    where version = '1'`;
  assert.equal(await findForeignMigration(options), null);

  await write("2_two.sql", "select 5;");
  assert.equal(await findForeignMigration(options), "2_two");
  await write("2_two.sql", "select 3;");
  await database.sql`
    insert into supabase_migrations.schema_migrations values ('10', '{select 6}', 'ten')`;
  assert.equal(await findForeignMigration(options), "10_ten");
  await database.sql`
    update supabase_migrations.schema_migrations set name = 'first' where version = '1'`;
  assert.equal(await findForeignMigration(options), "1_first");
});

for (const [defaultPrivileges, granted] of [["older", true], ["newer", false]] as const) {
  Deno.test(`a ${defaultPrivileges} project grants the API roles a new table → ${granted}`, async () => {
    await using database = await openDatabase(defaultPrivileges);
    await database.sql`create table public.fresh ()`;
    for (const role of ["anon", "authenticated", "service_role"]) {
      const [row] = await database.sql`
        select has_table_privilege(${role}, 'public.fresh', 'select') as granted`;
      assert.equal(row?.["granted"], granted, role);
    }
  });
}

Deno.test("the role that migrates → no superuser; the database sorts by ICU en-US", async () => {
  await using database = await openDatabase();
  const [role] = await database.sql`select rolsuper from pg_roles where rolname = current_user`;
  assert.equal(role?.["rolsuper"], false);
  const [order] = await database.sql`select 'agent-2' < 'agent_1' as linguistic`;
  const [bytes] = await database.sql`select 'agent-2' < 'agent_1' collate "C" as linguistic`;
  assert.notEqual(order?.["linguistic"], bytes?.["linguistic"]);
});
