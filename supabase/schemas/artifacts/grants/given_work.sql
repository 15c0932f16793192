-- What becomes of a grant as work, for its giver.

create function artifacts.count_tasks(grant_id text, to_tag text) returns jsonb
language plpgsql
stable
set search_path = ''
-- For the same reason as in grant_ids_since.
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  return (
    select jsonb_build_object(
      'waiting', count(*) filter (where s.state = 'waiting'),
      'taken', count(*) filter (where s.state = 'taken'),
      'done', count(*) filter (where s.state = 'done'),
      'parked', count(*) filter (where s.state = 'parked')
    )
    from (
      (
        select artifacts.state_now(t.state, t.ready_at, t.attempt, t.max_attempts) as state
        from artifacts.tasks t
        where t.grant_id = count_tasks.grant_id
        limit 1000
      )
      union all
      (
        -- The agents of the tag that have not looked for work yet.
        select 'waiting'
        from agents.agent_tags a
        where a.tag = count_tasks.to_tag
          and not exists (
            select
            from artifacts.tasks t
            where t.grant_id = count_tasks.grant_id and t.queue = a.agent_id || '#' || a.tag
          )
        limit 1000
      )
    ) s
  );
end
$$;
comment on function artifacts.count_tasks(text, text) is
  'Of a grant to each agent of a tag: how many of its tasks are in which state, up to 1000 of the '
  'tasks that agents have looked at, and 1000 of the others.';

create function artifacts.work_of(given artifacts.grants) returns table (work jsonb)
language sql
stable
-- Always returns one row. An SQL-standard body is inlined.
begin atomic
  select jsonb_build_object(
    'note', h.note,
    'deliver', case when (work_of.given).grantee is not null then artifacts.delivery(h.is_shared) end,
    'state', case
      when (work_of.given).to_agent is not null or h.is_shared
      then artifacts.state_now(t.state, t.ready_at, t.attempt, t.max_attempts)
    end,
    'attempt', case
      when (work_of.given).to_agent is not null or h.is_shared then coalesce(t.attempt, 0)
    end,
    -- Whoever takes or finishes a task has seen it.
    'shown_at', agents.iso_timestamp(least(v.shown_at, t.first_taken_at, t.done_at)),
    'taken_by', case when t.state = 'done' or t.state = 'taken' and t.ready_at > now() then t.taken_by end,
    'taken_until', case
      when t.state = 'taken' and t.ready_at > now() then agents.iso_timestamp(t.ready_at)
    end,
    'done_at', agents.iso_timestamp(t.done_at),
    'reason', t.reason,
    'reply_grant_id', t.reply_grant_id,
    'tasks', case
      when (work_of.given).to_tag is not null and not h.is_shared
      then artifacts.count_tasks((work_of.given).grant_id, (work_of.given).to_tag)
    end
  )
  from artifacts.hand_over_of((work_of.given).grant_id) h
  left join lateral (
    select k.state, k.ready_at, k.attempt, k.max_attempts, k.taken_by, k.first_taken_at, k.done_at,
      k.reason, k.reply_grant_id
    from artifacts.tasks k
    where k.grant_id = (work_of.given).grant_id
      and k.queue = coalesce((work_of.given).to_agent, case when h.is_shared then '#' || (work_of.given).to_tag end)
    limit 1
  ) t on true
  left join lateral (
    select s.shown_at
    from artifacts.inbox_views s
    where s.grantee = (work_of.given).grantee
      and s.seen_through > (work_of.given).transaction_id
      and pg_visible_in_snapshot((work_of.given).transaction_id, s.seen)
    order by s.grantee, s.seen_through
    limit 1
  ) v on true;
end;
comment on function artifacts.work_of(artifacts.grants) is
  'A grant as work, as its giver sees it: {note, deliver, state, attempt, shown_at, taken_by, '
  'taken_until, done_at, reason, reply_grant_id, tasks}. For a grant to each agent of a tag, tasks '
  'counts them by state, and state is null.';
