/** Upgrades of a project in use. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import postgres from "postgres";
import { runConformance } from "../../../dev/checks/conformance_run.ts";
import { addCounts } from "../../../dev/checks/units/test_counts.ts";
import { PROJECT } from "../../../packages/local/project.ts";
import { MIGRATIONS_DIRECTORY } from "../../../packages/local/postgres/migration_files.ts";
import { applyMigrations } from "../../../packages/local/postgres/migrations.ts";
import { readReleases } from "../../../dev/schema/releases.ts";
import { THROW_AWAY } from "../../../packages/local/stack/options.ts";
import { type Stack, startStack } from "../../../packages/local/stack/stack.ts";
import { openStateDirectory } from "../../../packages/local/tests/stack/stack_process.ts";
import { readProject, useProject } from "./project_in_use.ts";

const run = promisify(execFile);

/** The newest release that supabase/releases.json records; undefined before the first. */
const newestRelease = (await readReleases()).at(-1);

if (newestRelease !== undefined) {
  Deno.test(`a project in use since ${newestRelease.version}, upgraded → the same files, grants, maps and PSKs, and the whole conformance suite leaves them so`, async () => {
    await using state = await openStateDirectory();
    const earlier = join(state.path, "earlier");
    await extractProject(newestRelease.version, earlier);
    await proveUpgrade({ stateDir: state.path, earlier }, async (upgraded, assertUnchanged) => {
      const output: string[] = [];
      const { failed, passed } = addCounts(
        await runConformance({
          connection: { SUPABASE_URL: upgraded.url, SUPABASE_SECRET_KEY: upgraded.secretKey },
          onOutput: (text) => output.push(text),
        }),
      );
      assert.equal(failed, 0, output.join("\n"));
      assert.ok(passed > 150);
      await assertUnchanged();
      assert.deepEqual(await countLive(upgraded), {
        artifacts: 1,
        grants: 1,
        keys: 1,
        peers: 2,
        rules: 1,
      });
    });
  });
} else {
  // There is no release to upgrade from yet. So this proves what the first upgrade will rely on: a
  // project in use accepts a second migration after the one that will be released.
  Deno.test("before the first release: a project in use on this schema, upgraded by a second migration → the same files, grants, maps and PSKs", async () => {
    await using state = await openStateDirectory();
    const migrationsDirectory = join(state.path, "migrations");
    await cp(fileURLToPath(MIGRATIONS_DIRECTORY), migrationsDirectory, { recursive: true });
    await writeFile(join(migrationsDirectory, "20991231235959_second.sql"), SECOND_MIGRATION);
    await proveUpgrade(
      { stateDir: state.path, earlier: PROJECT, migrationsDirectory },
      async (upgraded) => {
        const sql = postgres(upgraded.databaseUrl, { max: 1 });
        const keys = await sql`select noted from agents.keys`;
        const records = await sql`
          select name from supabase_migrations.schema_migrations order by version`;
        await sql.end();
        assert.deepEqual([...keys], [{ noted: "here before" }]);
        assert.deepEqual(records.map(({ name }) => name), ["release", "second"]);
      },
    );
  });
}

/** Adds a column, and thereby changes the existing rows. */
const SECOND_MIGRATION = `
select agents.begin_migration();
alter table agents.keys add column noted text not null default 'here before';
alter table agents.keys alter column noted drop default;
alter table agents.keys alter column noted drop not null;
select agents.record_structure();
`;

/** The rendering revision of the functions in a folder. */
async function renderingOf(folder: string): Promise<{ renderingRevision: number }> {
  const file = join(
    folder,
    "supabase",
    "functions",
    "_shared",
    "operations",
    "waiting",
    "config_version.ts",
  );
  const { RENDERING_REVISION } = await import(pathToFileURL(file).href);
  assert.ok(Number.isInteger(RENDERING_REVISION));
  return { renderingRevision: RENDERING_REVISION };
}

interface Upgrade {
  readonly stateDir: string;
  /** The folder of the earlier version. */
  readonly earlier: string;
  /** The migrations of the later version. Default: this project's. */
  readonly migrationsDirectory?: string;
}

/**
 * Runs and uses an earlier version, migrates its database while it runs, and starts this version on
 * the same state. Asserts that agents see no difference, through the functions of both versions.
 * Then runs `look`, which may assert this again.
 */
async function proveUpgrade(
  { stateDir, earlier, migrationsDirectory }: Upgrade,
  look: (upgraded: Stack, assertUnchanged: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const common = { ...THROW_AWAY, stateDir: join(stateDir, "state") };
  const old = await startStack({
    ...common,
    functionsDirectory: join(earlier, "supabase", "functions"),
    migrationsDirectory: join(earlier, "supabase", "migrations"),
  });
  const { project, before } = await whileItRuns(old, async () => {
    const rendering = await renderingOf(earlier);
    const project = await useProject(old);
    const before = await readProject(old, project, rendering);
    await applyMigrations({ databaseUrl: old.databaseUrl, directory: migrationsDirectory ?? null });
    assert.deepEqual(await readProject(old, project, rendering), before);
    return { project, before };
  });

  const upgraded = await startStack({
    ...common,
    ...(migrationsDirectory === undefined ? {} : { migrationsDirectory }),
    port: portOf(old),
  });
  await whileItRuns(upgraded, async () => {
    const rendering = await renderingOf(PROJECT);
    const assertUnchanged = async () => {
      assert.deepEqual(await readProject(upgraded, project, rendering), before);
    };
    await assertUnchanged();
    await look(upgraded, assertUnchanged);
  });
}

/** Extracts the files of a release from the Git history. */
async function extractProject(version: string, directory: string): Promise<void> {
  await Deno.mkdir(directory, { recursive: true });
  const archive = join(directory, "project.tar");
  await run(
    "git",
    ["archive", "--output", archive, `v${version}`, "deno.json", "dev", "supabase"],
    { cwd: PROJECT },
  ).catch((cause: Error) => {
    throw new Error(
      `The tag v${version} is not in this clone: git fetch --tags --unshallow`,
      { cause },
    );
  });
  await run("tar", ["--extract", "--file", archive, "--directory", directory]);
}

async function whileItRuns<Result>(stack: Stack, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } finally {
    await stack.stop();
  }
}

/**
 * The upgraded stack needs the same port, because signed URLs contain the origin.
 */
function portOf(stack: Stack): number {
  return Number(new URL(stack.url).port);
}

/** Counts the live entries of the whole project. */
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
