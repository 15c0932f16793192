/** What a project in use goes through: the squash before the first release, and each release. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import postgres from "postgres";
import { runConformance } from "../../../dev/checks/conformance_run.ts";
import { addCounts } from "../../../dev/checks/test_counts.ts";
import { PROJECT } from "../../../dev/command/project.ts";
import { applyMigrations } from "../../../dev/postgres/migrations.ts";
import { startFunction } from "../../../dev/stack/functions.ts";
import { type Stack, type StackOptions, startStack } from "../../../dev/stack/stack.ts";
import { openStateDirectory } from "../../stack/stack_process.ts";
import { openProjectDatabase } from "./project_database.ts";
import { readProject, useProject } from "./project_in_use.ts";
import { CARRIED_COLUMNS, fillWithRows } from "./rows_before_release.ts";

const run = promisify(execFile);

/** The last commit whose migrations were not squashed yet. */
const BEFORE = "3e52ad8";

Deno.test("10,000 artifacts, grants, peers and PSKs of the schema before the squash, carried over → no row lost or altered", async () => {
  await using state = await openStateDirectory();
  await extractProject(BEFORE, state.path);
  await using database = await openProjectDatabase();
  await applyMigrations({
    databaseUrl: database.url,
    directory: join(state.path, "supabase", "migrations"),
  });
  await fillWithRows(database.sql, 10_000);
  const before = await countRows(database.sql);

  await carryOver(database.url);
  assert.deepEqual(await countRows(database.sql), before);
  for (const [table, { columns, renamed = {} }] of Object.entries(CARRIED_COLUMNS)) {
    const old = columns.map((column) => renamed[column] ?? column).join(", ");
    const [differing] = await database.sql.unsafe(`
      select count(*)::integer as rows from (
        (select ${old} from ${table.replace(".", "_before.")} except all select ${
      columns.join(", ")
    } from ${table})
        union all
        (select ${columns.join(", ")} from ${table} except all select ${old} from ${
      table.replace(".", "_before.")
    })
      ) differing`);
    assert.equal(differing!["rows"], 0, table);
  }
  assert.deepEqual(await misplacedObjects(database.sql), []);
  const [next] = await database.sql`
    insert into agents.events (actor_kind, action) values ('operator', 'test') returning event_id`;
  assert.equal(Number(next!["event_id"]), before["agents.events"]! + 1);
});

Deno.test("a project in use, carried over → the same files, grants, maps and PSKs, and the whole conformance suite leaves them so", async () => {
  await using state = await openStateDirectory();
  const before = join(state.path, "before");
  await extractProject(BEFORE, before);
  await proveUpgrade({
    stateDir: state.path,
    earlier: before,
    // Both functions had the project's own deno.json then, and each read the other's variables too.
    startFunction: (options) =>
      startFunction({
        ...options,
        program: {
          deno: Deno.execPath(),
          args: [
            `--config=${join(before, "deno.json")}`,
            "--allow-env=ARTIFACTS_*,MESH_*,PSK_ENCRYPTION_KEYS",
            join(before, "supabase", "functions", options.name, "index.ts"),
          ],
        },
      }),
    upgradeDatabase: carryOver,
  });
});

const newestRelease = await findNewestRelease();
if (newestRelease === null) console.log("No release is tagged: there is none to upgrade from.");

Deno.test({
  name:
    "a project in use since the newest release, upgraded → the same files, grants, maps and PSKs, and the whole conformance suite leaves them so",
  ignore: newestRelease === null,
  async fn() {
    await using state = await openStateDirectory();
    const before = join(state.path, "before");
    await extractProject(newestRelease!, before);
    await proveUpgrade({
      stateDir: state.path,
      earlier: before,
      functionsDirectory: join(before, "supabase", "functions"),
      upgradeDatabase: (databaseUrl) => applyMigrations({ databaseUrl }),
    });
  },
});

/** How the functions of a folder word their configurations. */
async function renderingOf(folder: string): Promise<{ renderingRevision: number }> {
  const file = join(folder, "supabase", "functions", "agent-mesh", "config_version.ts");
  const { RENDERING_REVISION } = await import(pathToFileURL(file).href);
  assert.ok(Number.isInteger(RENDERING_REVISION));
  return { renderingRevision: RENDERING_REVISION };
}

/**
 * Runs an earlier version, whose files are in the folder `earlier`, uses it, upgrades its database,
 * and looks at it with this version.
 */
