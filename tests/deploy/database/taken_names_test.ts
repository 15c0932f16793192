/** Our objects beside those of an app that has the same names in `public`. */
import assert from "node:assert/strict";
import { cp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type postgres from "postgres";
import { runConformance } from "../../../dev/checks/conformance_run.ts";
import { addCounts } from "../../../dev/checks/units/test_counts.ts";
import { copyProject } from "../../../dev/deploy/pack.ts";
import { runSupabase } from "../../../dev/deploy/supabase_cli.ts";
import { MIGRATIONS_DIRECTORY } from "../../../packages/local/postgres/migration_files.ts";
import { namesOfSchemas, readSchemaFiles } from "../../../packages/local/postgres/schema_files.ts";
import { THROW_AWAY } from "../../../packages/local/stack/options.ts";
import { startStack } from "../../../packages/local/stack/stack.ts";
import { diagnose } from "../../../packages/operator/doctor/diagnose.ts";
import { documentedBlock } from "../../docs/blocks/documentation.ts";
import { openStateDirectory } from "../../../packages/local/tests/stack/stack_process.ts";
import { openTemporaryDirectory } from "../temporary_directory.ts";
import { openProjectDatabase } from "./project_database.ts";
import { readObjects, RELATION_KINDS, takeNames, takenNames } from "./taken_names.ts";

const REMOVAL = await documentedBlock("docs/deployment.md, Take it down, 2");
const OWN_SCHEMAS = namesOfSchemas(await readSchemaFiles()).join("|");
/** What docs/deployment.md says is ours, and what belongs to it: arrays, indexes, TOAST. */
const OURS = new RegExp(
  `^(?:schema (?:${OWN_SCHEMAS})|\\w+ (?:${OWN_SCHEMAS})\\..*|(?:constraint|trigger) \\w+ of (?:${OWN_SCHEMAS})\\..*|function agent_api_\\w+\\(.*)$`,
);

/** Pushes this project's migrations by the Supabase CLI. */
async function push(url: string): Promise<void> {
  await using directory = await openTemporaryDirectory();
  await copyProject(directory.path);
  const { code, output } = await runSupabase(["db", "push", "--db-url", url], {
    projectDirectory: directory.path,
    homeDirectory: directory.path,
  });
  assert.equal(code, 0, output);
}

for (const kind of RELATION_KINDS) {
  Deno.test(`supabase db push to a project with two functions and a ${kind} of each of our names → applied; the documented removal removes only ours; pushed again → applied`, async () => {
    const names = await takenNames();
    assert.ok(names.length > 100, `${names.length} names`);
    await using project = await openProjectDatabase();
    const { sql } = project;
    await sql.unsafe(await takeNames(() => kind));
    const app = await readObjects(sql);
    assert.ok(Object.keys(app).length > 3 * names.length);

    await push(project.url);
    const both = await readObjects(sql);
    for (const [name, definition] of Object.entries(app)) {
      assert.equal(both[name], definition, name);
    }
    const added = Object.keys(both).filter((name) => !(name in app));
    assert.ok(added.length > 300);
    assert.deepEqual(added.filter((name) => !OURS.test(name)), []);
    const [row] = await sql`select public.check_health() as answer`;
    assert.deepEqual(row!["answer"], { app: "check_health" });

    await sql.unsafe(REMOVAL);
    assert.deepEqual(await readObjects(sql), app);
    assert.deepEqual(await recordsOf(sql), []);

    await push(project.url);
    assert.deepEqual(await readObjects(sql), both);
  });
}

Deno.test("the documented removal while a view, a foreign key, a default and a function of the app use what is ours → names them, and nothing changes", async () => {
  await using project = await openProjectDatabase();
  const { sql } = project;
  await push(project.url);
  for (
    const [statement, said] of [
      ["create view public.my_keys as select key_id from agents.keys", /view my_keys/],
      [
        "create table public.favourites (id text references artifacts.artifacts)",
        /constraint favourites_id_fkey on table favourites/,
      ],
      [
        "create table public.notes (made text default agents.iso_timestamp(now()))",
        /default value for column made of table notes/,
      ],
      [
        "create function public.greet(name agents.agent_id) returns text language sql as 'select 1::text'",
        /function greet\(/,
      ],
    ] as const
  ) {
    const [word, name] = /(view|table|function) [\w.]+/.exec(statement)![0].split(" ");
    await sql.unsafe(statement);
    const before = await readObjects(sql);
    const records = await recordsOf(sql);
    await assert.rejects(sql.unsafe(REMOVAL), (error: Error) => {
      assert.match(error.message, /^Your app uses what would go: /);
      assert.match(error.message, said);
      return true;
    });
    assert.deepEqual(await readObjects(sql), before);
    assert.deepEqual(await recordsOf(sql), records);
    await sql.unsafe(`drop ${word} ${name}`);
  }
  await sql.unsafe(REMOVAL);
  assert.deepEqual(await recordsOf(sql), []);
});

Deno.test("a running service whose project has functions, tables, views and types of all our names → agents and the operator notice nothing, and the doctor finds no fault", async () => {
  await using state = await openStateDirectory();
  const migrationsDirectory = join(state.path, "migrations");
  await cp(fileURLToPath(MIGRATIONS_DIRECTORY), migrationsDirectory, { recursive: true });
  const app = await takeNames((index) => RELATION_KINDS[index % RELATION_KINDS.length]!);
  await writeFile(join(migrationsDirectory, "20200101000000_app.sql"), app);
  const stack = await startStack({
    ...THROW_AWAY,
    stateDir: join(state.path, "state"),
    migrationsDirectory,
  });
  try {
    const connection = { SUPABASE_URL: stack.url, SUPABASE_SECRET_KEY: stack.secretKey };
    const output: string[] = [];
    const { failed, passed } = addCounts(
      await runConformance({
        connection,
        only:
          /^(?:agent_keys|remove_agent|health)_test|^artifacts\/(?:grant_and_revoke|fetch_and_open)_test|^mesh\/netmap_test/,
        onOutput: (text) => output.push(text),
      }),
    );
    assert.equal(failed, 0, output.join("\n"));
    assert.ok(passed > 30, `${passed} passed`);
    const findings = await diagnose(connection);
    assert.deepEqual(findings.filter(({ level }) => level === "fault"), []);
  } finally {
    await stack.stop();
  }
});

async function recordsOf(sql: postgres.Sql): Promise<string[]> {
  const rows = await sql`select version from supabase_migrations.schema_migrations`;
  return rows.map((row) => row["version"]);
}
