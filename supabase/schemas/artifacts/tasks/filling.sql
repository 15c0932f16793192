-- Makes tasks of the grants that a queue has got since it was last looked at.

create function artifacts.has_unfilled_grants(grantee text, queue text) returns boolean
language plpgsql
stable
set search_path = ''
-- For the same reason as in grant_ids_since.
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  return exists (
    select
    from artifacts.grants g
    where g.grantee = has_unfilled_grants.grantee
      and g.transaction_id > coalesce(
        (select q.filled_through from artifacts.task_queues q where q.queue = has_unfilled_grants.queue),
        '0'
      )
  );
end
$$;
comment on function artifacts.has_unfilled_grants(text, text) is
  'Whether a grantee has grants that the queue has not looked at. Also true for a few that it has, '
  'while an older transaction is still writing.';

create function artifacts.fill_queue(agent_id text, to_tag text) returns void
language plpgsql
volatile
set search_path = ''
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  -- An upper limit on the grants that one call reads, in steps.
  grants_per_step constant integer := 1000;
  max_steps constant integer := 10;
  -- A variable: an index does not help with a volatile function.
  instant constant timestamptz := clock_timestamp();
  own_queue constant text := coalesce(fill_queue.agent_id, '') || coalesce('#' || fill_queue.to_tag, '');
  named constant text := artifacts.grantee(
    case when fill_queue.to_tag is null then fill_queue.agent_id end, fill_queue.to_tag
  );
  filled xid8;
  settled xid8;
  last_read xid8;
  read_count bigint;
begin
  insert into artifacts.task_queues (agent_id, to_tag) values (fill_queue.agent_id, fill_queue.to_tag)
  on conflict on constraint task_queues_pkey do nothing;
  -- Looks at one queue run one at a time, so none waits for another in the middle of its rows.
  select q.filled_through into filled from artifacts.task_queues q where q.queue = own_queue for update;
  -- The first look reads no grants that ended before it, however many there are.
  if filled = '0' then
    settled := (agents.horizon()::text::bigint - 1)::text::xid8;
    with live as (
      select g.grant_id, g.granted_at
      from artifacts.grants g
      where g.grantee = named and g.live_until > instant
      order by g.grantee, g.live_until
      limit max_steps * grants_per_step + 1
    ), filled_rows as (
      insert into artifacts.tasks (grant_id, agent_id, to_tag, max_attempts, ready_at)
      select l.grant_id, fill_queue.agent_id, fill_queue.to_tag, h.max_attempts, l.granted_at
      from live l
      cross join artifacts.hand_over_of(l.grant_id) h
      -- If there are more, only the steps below know where to go on.
      where (select count(*) from live) <= max_steps * grants_per_step
        and (fill_queue.to_tag is null or h.is_shared = (fill_queue.agent_id is null))
      on conflict on constraint an_agent_has_a_task_once do nothing
    )
    select count(*) into read_count from live;
    if read_count <= max_steps * grants_per_step then
      update artifacts.task_queues q set filled_through = settled where q.queue = own_queue;
      return;
    end if;
  end if;
  for step in 1..max_steps loop
    -- Read before the grants: every transaction up to here has ended, so its grants are seen.
    settled := (agents.horizon()::text::bigint - 1)::text::xid8;
    with step as (
      -- All grants of the last transaction, so that the next step can begin after it.
      select g.grant_id, g.transaction_id, g.granted_at, g.live_until
      from artifacts.grants g
      where g.grantee = named and g.transaction_id > filled
      order by g.grantee, g.transaction_id
      fetch first grants_per_step rows with ties
    ), filled_rows as (
      insert into artifacts.tasks (grant_id, agent_id, to_tag, max_attempts, ready_at)
      select s.grant_id, fill_queue.agent_id, fill_queue.to_tag, h.max_attempts, s.granted_at
      from step s
      cross join artifacts.hand_over_of(s.grant_id) h
      where s.live_until > clock_timestamp()
        and (fill_queue.to_tag is null or h.is_shared = (fill_queue.agent_id is null))
      on conflict on constraint an_agent_has_a_task_once do nothing
    )
    select count(*), (array_agg(s.transaction_id order by s.transaction_id desc))[1]
    into read_count, last_read
    from step s;
    exit when read_count = 0;
    filled := greatest(filled, least(last_read, settled));
    exit when read_count < grants_per_step or last_read > settled;
  end loop;
  update artifacts.task_queues q
  set filled_through = filled
  where q.queue = own_queue and q.filled_through < filled;
end
$$;
comment on function artifacts.fill_queue(text, text) is
  'Makes tasks of the grants that a queue has got since the last call, at most of about 10,000. '
  'Grants of a transaction that is newer than one still writing are looked at again next time.';

create function artifacts.fill_queues(agent_id text) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  next record;
begin
  for next in
    select n.agent_id, n.to_tag
    from (
      values (fill_queues.agent_id, null::text)
      union all
      select w.agent_id, t.tag
      from agents.agent_tags t
      cross join lateral (values (null::text), (fill_queues.agent_id)) w (agent_id)
      where t.agent_id = fill_queues.agent_id
    ) n (agent_id, to_tag)
    where artifacts.has_unfilled_grants(
      artifacts.grantee(case when n.to_tag is null then n.agent_id end, n.to_tag),
      coalesce(n.agent_id, '') || coalesce('#' || n.to_tag, '')
    )
    -- Agents of one tag share a queue: the same order for all of them.
    order by n.to_tag nulls first, n.agent_id nulls first
  loop
    perform artifacts.fill_queue(next.agent_id, next.to_tag);
  end loop;
end
$$;
comment on function artifacts.fill_queues(text) is
  'Calls fill_queue for each queue of an agent that has something new.';

create function artifacts.has_task(agent_id text, from_agent text, prefix text) returns boolean
language plpgsql
stable
set search_path = ''
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  return exists (
      select
      from unnest(artifacts.queues_of(has_task.agent_id)) as q (queue)
      cross join lateral (
        select
        from artifacts.tasks t
        cross join lateral (
          select g.from_agent, g.artifact_id from artifacts.grants g where g.grant_id = t.grant_id limit 1
        ) g
        cross join lateral (
          select a.key from artifacts.artifacts a where a.artifact_id = g.artifact_id limit 1
        ) a
        where t.queue = q.queue
          and t.ready_at <= now()
          and (has_task.from_agent is null or g.from_agent = has_task.from_agent)
          and (has_task.prefix is null or starts_with(a.key, has_task.prefix))
          and not artifacts.is_blocked(has_task.agent_id, g.from_agent)
        limit 1
      ) t
    )
    or artifacts.has_unfilled_grants(has_task.agent_id, has_task.agent_id)
    or exists (
      select
      from agents.agent_tags t
      where t.agent_id = has_task.agent_id
        and (
          artifacts.has_unfilled_grants('#' || t.tag, '#' || t.tag)
          or artifacts.has_unfilled_grants('#' || t.tag, has_task.agent_id || '#' || t.tag)
        )
    );
end
$$;
comment on function artifacts.has_task(text, text, text) is
  'Whether /inbox/take may find a task for an agent now: one that waits or whose take has lapsed, '
  'or a grant that it has not looked at yet.';
