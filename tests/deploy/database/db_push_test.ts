import assert from "node:assert/strict";
import { join } from "node:path";
import type postgres from "postgres";
import { copyProject } from "../../../dev/deploy/pack.ts";
import { runSupabase } from "../../../dev/deploy/supabase_cli.ts";
import { readCheckout } from "../../../packages/operator/doctor/facts/checkout.ts";
import { readMigrationFiles } from "../../../packages/local/postgres/migration_files.ts";
import { applyMigrations } from "../../../packages/local/postgres/migrations.ts";
import { namesOfSchemas, readSchemaFiles } from "../../../packages/local/postgres/schema_files.ts";
import { findLintServer, openLintDatabase } from "./lint_database.ts";
import { openProjectDatabase } from "./project_database.ts";
import { openTemporaryDirectory } from "../temporary_directory.ts";

const PROJECT_SCHEMAS = ["public", ...namesOfSchemas(await readSchemaFiles())];

/** What `db push` leaves in a database: its records, and every function of the project. */
async function readDeployment(sql: postgres.Sql) {
  const records = await sql`
    select version, name from supabase_migrations.schema_migrations order by version`;
  return { records: [...records], functions: await readFunctions(sql) };
}

async function readFunctions(sql: postgres.Sql) {
  return [
    ...await sql`
    select p.oid::regprocedure::text as name, p.proacl::text as privileges, p.prosrc as source
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where n.nspname in ${sql(PROJECT_SCHEMAS)}
    order by 1`,
  ];
}

Deno.test("supabase db push, twice, to an empty older project → every migration once, recorded and built as the local stack does", async () => {
  await using directory = await openTemporaryDirectory();
  await using pushed = await openProjectDatabase();
  await using applied = await openProjectDatabase();
  await copyProject(directory.path);
  const push = () =>
    runSupabase(["db", "push", "--db-url", pushed.url], {
      projectDirectory: directory.path,
      homeDirectory: directory.path,
    });
  const files = await applyMigrations({ databaseUrl: applied.url });

  const first = await push();
  assert.equal(first.code, 0, first.output);
  assert.deepEqual(first.output.match(/(?<=Applying migration )\S+\.sql/g), files);
  const deployment = await readDeployment(pushed.sql);
  assert.deepEqual(deployment, await readDeployment(applied.sql));
  assert.equal(deployment.records.length, files.length);
  // The doctor compares these. The CLI records statements, and the local stack records whole files.
  for (const { sql } of [pushed, applied]) {
    const [row] = await sql`select public.agent_api_inspect_deployment('{}') as found`;
    assert.deepEqual(row!["found"].migrations, (await readCheckout()).migrations);
  }

  const second = await push();
  assert.equal(second.code, 0, second.output);
  assert.match(second.output, /Remote database is up to date/);
  assert.deepEqual(await readDeployment(pushed.sql), deployment);
});

Deno.test("supabase db push of a migration that fails at its end, to an older project → nothing of it stays", async () => {
  await using directory = await openTemporaryDirectory();
  await using pushed = await openProjectDatabase();
  await copyProject(directory.path);
  const [file] = await readMigrationFiles();
  const path = join(directory.path, "supabase", "migrations", file!.file);
  await Deno.writeTextFile(path, `${file!.text}\nselect 1 / 0;\n`);
  const before = await readFunctions(pushed.sql);
  const { code, output } = await runSupabase(["db", "push", "--db-url", pushed.url], {
    projectDirectory: directory.path,
    homeDirectory: directory.path,
  });
  assert.equal(code, 1, output);
  assert.match(output, /division by zero/);
  assert.deepEqual(await readFunctions(pushed.sql), before);
  const schemas = await pushed.sql`
    select nspname from pg_namespace where nspname in ${pushed.sql(PROJECT_SCHEMAS)}`;
  assert.deepEqual(schemas.map(({ nspname }) => nspname), ["public"]);
});

// A later migration may have broken an earlier function. `db lint` is not enough, because it runs
// on another major version.
Deno.test("every function of the project, once all migrations are applied → is valid", async () => {
  await using database = await openProjectDatabase();
  await applyMigrations({ databaseUrl: database.url });
  const functions = await database.sql<{ oid: number; name: string; language: string }[]>`
    select p.oid, p.oid::regprocedure::text as name, l.lanname as language
    from pg_proc p
    join pg_namespace n on n.oid = p.pronamespace
    join pg_language l on l.oid = p.prolang
    where n.nspname in ${database.sql(PROJECT_SCHEMAS)} and l.lanname in ('plpgsql', 'sql')`;
  assert.equal(functions.length > 0, true);
  const invalid: string[] = [];
  for (const { oid, name, language } of functions) {
    const validator = language === "sql" ? "fmgr_sql_validator" : "plpgsql_validator";
    await database.sql`select ${database.sql(validator)}(${oid})`.catch((cause: Error) => {
      invalid.push(`${name}: ${cause.message}`);
    });
  }
  assert.deepEqual(invalid, []);
});

const lintServer = await findLintServer();
const mustLint = Deno.env.get("CI") === "true";
const LINT_OBSTACLE = "this machine has no PostgreSQL with plpgsql_check";
if (lintServer === null && !mustLint) console.log(`db lint is left out: ${LINT_OBSTACLE}.`);

Deno.test({
  name: "supabase db lint → no complaint",
  ignore: lintServer === null && !mustLint,
  async fn() {
    if (lintServer === null) throw new Error(LINT_OBSTACLE);
    await using directory = await openTemporaryDirectory();
    await using database = await openLintDatabase(lintServer);
    await copyProject(directory.path);
    const lint = await runSupabase(
      ["db", "lint", "--db-url", database.url, "--fail-on", "warning"],
      { projectDirectory: directory.path, homeDirectory: directory.path },
    );
    assert.equal(lint.code, 0, lint.output);
    assert.match(lint.output, /No schema errors found/);
  },
});
