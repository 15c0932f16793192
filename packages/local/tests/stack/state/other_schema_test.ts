import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import postgres from "postgres";
import { findProcessesWith } from "../../../processes/find_processes.ts";
import { THROW_AWAY } from "../../../stack/options.ts";
import { startStack } from "../../../stack/stack.ts";
import { stateFiles } from "../../../state/state_files.ts";
import { launch, openStateDirectory, runTask, snapshot } from "../stack_process.ts";

Deno.test("start on a state that another schema made → one sentence that names `deno task reset`, exit code 1, nothing changed; after a reset it starts", async () => {
  await using state = await openStateDirectory();
  await using migrations = await openStateDirectory();
  // Before the squash, each file of the schema had its own migration.
  await writeFile(
    join(migrations.path, "20261121120000_agents.sql"),
    "create schema agents; create table agents.keys as select 'planner' as agent_id;",
  );
  await writeFile(join(migrations.path, "20261121120100_agents_events.sql"), "select 1;");
  const before = await runOlder(state.path, migrations.path);
  assert.deepEqual([before.records.length, before.keys.length], [2, 1]);
  const files = await keptFiles(state.path);

  const service = await launch({ stateDir: state.path });
  assert.equal(await service.exit(), 1);
  assert.equal(
    await service.errors,
    `The database in ${state.path} was made by other migrations (this checkout does not have 20261121120000_agents as it was applied): run \`deno task reset\`, which deletes the database, files and keys, or start the checkout that made it.\n`,
  );
  assert.ok(!service.output.some((line) => line.startsWith("Applied migration")));
  assert.deepEqual(await findProcessesWith([state.path]), []);
  assert.deepEqual(await keptFiles(state.path), files);
  assert.deepEqual(await runOlder(state.path, migrations.path), before);

  const reset = await runTask("packages/local/stack/reset.ts", {
    environment: { STATE_DIR: state.path },
  });
  assert.equal(reset.code, 0, reset.errors);
  await using fresh = await startStack({
    ...THROW_AWAY,
    stateDir: state.path,
    functionNames: [],
  }).then((stack) => ({ ...stack, [Symbol.asyncDispose]: stack.stop }));
  assert.equal((await readDatabase(fresh.databaseUrl)).keys.length, 0);
});

/** Starts the stack of an older checkout without functions, and reads its data. */
async function runOlder(stateDir: string, migrationsDirectory: string) {
  const stack = await startStack({
    ...THROW_AWAY,
    stateDir,
    migrationsDirectory,
    functionNames: [],
  });
  try {
    return await readDatabase(stack.databaseUrl);
  } finally {
    await stack.stop();
  }
}

async function readDatabase(url: string) {
  const sql = postgres(url, { max: 1 });
  try {
    return {
      records: [...await sql`select * from supabase_migrations.schema_migrations order by version`],
      keys: [...await sql`select agent_id from agents.keys`],
      schemas: [...await sql`select nspname from pg_namespace order by nspname`],
    };
  } finally {
    await sql.end();
  }
}

/** The files that a state directory keeps between two starts. */
async function keptFiles(stateDir: string) {
  const { keys, authKey, storage } = stateFiles(stateDir);
  return [
    await Deno.readTextFile(keys),
    await Deno.readTextFile(authKey),
    await snapshot(storage),
  ];
}
