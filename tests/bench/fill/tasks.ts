/** Fills the tables of hand-overs as work. */
import type postgres from "postgres";
import { FOREMAN, HOARDER, WORKER } from "./cast.ts";
import { fillInChunks } from "./chunks.ts";

/** So many tasks wait, some of them again, so many are taken, and so many are parked. */
const FEW = 10;

/** Call it after the grants are there. */
export async function fillTasks(sql: postgres.Sql, artifacts: number): Promise<void> {
  await sql`
    insert into artifacts.hand_overs (grant_id, from_agent, note, idempotency_key)
    select g.grant_id, g.from_agent, 'Build it.', left(g.grant_id, 38)
    from artifacts.grants g where g.from_agent = ${HOARDER}`;
  await fillInChunks(sql, 1, (transaction) =>
    transaction`
      insert into artifacts.artifacts (artifact_id, agent_id, key, mime, size_bytes, ttl_days,
        state, sha256, created_at, committed_at, expires_at, commit_attempts, sealed_attempt, version)
      values ('art_' || md5('work'), ${FOREMAN}, 'work.txt', 'text/plain', 100, 365, 'committed',
        encode(sha256('work'), 'hex'), now() - interval '10 days', now() - interval '10 days',
        now() + interval '100 days', 1, 1, 1)`);
  await fillInChunks(sql, artifacts / 20 + 3 * FEW, async (transaction, { from, to }) => {
    await transaction`
      insert into artifacts.grants (grant_id, artifact_id, from_agent, to_agent, token_hash,
        granted_at, expires_at)
      select 'grant_' || md5('work ' || i), 'art_' || md5('work'), ${FOREMAN}, ${WORKER}, encode(sha256(convert_to('work ' || i, 'UTF8')), 'hex'),
        now() - interval '9 days' + i * interval '1 ms', now() + interval '90 days'
      from generate_series(${from}::integer, ${to}::integer - 1) i`;
    await transaction`
      insert into artifacts.tasks (grant_id, agent_id, state, attempt, ready_at, take_id, taken_by,
        done_at, waits_again_since)
      select 'grant_' || md5('work ' || i), ${WORKER}, s.state,
        case when s.state = 'waiting' then 0 else 1 end,
        case s.state when 'waiting' then now() - interval '1 day'
          when 'taken' then now() + interval '1 day' end,
        case when s.state <> 'waiting' then 'take_' || md5('take ' || i) end,
        case when s.state <> 'waiting' then ${WORKER} end,
        case when s.state = 'done' then now() end,
        case when s.state = 'waiting' then '5'::xid8 end
      from generate_series(${from}::integer, ${to}::integer - 1) i
      cross join lateral (
        select case when i < ${FEW}::integer then 'taken'
          when i < ${2 * FEW}::integer then 'waiting'
          when i < ${3 * FEW}::integer then 'parked' else 'done' end as state
      ) s`;
  });
  await sql`
    insert into artifacts.task_queues (agent_id, filled_through)
    select ${WORKER}, max(g.transaction_id::text::bigint)::text::xid8
    from artifacts.grants g where g.to_agent = ${WORKER}`;
  await fillInChunks(
    sql,
    Math.max(artifacts / 100, 100),
    (transaction, { from, to }) =>
      transaction`
      insert into artifacts.task_queues (agent_id, to_tag)
      select 'peer-' || i, 'tag:fleet-1'
      from generate_series(${from}::integer, ${to}::integer - 1) i`,
  );
  // Before all grants: nothing in them has been shown.
  await fillInChunks(
    sql,
    Math.max(artifacts / 10, 200),
    (transaction, { from, to }) =>
      transaction`
      insert into artifacts.inbox_views (agent_id, seen)
      select case when i % 2 = 0 then ${WORKER} else 'peer-' || i end, format('1:%s:', 2 + i)::pg_snapshot
      from generate_series(${from}::integer, ${to}::integer - 1) i`,
  );
  await sql`analyze artifacts.hand_overs, artifacts.tasks, artifacts.task_queues, artifacts.grants,
    artifacts.inbox_views`;
}
