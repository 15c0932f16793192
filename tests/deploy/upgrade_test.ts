import assert from "node:assert/strict";
import { cp, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { runConformance } from "../../dev/checks/conformance_run.ts";
import { MIGRATIONS_DIRECTORY } from "../../dev/postgres/migrations.ts";
import { type Stack, startStack } from "../../dev/stack/stack.ts";
import { addCounts } from "../../dev/checks/test_counts.ts";
import { openStateDirectory } from "../stack/stack_process.ts";
import { readProject, useProject } from "./project_in_use.ts";

/** The newest migration that the release before this one had; see CONTRIBUTING.md. */
const PREVIOUS_RELEASE = "20261120110055_reseal_psks.sql";

Deno.test("a project in use since the release before, upgraded → the same files, grants, maps and PSKs, and the whole conformance suite leaves them so", async () => {
  await using state = await openStateDirectory();
  const migrationsDirectory = join(state.path, "migrations");
  const newer = await copyMigrationsBefore(migrationsDirectory);
  assert.ok(newer.length > 0, "nothing to upgrade to");

  const old = await startStack({
    port: 0,
    stateDir: state.path,
    durable: false,
    migrationsDirectory,
  });
  const { project, before } = await whileItRuns(old, async () => {
    const project = await useProject(old);
    return { project, before: await readProject(old, project) };
  });

  const upgraded = await startStack({ port: portOf(old), stateDir: state.path, durable: false });
  await whileItRuns(upgraded, async () => {
    assert.deepEqual(await readProject(upgraded, project), before);

    const output: string[] = [];
    const { failed, passed } = addCounts(
      await runConformance({
        connection: { SUPABASE_URL: upgraded.url, SUPABASE_SECRET_KEY: upgraded.secretKey },
        onOutput: (text) => output.push(text),
      }),
    );
    assert.equal(failed, 0, output.join("\n"));
    assert.ok(passed > 150);
    assert.deepEqual(await readProject(upgraded, project), before);
    assert.deepEqual(await countLive(upgraded), {
      artifacts: 1,
      grants: 1,
      keys: 1,
      peers: 2,
      rules: 1,
    });
  });
});

/** Copies what the previous release had; resolves to the names of what came after it. */
async function copyMigrationsBefore(directory: string): Promise<string[]> {
  const files = (await readdir(MIGRATIONS_DIRECTORY)).filter((file) => file.endsWith(".sql"));
  assert.ok(files.includes(PREVIOUS_RELEASE), "a migration that has landed is never renamed");
  await mkdir(directory);
  for (const file of files.filter((name) => name <= PREVIOUS_RELEASE)) {
    await cp(join(fileURLToPath(MIGRATIONS_DIRECTORY), file), join(directory, file));
  }
  return files.filter((name) => name > PREVIOUS_RELEASE);
}

async function whileItRuns<Result>(stack: Stack, run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } finally {
    await stack.stop();
  }
}

/** Signed URLs, and what was read through them, name the origin: an upgrade leaves it as it is. */
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
