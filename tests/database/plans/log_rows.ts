import type postgres from "postgres";
import { HOARDER, READER } from "../../bench/fill/cast.ts";

/** The number of events that are past their retention. */
const OLD_EVENTS = 1_500;

/**
 * Work for the sweep in the log of a filled database: expired events, and as many counted reads and
 * usage counts as there are artifacts.
 */
export async function fillLog(
  sql: postgres.Sql,
  { artifacts }: { artifacts: number },
): Promise<void> {
  await sql.begin(async (transaction) => {
    // Disables the trigger that keeps the log append-only.
    await transaction`set local session_replication_role = replica`;
    await transaction`
      update agents.events set occurred_at = occurred_at - interval '500 days'
      where event_id in (select e.event_id from agents.events e order by e.event_id limit ${OLD_EVENTS})`;
  });
  await sql`
    insert into agents.reads (
      object_id, reader, actor_kind, action, subject_agent_id, details, told_at, told_reads, untold_reads, last_read_at
    )
    select 'art_' || md5('artifact ' || i), ${HOARDER}, 'agent', 'artifact.opened', ${HOARDER}, '{}',
      now() - make_interval(secs => 100 + i), 1, 1, now()
    from generate_series(0, ${artifacts}::integer - 1) i`;
  // Reads by grant tokens. They are the oldest, so they are settled first.
  await sql`
    insert into agents.reads (
      object_id, reader, actor_kind, action, subject_agent_id, details, told_at, told_reads, untold_reads, last_read_at
    )
    select 'grant_' || md5('live ' || i), '', 'grant_token', 'artifact.fetched', ${READER}, '{}',
      now() - interval '10 days', 1, 1, now()
    from generate_series(0, 499) i`;
  // Half of these are due. In each half, every second one has an untold change.
  await sql`
    insert into agents.repeated_changes (
      actor, kind, subject_agent_id, other_agent_id, actor_kind, action, details, told_at, untold, last_at, due_at
    )
    select 'agent-' || i % 100, 'rule', 'agent-' || i % 100, 'stranger-' || i, 'agent', 'rule.requested',
      '{}', now() - interval '2 hours', i % 2, now(), now() + make_interval(secs => i - ${artifacts} / 2)
    from generate_series(0, ${artifacts}::integer - 1) i`;
  await sql`
    insert into agents.changed_things
    select 'agent-' || i, now(), 1 from generate_series(0, ${artifacts}::integer - 1) i`;
  // One row for each of as many agents. Most of these rows have not expired.
  await sql`
    insert into agents.usage
    select 'agent-' || i, current_date - i % 50, 10, 1, 0, 0, 0
    from generate_series(0, ${artifacts}::integer - 1) i`;
  await sql`
    insert into agents.refusals
    select 'agent-' || i, date_trunc('hour', now() - make_interval(hours => i % 1200), 'UTC'), 'forbidden', 1
    from generate_series(0, ${artifacts}::integer - 1) i`;
  await sql`
    insert into agents.key_uses select k.key_id, now() from agents.keys k on conflict do nothing`;
  for (
    const table of [
      "events",
      "reads",
      "repeated_changes",
      "changed_things",
      "usage",
      "refusals",
      "key_uses",
    ]
  ) {
    await sql`vacuum analyze ${sql(`agents.${table}`)}`;
  }
}
