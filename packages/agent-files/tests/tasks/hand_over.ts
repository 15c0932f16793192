/** What the tests of tasks share. */
import assert from "node:assert/strict";
import { withStackDatabase } from "../../../../tests/database/connection.ts";
import type { ConnectionOptions } from "../../index.ts";
import { agentFiles, type ClientOfAgent } from "../cast.ts";

export interface HandOver {
  readonly planner: ClientOfAgent;
  readonly builder: ClientOfAgent;
}

/** A giver, and a worker that was given these files in this order. */
export async function handOver(
  keys: readonly string[],
  options: Partial<ConnectionOptions> = {},
): Promise<HandOver> {
  const [planner, builder] = [await agentFiles("planner"), await agentFiles("builder", options)];
  for (const key of keys) await planner.files.put(key, `of ${key}`, { to: [builder.agent.id] });
  return { planner, builder };
}

export interface Row {
  readonly key: string;
  readonly state: string;
  readonly attempt: number;
  readonly reason: string | null;
  /** Whether it can be taken now. */
  readonly is_ready: boolean;
}

/** What the database knows of the tasks that an agent has looked at, in order of their keys. */
export async function tasksOf({ agent }: ClientOfAgent): Promise<Row[]> {
  const rows = await withStackDatabase((sql) =>
    sql<Row[]>`
      select a.key, t.state, t.attempt, t.reason,
        coalesce(t.ready_at <= clock_timestamp(), false) as is_ready
      from artifacts.tasks t
      join artifacts.grants g on g.grant_id = t.grant_id
      join artifacts.artifacts a on a.artifact_id = g.artifact_id
      where t.agent_id = ${agent.id}
      order by a.key`
  );
  return [...rows];
}

/** Lets what an agent has taken lapse in this many seconds, whatever was agreed. */
export async function lapseIn({ agent }: ClientOfAgent, seconds: number): Promise<void> {
  await withStackDatabase((sql) =>
    sql`
      update artifacts.tasks t
      set ready_at = clock_timestamp() + make_interval(secs => ${seconds})
      where t.taken_by = ${agent.id} and t.state = 'taken'`
  );
}

/** A `fetch` that counts the requests by path, and lets the test handle some of them. */
export function countingFetch(
  handle: (path: string, go: () => Promise<Response>) => Promise<Response> = (_, go) => go(),
): { readonly fetch: typeof fetch; readonly asked: (path: string) => number } {
  const asked: string[] = [];
  return {
    fetch: (input, init) => {
      const path = new URL(String(input)).pathname.replace("/functions/v1/agent-artifacts", "");
      asked.push(path);
      return handle(path, () => fetch(input, init));
    },
    asked: (path) => asked.filter((one) => one === path).length,
  };
}

/** Runs with timers that fire sooner, and a clock that goes faster, by this factor. */
export async function hurried<Result>(factor: number, run: () => Promise<Result>): Promise<Result> {
  const { setTimeout } = globalThis;
  const { now } = performance;
  const beganAt = performance.now();
  globalThis.setTimeout =
    ((handler: () => void, milliseconds = 0) =>
      setTimeout(handler, milliseconds / factor)) as typeof setTimeout;
  performance.now = () => beganAt + (now.call(performance) - beganAt) * factor;
  try {
    return await run();
  } finally {
    globalThis.setTimeout = setTimeout;
    performance.now = now;
  }
}

/** Asserts that the signal is aborted, or will be, and returns the reason. */
export async function reasonOf(signal: AbortSignal): Promise<{ readonly code?: string }> {
  if (!signal.aborted) {
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  }
  assert.ok(signal.aborted);
  return signal.reason;
}