async function proveUpgrade(
  { stateDir, earlier, upgradeDatabase, ...program }:
    & Pick<StackOptions, "functionsDirectory" | "startFunction">
    & {
      readonly stateDir: string;
      readonly earlier: string;
      readonly upgradeDatabase: (databaseUrl: string) => Promise<unknown>;
    },
): Promise<void> {
  const common = { stateDir: join(stateDir, "state"), durable: false };
  const old = await startStack({
    ...common,
    ...program,
    migrationsDirectory: join(earlier, "supabase", "migrations"),
    port: 0,
  });
  const { project, before } = await whileItRuns(old, async () => {
    const project = await useProject(old);
    const before = await readProject(old, project, await renderingOf(earlier));
    await upgradeDatabase(old.databaseUrl);
    return { project, before };
  });

  const upgraded = await startStack({ ...common, port: portOf(old) });
  await whileItRuns(upgraded, async () => {
    const rendering = await renderingOf(PROJECT);
    assert.deepEqual(await readProject(upgraded, project, rendering), before);

    const output: string[] = [];
    const { failed, passed } = addCounts(
      await runConformance({
        connection: { SUPABASE_URL: upgraded.url, SUPABASE_SECRET_KEY: upgraded.secretKey },
        onOutput: (text) => output.push(text),
      }),
    );
    assert.equal(failed, 0, output.join("\n"));
    assert.ok(passed > 150);
    assert.deepEqual(await readProject(upgraded, project, rendering), before);
    assert.deepEqual(await countLive(upgraded), {
      artifacts: 1,
      grants: 1,
      keys: 1,
      peers: 2,
      rules: 1,
    });
  });
}

/** The tag of the newest release; null before the first. */
async function findNewestRelease(): Promise<string | null> {
  const { stdout } = await run("git", ["tag", "--list", "--sort=-creatordate"], { cwd: PROJECT });
  return stdout.split("\n")[0] || null;
}

/** Extracts what a deployment had, out of the history. */
async function extractProject(version: string, directory: string): Promise<void> {
  await Deno.mkdir(directory, { recursive: true });
  const archive = join(directory, "project.tar");
  await run(
    "git",
    ["archive", "--output", archive, version, "deno.json", "dev/deno.lock", "supabase"],
    { cwd: PROJECT },
  ).catch((cause: Error) => {
    throw new Error(
      `${version} is not in this clone: fetch the whole history, by \`git fetch --unshallow\`.`,
      { cause },
    );
  });
  await run("tar", ["--extract", "--file", archive, "--directory", directory]);
}

/** The three steps that docs/deployment.md gives, without the CLI. */
async function carryOver(databaseUrl: string): Promise<void> {
  await runScript(databaseUrl, "1_set_aside.sql");
  await applyMigrations({ databaseUrl });
  await runScript(databaseUrl, "2_bring_back.sql");
}

async function runScript(databaseUrl: string, file: string): Promise<void> {
  const text = await readFile(join(PROJECT, "supabase", "carry_over", file), "utf8");
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  try {
    await sql.unsafe(text).simple();
  } finally {
    await sql.end();
  }
}

async function countRows(sql: postgres.Sql): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const table of Object.keys(CARRIED_COLUMNS)) {
    const [counted] = await sql.unsafe(`select count(*)::integer as rows from ${table}`);
    counts[table] = counted!["rows"];
  }
  return counts;
}

/** Artifacts whose bytes, or whose attempt under way, are not looked for where they were before. */
async function misplacedObjects(sql: postgres.Sql): Promise<string[]> {
  const rows = await sql<{ artifact_id: string }[]>`
    select b.artifact_id
    from artifacts_before.artifacts b
    join artifacts.artifacts a using (artifact_id)
    left join artifacts.verifications v using (artifact_id)
    where (
        b.committed_at is not null
        and artifacts.sealed_path(a.artifact_id, a.sealed_attempt) is distinct from b.sealed_path
      )
      or (
        b.state = 'pending' and b.ended_at is null
        and (
          artifacts.sealed_path(v.artifact_id, v.attempt), v.lease_token, v.lease_expires_at,
          coalesce(v.verified_bytes, 0), v.hash_state, v.object_id, v.object_version, v.progress_at
        ) is distinct from (
          b.sealed_path, b.lease_token, b.lease_expires_at,
          b.verified_bytes, b.hash_state, b.hashed_object_id, b.hashed_object_version, b.progress_at
        )
      )`;
  return rows.map((row) => row.artifact_id);
}

async function whileItRuns<Result>(stack: Stack, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } finally {
    await stack.stop();
  }
}

/**
 * Signed URLs, and what was read through them, name the origin: the carrying leaves it as it is.
 */
function portOf(stack: Stack): number {
  return Number(new URL(stack.url).port);
}

/** What is not yet over in the whole project. */
async function countLive(stack: Stack) {
  const sql = postgres(stack.superuserDatabaseUrl, { max: 1 });
  try {
    const [counts] = await sql`
      with live as (
        select artifact_id from artifacts.artifacts where state in ('pending', 'committed')
      )
      select
        (select count(*)::integer from live) as artifacts,
        (select count(*)::integer from artifacts.grants join live using (artifact_id)
          where revoked_at is null) as grants,
        (select count(*)::integer from agents.keys where revoked_at is null) as keys,
        (select count(*)::integer from mesh.peers) as peers,
        (select count(*)::integer from mesh.rules) as rules`;
    return { ...counts };
  } finally {
    await sql.end();
  }
}
