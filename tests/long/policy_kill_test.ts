/** Kills PostgreSQL with SIGKILL while a policy is applied. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import postgres from "postgres";
import { PROJECT } from "../../packages/local/project.ts";
import {
  awaitOk,
  launch,
  openStateDirectory,
  programOf,
  readEnvironment,
  recordedPids,
  runTask,
} from "../../packages/local/tests/stack/stack_process.ts";

const PATIENCE_MILLISECONDS = 60_000;
const AGENTS = 120;

async function until(what: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + PATIENCE_MILLISECONDS;
  while (!await what().catch(() => false)) {
    if (Date.now() > deadline) throw new Error("it did not happen");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function endProcess(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch {
    // The process has ended already.
  }
}

Deno.test("PostgreSQL killed inside each step of policy apply → no step is half done; run again, the policy is in force whole, with one event for each change", async () => {
  await using state = await openStateDirectory();
  const stack = await launch({ stateDir: state.path });
  await stack.ready();
  const environment = await readEnvironment(state.path);
  const sql = postgres(environment["SUPABASE_SUPERUSER_DB_URL"]!, { max: 2, onnotice: () => {} });
  try {
    for (let number = 0; number < AGENTS; number++) {
      const tags = ["tag:all"];
      await sql`select public.agent_api_set_agent_tags(${`agent-${number}`}, ${tags})`;
    }
    const file = join(state.path, "policy.jsonc");
    await writeFile(
      file,
      JSON.stringify({ rules: [{ from: "tag:all", to: "tag:all", ports: [443], proto: "tcp" }] }),
    );
    const rules = AGENTS * (AGENTS - 1);
    const task = (name: "plan" | "apply", ...args: string[]) =>
      runTask(`agentops policy ${name}`, { args: [file, ...args], environment });
    const { output } = await task("plan", "--json");
    const { fingerprint } = JSON.parse(output);
    const stateNow = async () => {
      const [row] = await sql<{ rules: number; in_force: number; finished: number }[]>`
        select
          (select count(*)::int from mesh.rules where origin = 'policy') as rules,
          (select count(*)::int from mesh.policies) as in_force,
          (select count(finished_at)::int from mesh.policies) as finished`;
      return row!;
    };

    // Kill alternately before a transaction of 5,000 changes has written anything, and after its
    // commit.
    const seen: number[] = [];
    for (let made = 0; made < rules; made = (await stateNow()).rules) {
      const pid = (await recordedPids(state.path))["postgres"]!;
      const isInside = seen.length % 2 === 0;
      let applying: Deno.ChildProcess | undefined;
      await sql.begin(async (held) => {
        await held`select pg_advisory_xact_lock(mesh.policy_lock())`;
        applying = new Deno.Command(Deno.execPath(), {
          args: [
            "run",
            "--allow-all",
            ...programOf("agentops policy apply"),
            file,
            "--expect",
            fingerprint,
            "--yes",
          ],
          cwd: PROJECT,
          env: environment,
          stdout: "null",
          stderr: "null",
        }).spawn();
        const waiting = () =>
          sql<{ pid: number }[]>`
            select distinct pid from pg_locks where locktype = 'advisory' and not granted`;
        await until(async () => (await waiting()).length > 0);
        if (isInside) {
          // Otherwise it would go on by itself when PostgreSQL is back.
          endProcess(applying);
          // Kill the waiting sessions too: even without the postmaster, a session that got the lock
          // in time would still commit.
          for (const session of await waiting()) Deno.kill(session.pid, "SIGKILL");
          Deno.kill(pid, "SIGKILL");
        }
      }).catch((error) => {
        // PostgreSQL was killed, so the transaction that held the lock fails.
        if (!isInside) throw error;
      });
      if (!isInside) {
        await until(async () => (await stateNow()).rules > made);
        endProcess(applying!);
        Deno.kill(pid, "SIGKILL");
      }
      await until(async () => (await recordedPids(state.path))["postgres"] !== pid);
      await awaitOk(`${stack.url}/functions/v1/agent-mesh/health`);
      await applying!.status;
      await until(async () => (await sql`select 1`).length === 1);
      seen.push((await stateNow()).rules);
      assert.ok(seen.length < 40);
    }
    // Each step made all of its 5,000 changes, or none.
    assert.ok(seen.every((count) => count % 5_000 === 0 || count === rules), String(seen));
    assert.ok(seen.includes(0), String(seen));
    const { code, errors } = await task("apply", "--expect", fingerprint, "--yes");
    assert.equal(code, 0, errors);
    assert.deepEqual(await stateNow(), { rules, in_force: 1, finished: 1 });
    const [events] = await sql<{ applied: number; activated: number }[]>`
      select
        count(*) filter (where action = 'policy.applied')::int as applied,
        count(*) filter (where action = 'rule.activated')::int as activated
      from agents.events`;
    assert.deepEqual(events, { applied: 1, activated: rules });
  } finally {
    await sql.end({ timeout: 1 });
  }
  stack.kill("SIGTERM");
  assert.equal(await stack.exit(), 0);
});
