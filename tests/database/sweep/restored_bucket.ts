/** A bucket of any size, a restore that loses rows, and the part of /sweep that finds orphans. */
import assert from "node:assert/strict";
import type postgres from "postgres";
import { callAsService } from "../connection.ts";
import { pathsInBucket } from "./seeded_bucket.ts";

/**
 * The round in progress, and one round each to find an orphan, count all of them, and remove it.
 */
export const ROUNDS_UNTIL_REMOVED = 4;

const OPERATOR = { kind: "operator", request_id: "test" };

interface DeadObjects {
  readonly orphan_paths: readonly string[];
  readonly orphans_held: number;
  readonly remaining: number;
}

/** The paths that several calls removed, and the largest number that one of them held. */
export interface SweptBucket {
  readonly removed: readonly string[];
  readonly held: number;
}

/**
 * Writes `sealed` committed artifacts and `uploaded` pending ones, each with one object that is 15
 * days old. Their keys are numbered, and their ids are spread over the bucket's names.
 */
export async function fillBucket(
  sql: postgres.Sql,
  { sealed, uploaded = 0 }: { sealed: number; uploaded?: number },
): Promise<void> {
  await sql`
    insert into artifacts.artifacts (
      artifact_id, agent_id, key, mime, size_bytes, ttl_days, state, sha256, created_at,
      committed_at, expires_at, commit_attempts, rejected_attempts, sealed_attempt
    )
    select 'art_' || md5('sealed' || i), 'planner', 'sealed/' || i, 'text/plain', 0, 90,
      'committed', encode(sha256(''), 'hex'), now() - interval '16 days',
      now() - interval '15 days', now() + interval '75 days', 1, 0, 1
    from generate_series(1, ${sealed}::integer) i`;
  await sql`
    insert into artifacts.artifacts (
      artifact_id, agent_id, key, mime, size_bytes, ttl_days, state, created_at, commit_attempts,
      rejected_attempts
    )
    select 'art_' || md5('uploaded' || i), 'planner', 'uploaded/' || i, 'text/plain', 0, 90,
      'pending', now(), 0, 0
    from generate_series(1, ${uploaded}::integer) i`;
  await sql`
    insert into storage.objects (bucket_id, name, version, created_at, metadata)
    select 'agent-artifacts',
      case
        when a.state = 'committed' then artifacts.sealed_path(a.artifact_id, 1)
        else artifacts.incoming_path(a.artifact_id)
      end,
      gen_random_uuid(), now() - interval '15 days', '{"size": 0}'
    from artifacts.artifacts a`;
}

/** Deletes rows. Returns the paths of their objects, and a function that restores the rows. */
export async function loseRows(
  sql: postgres.Sql,
  keys: readonly string[],
): Promise<{ paths: string[]; putBack: () => Promise<void> }> {
  const rows = await sql<{ row: postgres.JSONValue; path: string }[]>`
    delete from artifacts.artifacts a where a.key = any(${[...keys]})
    returning to_jsonb(a) as row,
      case
        when a.state = 'committed' then artifacts.sealed_path(a.artifact_id, 1)
        else artifacts.incoming_path(a.artifact_id)
      end as path`;
  return {
    paths: rows.map(({ path }) => path).sort(),
    async putBack() {
      await sql`
        insert into artifacts.artifacts
        select * from jsonb_populate_recordset(null::artifacts.artifacts, ${
        sql.json(rows.map(({ row }) => row))
      })`;
    },
  };
}

/** The keys of `count` artifacts of one kind, starting with number `from`. */
export function keysOf(kind: "sealed" | "uploaded", count: number, from = 1): string[] {
  return Array.from({ length: count }, (_, index) => `${kind}/${from + index}`);
}

/** One call of the sweep: finds dead objects and removes them. */
export async function sweepOnce(
  sql: postgres.Sql,
  { force = false, limit = 1000 } = {},
): Promise<SweptBucket & { readonly remaining: number }> {
  await callAsService(sql, "end_artifacts", {
    caller: OPERATOR,
    max_entries: limit,
    window_seconds: 60,
  });
  const found = await callAsService<DeadObjects>(sql, "collect_dead_objects", {
    caller: OPERATOR,
    max_entries: limit,
    remove_many_orphans: force,
  });
  const removed = [...found.orphan_paths];
  if (removed.length > 0) {
    await sql.begin(async (transaction) => {
      await transaction`set local storage.allow_delete_query = 'true'`;
      await transaction`delete from storage.objects where name = any(${removed})`;
    });
  }
  return { removed, held: found.orphans_held, remaining: found.remaining };
}

/** Sweeps `rounds` times until nothing remains, each time to the end of a round. */
export async function sweepRounds(
  sql: postgres.Sql,
  rounds: number,
  options: { force?: boolean; limit?: number } = {},
): Promise<SweptBucket> {
  const removed: string[] = [];
  let held = 0;
  for (let round = 0; round < rounds; round++) {
    let remaining: number;
    do {
      const swept = await sweepOnce(sql, options);
      removed.push(...swept.removed);
      held = Math.max(held, swept.held);
      remaining = swept.remaining;
    } while (remaining > 0);
  }
  return { removed: removed.sort(), held };
}

/** Sweeps `sweeps` times, and asserts that there is nothing to remove. */
export async function idle(sql: postgres.Sql, sweeps: number): Promise<void> {
  for (let sweep = 0; sweep < sweeps; sweep++) {
    const { removed, held } = await sweepOnce(sql);
    assert.deepEqual([removed, held], [[], 0]);
  }
}

/** Asserts that sweeps leave the bucket unchanged, and that one of them reports all `lost`. */
export async function assertHeld(sql: postgres.Sql, lost: readonly string[]): Promise<void> {
  const before = await pathsInBucket(sql);
  const swept = await sweepRounds(sql, ROUNDS_UNTIL_REMOVED);
  assert.deepEqual(swept, { removed: [], held: lost.length });
  assert.deepEqual(await pathsInBucket(sql), before);
}
