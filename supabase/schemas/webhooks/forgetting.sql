-- How the rows of webhooks end, and what /metrics and the doctor tell of them.

create function public.agent_api_forget_deliveries(caller jsonb, max_entries integer) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  ended_id text;
  deleted integer;
  left_over integer := agent_api_forget_deliveries.max_entries;
  remaining integer;
begin
  perform agents.authenticate_operator(agent_api_forget_deliveries.caller);
  delete from agents.webhook_deliveries d
  -- Found by ctid, which cannot change while the row is locked.
  where d.ctid = any (array(
    select o.ctid
    from agents.webhook_deliveries o
    where o.forget_at < now()
    order by o.forget_at
    limit agent_api_forget_deliveries.max_entries
    for update skip locked
  ));
  for ended_id in
    select w.webhook_id
    from agents.webhooks w
    -- A transaction that began before the end may still add a delivery.
    where w.ended_at < now() - interval '1 minute'
      and (
        w.ended_at < now() - interval '30 days'
        or exists (select from agents.webhook_deliveries d where d.webhook_id = w.webhook_id)
      )
    order by w.ended_at
    limit 100
  loop
    delete from agents.webhook_deliveries d
    where d.webhook_id = ended_id
      and d.event_id = any (array(
        select o.event_id
        from agents.webhook_deliveries o
        where o.webhook_id = ended_id
        order by o.event_id
        limit left_over
        for update skip locked
      ));
    get diagnostics deleted = row_count;
    left_over := left_over - deleted;
    exit when left_over <= 0;
    delete from agents.webhooks w
    where w.webhook_id = ended_id
      -- Until then, the operator sees why it ended.
      and w.ended_at < now() - interval '30 days'
      and not exists (select from agents.webhook_deliveries d where d.webhook_id = ended_id);
  end loop;
  select count(*) into remaining
  from (
    (
      select from agents.webhook_deliveries d
      where d.forget_at < now()
      order by d.forget_at
      limit 1000
    )
    union all
    (
      select from agents.webhooks w
      where w.ended_at < now() - interval '1 minute'
        and exists (select from agents.webhook_deliveries d where d.webhook_id = w.webhook_id)
      limit 1000
    )
  ) later;
  return json_build_object('remaining', remaining);
end
$$;
comment on function public.agent_api_forget_deliveries(jsonb, integer) is
  'Deletes deliveries a day after they arrived, and 30 days after they were parked; deliveries of '
  'ended webhooks; and ended webhooks after 30 days. Returns {remaining}, which counts at most a few '
  'thousand. Raises forbidden for an agent.';

create function agents.webhook_backlog() returns jsonb
language plpgsql
stable
set search_path = ''
as $$
begin
  return jsonb_build_object(
    'waiting', (
      select count(*)
      from (
        select
        from agents.webhook_deliveries d
        where d.forget_at is null
        order by d.webhook_id, d.next_at
        limit 1000
      ) w
    ),
    'parked', (
      select count(*)
      from (
        select
        from agents.webhook_deliveries d
        where d.parked_at is not null
        order by d.webhook_id, d.event_id
        limit 1000
      ) p
    ),
    'waits_since', (
      select extract(epoch from min(b.next_at))
      from agents.webhooks w
      cross join lateral (
        select d.next_at
        from agents.webhook_deliveries d
        where d.webhook_id = w.webhook_id and d.forget_at is null
        order by d.next_at
        limit 1
      ) b
      where w.ended_at is null
    )
  );
end
$$;
comment on function agents.webhook_backlog() is
  'Of all webhooks: {waiting, parked, waits_since}. The counts stop at 1000. waits_since is when '
  'the first delivery of a live webhook is or was due, in seconds since 1970, or null.';
