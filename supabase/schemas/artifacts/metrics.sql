-- What GET /metrics of agent-artifacts returns. It reads counters that are updated with every
-- change, and the ends of indexes, so it takes the same time for a million artifacts as for one.

create function artifacts.sweep_backlog()
returns table (kind text, count bigint, waits_since timestamptz)
language sql
stable
set search_path = ''
as $$
  -- Only artifacts whose end was over an hour ago: a running sweep has ended them by then.
  (
    select 'to_end', count(*), min(o.over_at)
    from (
      select coalesce(a.deleted_at, a.expires_at) as over_at
      from artifacts.artifacts a
      where a.ended_at is null
        and a.state <> 'pending'
        and coalesce(a.deleted_at, a.expires_at) < now() - interval '1 hour'
      order by coalesce(a.deleted_at, a.expires_at)
      limit 1000
    ) o
  )
  union all
  (
    select 'to_empty', count(*), min(e.ended_at)
    from (
      select a.ended_at
      from artifacts.artifacts a
      where a.ended_at is not null and a.removed_at is null
      order by a.ended_at
      limit 1000
    ) e
  )
  union all
  (
    select 'to_forget', count(*), min(t.ended_at) + interval '30 days'
    from (
      select a.ended_at
      from artifacts.artifacts a
      where a.removed_at is not null and a.ended_at < now() - interval '30 days'
      order by a.ended_at
      limit 1000
    ) t
  )
$$;
comment on function artifacts.sweep_backlog() is
  'What is left for the sweep, counted up to a thousand of each kind: artifacts to end, ended '
  'artifacts whose bytes must be removed, tombstones to delete.';

create function artifacts.count_parked() returns bigint
language sql
stable
set search_path = ''
as $$
  select count(*)
  from (
    -- The sweep deletes those among them whose grants have ended.
    select t.grant_id
    from artifacts.tasks t
    where t.state = 'parked'
    order by t.grant_id, t.queue
    limit 1000
  ) p
  cross join lateral (
    select g.live_until from artifacts.grants g where g.grant_id = p.grant_id limit 1
  ) g
  where g.live_until > now()
$$;
comment on function artifacts.count_parked() is
  'How many tasks are parked, counted up to a thousand.';

create function artifacts.first_parked() returns text
language plpgsql
stable
set search_path = ''
as $$
begin
  return (
    select p.grant_id
    from (
      select t.grant_id
      from artifacts.tasks t
      where t.state = 'parked'
      order by t.grant_id, t.queue
      limit 1000
    ) p
    cross join lateral (
      select g.live_until from artifacts.grants g where g.grant_id = p.grant_id limit 1
    ) g
    where g.live_until > now()
    order by p.grant_id
    limit 1
  );
end
$$;
comment on function artifacts.first_parked() is 'The grant of a parked task; null: none is parked.';

create function public.agent_api_read_artifacts_metrics(caller jsonb) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  answer json;
begin
  perform agents.authenticate_operator(agent_api_read_artifacts_metrics.caller);

  select json_build_object(
    'artifacts', json_build_object(
      'pending', held.pending, 'committed', held.committed, 'superseded', held.superseded
    ),
    'bytes', json_build_object(
      'pending', held.pending_bytes,
      'committed', held.committed_bytes,
      'superseded', held.superseded_bytes
    ),
    'surplus_bytes', held.surplus_bytes,
    'grants', held.grants,
    'parked_tasks', artifacts.count_parked(),
    'backlog', backlog.counts,
    'backlog_since', extract(epoch from backlog.waits_since),
    'swept_at', (select extract(epoch from s.swept_at) from artifacts.sweeps s),
    'activity', agents.activity_of('agent-artifacts'),
    'keys_expiring', agents.count_expiring('7 days'),
    'database_bytes', pg_database_size(current_database()),
    'held_log', agents.held_log(),
    'webhooks', agents.webhook_backlog(),
    'last_event_id', (select max(e.event_id) from agents.events e),
    'oldest_event_at', (
      select extract(epoch from e.occurred_at) from agents.events e order by e.event_id limit 1
    )
  ) into answer
  from (
    select
      coalesce(sum(p.pending), 0) as pending,
      coalesce(sum(p.committed), 0) as committed,
      coalesce(sum(p.superseded), 0) as superseded,
      coalesce(sum(p.pending_bytes), 0) as pending_bytes,
      coalesce(sum(p.committed_bytes), 0) as committed_bytes,
      coalesce(sum(p.superseded_bytes), 0) as superseded_bytes,
      coalesce(sum(p.grants), 0) as grants,
      coalesce(sum(p.surplus_bytes), 0) as surplus_bytes
    from artifacts.project_totals p
  ) held
  cross join (
    select json_object_agg(b.kind, b.count) as counts, min(b.waits_since) as waits_since
    from artifacts.sweep_backlog() b
  ) backlog;
  return answer;
end
$$;
comment on function public.agent_api_read_artifacts_metrics(jsonb) is
  'What agent-artifacts returns at /metrics: {artifacts, bytes, surplus_bytes, grants, '
  'parked_tasks, backlog, backlog_since, swept_at, activity, keys_expiring, database_bytes, '
  'held_log, webhooks, last_event_id, oldest_event_at}; times are seconds since 1970, or null. Raises unauthenticated, forbidden.';
