/** Measures the service for other agents while a fleet enrols. */
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Agent } from "../../conformance/client.ts";
import { whoami } from "../../conformance/enrolment/enrolments.ts";
import { withStackDatabase } from "../../database/connection.ts";

export interface Watched {
  /** Durations of the bystander's requests, in ascending order. */
  readonly milliseconds: readonly number[];
  /** How many lock holders were seen: transactions that held a lock, summed over all samples. */
  readonly holders: number;
  /** In seconds: the age of the oldest transaction that held a lock. No lock is older than that. */
  readonly longestHold: number;
  /** In seconds: the longest time that a transaction waited for a lock. */
  readonly longestWait: number;
}

/**
 * Measures until the returned function is called: the durations of a bystander's requests, the age
 * of the service's transactions that hold a row lock or an advisory lock, and how long other
 * transactions wait for a lock.
 */
export function watch(bystander: Agent): () => Promise<Watched> {
  let isOver = false;
  const milliseconds: number[] = [];
  let [holders, longestHold, longestWait] = [0, 0, 0];
  const asking = (async () => {
    while (!isOver) {
      const startedAt = performance.now();
      assert.equal((await whoami(bystander)).status, 200);
      milliseconds.push(performance.now() - startedAt);
      await sleep(20);
    }
  })();
  const looking = withStackDatabase(async (sql) => {
    while (!isOver) {
      const [row] = await sql<{ holders: number; held: number | null; waited: number | null }[]>`
        select
          count(*) filter (where is_holder)::int as holders,
          max(extract(epoch from clock_timestamp() - xact_start))
            filter (where is_holder)::float8 as held,
          (
            select max(extract(epoch from clock_timestamp() - waitstart))::float8
            from pg_locks where not granted
          ) as waited
        from (
          -- Whoever has locked a row has a transaction identifier.
          select a.xact_start, a.backend_xid is not null or exists (
            select from pg_locks l
            where l.pid = a.pid and l.granted and l.locktype = 'advisory'
          ) as is_holder
          from pg_stat_activity a
          where a.usename = 'authenticator' and a.xact_start is not null
        ) transactions`;
      holders += row!.holders;
      longestHold = Math.max(longestHold, row!.held ?? 0);
      longestWait = Math.max(longestWait, row!.waited ?? 0);
      await sleep(10);
    }
  });
  return async () => {
    isOver = true;
    await Promise.all([asking, looking]);
    milliseconds.sort((one, other) => one - other);
    return { milliseconds, holders, longestHold, longestWait };
  };
}

/** The quantile of values in ascending order; `share` is from 0 to 1. */
export function quantile(values: readonly number[], share: number): number {
  return values[Math.min(values.length - 1, Math.floor(values.length * share))]!;
}
