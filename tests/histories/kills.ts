/** Kills the parts of a local stack with SIGKILL, one after the other. */
import postgres from "postgres";
import type { Random } from "../seeds/random.ts";
import {
  awaitOk,
  launch,
  readEnvironment,
  recordedPids,
} from "../../packages/local/tests/stack/stack_process.ts";

export type Service = Awaited<ReturnType<typeof launch>>;

/** A stack in its own process. After a kill it comes back on the same port. */
export interface Target {
  readonly stateDir: string;
  /** Of the stack, also after a restart. */
  readonly environment?: Record<string, string>;
  service: Service;
}

type Kill = (target: Target) => Promise<void>;

/** The stack must restart the killed part and be healthy within this time. */
const PATIENCE_MILLISECONDS = 60_000;

const HEALTH = ["agent-artifacts", "agent-mesh"].map((name) => `/functions/v1/${name}/health`);

/** How each part is killed. Resolves when the stack has started it again. */
export const KILLS: Readonly<Record<string, Kill>> = {
  "the function agent-artifacts": (target) => killPart(target, "agent-artifacts"),
  "the function agent-mesh": (target) => killPart(target, "agent-mesh"),
  "PostgREST": (target) => killPart(target, "postgrest"),
  // PostgreSQL then ends all other backends, and recovers.
  "a backend of PostgreSQL": (target) => killBackend(target),
  "every connection of PostgREST": (target) => terminateConnections(target),
  "PostgreSQL": (target) => killPart(target, "postgres"),
  "the whole stack, with gateway and Storage": restart,
};

/**
 * Kills one part after the other until `isOver`. Each kill waits until the stack is healthy again.
 */
export async function killInTurn(
  target: Target,
  { random, isOver, pauseMilliseconds }: {
    readonly random: Random;
    readonly isOver: () => boolean;
    /** How long the stack works between two kills. */
    readonly pauseMilliseconds: number;
  },
): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  let left: string[] = [];
  while (!isOver()) {
    await new Promise((resolve) => setTimeout(resolve, pauseMilliseconds));
    if (isOver()) break;
    // Kill each part once before any part is killed again.
    if (left.length === 0) left = Object.keys(KILLS);
    const [part] = left.splice(random.below(left.length), 1);
    await KILLS[part!]!(target);
    for (const path of HEALTH) await awaitOk(target.service.url + path);
    counts.set(part!, (counts.get(part!) ?? 0) + 1);
  }
  return counts;
}

async function killPart({ stateDir }: Target, name: string): Promise<void> {
  const pid = (await recordedPids(stateDir))[name]!;
  killIfThere(pid);
  const deadline = Date.now() + PATIENCE_MILLISECONDS;
  while ((await recordedPids(stateDir))[name] === pid) {
    if (Date.now() > deadline) throw new Error(`${name} was killed and did not come back.`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function killBackend(target: Target): Promise<void> {
  const [backend] = await queryOnce(target, (sql) =>
    sql<{ pid: number }[]>`
      select pid from pg_stat_activity
      where usename = 'authenticator' order by state = 'active' desc limit 1`);
  if (backend !== undefined) killIfThere(backend.pid);
}

async function terminateConnections(target: Target): Promise<void> {
  await queryOnce(
    target,
    (sql) =>
      sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'authenticator'`,
  );
}

async function restart(target: Target): Promise<void> {
  const { port } = target.service;
  target.service.kill("SIGKILL");
  await target.service.exit();
  const { stateDir, environment = {} } = target;
  target.service = await launch({ stateDir, port, environment });
  await target.service.ready();
}

/** If the process has already ended by itself, the stack restarts it just the same. */
function killIfThere(pid: number): void {
  try {
    Deno.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Retries `query` while PostgreSQL still recovers from the kill of a backend. */
export async function queryOnce<Row>(
  target: Target,
  ask: (sql: postgres.Sql) => Promise<Row>,
): Promise<Row> {
  const deadline = Date.now() + PATIENCE_MILLISECONDS;
  while (true) {
    try {
      return await query(target, ask);
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

/** Queries as the superuser. A restarted stack has its PostgreSQL on another port. */
async function query<Row>(
  { stateDir }: Target,
  ask: (sql: postgres.Sql) => Promise<Row>,
): Promise<Row> {
  const { SUPABASE_SUPERUSER_DB_URL } = await readEnvironment(stateDir);
  const sql = postgres(SUPABASE_SUPERUSER_DB_URL!, { max: 1, onnotice: () => {} });
  try {
    return await ask(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}
