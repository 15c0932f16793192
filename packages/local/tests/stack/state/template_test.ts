import assert from "node:assert/strict";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import postgres from "postgres";
import { type Database, startDatabase } from "../../../postgres/database.ts";
import { readStackOptions, type StackRequest, withDefaults } from "../../../stack/options.ts";
import { ProcessRecords } from "../../../state/process_records.ts";
import { readOrMakeKeys } from "../../../state/project_keys.ts";
import { stateFiles } from "../../../state/state_files.ts";
import { openStateDirectory } from "../stack_process.ts";

Deno.test("two throw-away stacks with one template → a database each, with its own password and the migrations, and one PostgreSQL; what one writes is in neither the other nor the template", async () => {
  await using templates = await openStateDirectory();
  await using first = await openStateDirectory();
  await using second = await openStateDirectory();
  const one = await start(first.path, { templates: templates.path });
  try {
    await query(
      one.url("postgres"),
      "select agents.record_event('{\"kind\": \"operator\"}', null, 'agent.tagged', 'planner')",
    );
    const [template] = await readdir(templates.path);
    const password = await readFile(join(templates.path, template!, "password"), "utf8");
    const two = await start(second.path, { templates: templates.path });
    try {
      assert.deepEqual(await readdir(templates.path), [template]);
      assert.deepEqual(await ownPrograms(first.path), []);
      assert.deepEqual(await ownPrograms(second.path), []);
      assert.equal(await count(two), "0");
      assert.equal(await count(one), "1");
      const passwords = [one, two].map(({ url }) => new URL(url("postgres")).password);
      assert.equal(new Set([...passwords, password]).size, 3);
      for (
        const role of ["supabase_admin", "postgres", "authenticator", "supabase_storage_admin"]
      ) {
        await query(two.url(role), "select 1");
        const url = new URL(two.url(role));
        url.password = password;
        await assert.rejects(query(url.href, "select 1"), /password authentication failed/);
      }
    } finally {
      await two.stop();
    }
  } finally {
    await one.stop();
  }
  const again = await start(first.path, { templates: templates.path });
  try {
    assert.equal(await count(again), "1");
  } finally {
    await again.stop();
  }
});

Deno.test("migrations of a test's own → no template", async () => {
  await using templates = await openStateDirectory();
  await using migrations = await openStateDirectory();
  await using state = await openStateDirectory();
  await writeFile(join(migrations.path, "20990101000000_other.sql"), "create schema other;");
  const database = await start(state.path, {
    templates: templates.path,
    migrationsDirectory: migrations.path,
  });
  try {
    const [found] = await query(database.url("postgres"), "select to_regnamespace('other')::text");
    assert.equal(found!["to_regnamespace"], "other");
  } finally {
    await database.stop();
  }
  assert.deepEqual(await readdir(templates.path), []);
});

Deno.test("a durable stack, and the options of `deno task start` → no template, whatever the environment says", async () => {
  await using templates = await openStateDirectory();
  await using state = await openStateDirectory();
  const database = await start(state.path, { templates: templates.path, durable: true });
  await database.stop();
  assert.deepEqual(await readdir(templates.path), []);
  assert.equal(readStackOptions({ SHARED_BUILDS: templates.path }).templates, null);
});

/** The copies of PostgreSQL in a state directory. */
async function ownPrograms(stateDir: string): Promise<string[]> {
  const files = await readdir(stateFiles(stateDir).postgres);
  return files.filter((name) => name.startsWith("native"));
}

async function start(stateDir: string, options: Partial<StackRequest>): Promise<Database> {
  const { logs } = stateFiles(stateDir);
  await mkdir(logs, { recursive: true });
  await chmod(stateDir, 0o711);
  return await startDatabase(
    withDefaults({ port: 0, durable: false, ...options, stateDir }),
    { keys: await readOrMakeKeys(stateDir), records: new ProcessRecords(stateDir) },
  );
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await sql.unsafe(text);
  } finally {
    await sql.end();
  }
}

async function count({ url }: Database): Promise<unknown> {
  const [row] = await query(url("postgres"), "select count(*) from agents.events");
  return row!["count"];
}
