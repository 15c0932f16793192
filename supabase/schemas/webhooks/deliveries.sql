-- What waits, what was given up and what was delivered, as the operator sees it.

create function agents.delivery_backlog(webhook_id text)
returns table (waiting bigint, parked bigint, waits_since timestamptz)
language sql
stable
begin atomic
  select
    (
      select count(*)
      from (
        select
        from agents.webhook_deliveries d
        where d.webhook_id = delivery_backlog.webhook_id and d.forget_at is null
        -- The order of an index, here and below. Otherwise the planner may read the whole table.
        order by d.next_at
        limit 1000
      ) w
    ),
    (
      select count(*)
      from (
        select
        from agents.webhook_deliveries d
        where d.webhook_id = delivery_backlog.webhook_id and d.parked_at is not null
        order by d.event_id
        limit 1000
      ) p
    ),
    (
      select d.next_at
      from agents.webhook_deliveries d
      where d.webhook_id = delivery_backlog.webhook_id and d.forget_at is null
      order by d.next_at
      limit 1
    );
end;
comment on function agents.delivery_backlog(text) is
  'How many deliveries of a webhook wait and are parked, counted up to 1000 each, and when the '
  'first of them is due.';

create function public.agent_api_list_webhooks(max_entries integer, after text default '') returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  page agents.webhooks[] := array(
    select w
    from agents.webhooks w
    where agent_api_list_webhooks.after = '' or (w.created_at, w.webhook_id) > (
      select l.created_at, l.webhook_id
      from agents.webhooks l
      where l.webhook_id = agent_api_list_webhooks.after
    )
    order by w.created_at, w.webhook_id
    -- Each counts up to 2000 deliveries.
    limit least(agent_api_list_webhooks.max_entries, 100)
  );
begin
  return json_build_object(
    'found', (
      select coalesce(
        json_agg(
          agents.webhook_json(page[p.place]) || jsonb_build_object('waiting', b.waiting, 'parked', b.parked)
          order by p.place
        ),
        '[]'
      )
      from generate_subscripts(page, 1) as p (place)
      cross join agents.delivery_backlog((page[p.place]).webhook_id) b
    ),
    'next', case
      when cardinality(page) = least(agent_api_list_webhooks.max_entries, 100)
      then (page[cardinality(page)]).webhook_id
    end
  );
end
$$;
comment on function public.agent_api_list_webhooks(integer, text) is
  'Webhooks, oldest first, at most 100 per page: {found: [what webhook_json returns, waiting, '
  'parked], next | null}. The counts stop at 1000.';

create function public.agent_api_list_deliveries(
  webhook_id text,
  max_entries integer,
  after text default '',
  state text default 'all'
) returns json
language plpgsql
stable
security invoker
set search_path = ''
-- An index has each order. Otherwise the planner, which does not know how many rows a webhook has,
-- may read and sort all of them.
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  -- The place of the last row of the page before: <event>, or <time>/<event> of what waits.
  after_event constant bigint := nullif(
    split_part(agent_api_list_deliveries.after, '/', case agent_api_list_deliveries.state when 'waiting' then 2 else 1 end),
    ''
  )::bigint;
  after_time constant timestamptz := case
    when agent_api_list_deliveries.state = 'waiting'
    then nullif(split_part(agent_api_list_deliveries.after, '/', 1), '')::timestamptz
  end;
  page agents.webhook_deliveries[];
begin
  case agent_api_list_deliveries.state
    when 'waiting' then
      page := array(
        select d
        from agents.webhook_deliveries d
        where d.webhook_id = agent_api_list_deliveries.webhook_id
          and d.forget_at is null
          and (d.next_at, d.event_id) > (coalesce(after_time, '-infinity'), coalesce(after_event, 0))
        order by d.next_at, d.event_id
        limit agent_api_list_deliveries.max_entries
      );
    when 'parked' then
      page := array(
        select d
        from agents.webhook_deliveries d
        where d.webhook_id = agent_api_list_deliveries.webhook_id
          and d.parked_at is not null
          and d.event_id < coalesce(after_event, 9223372036854775807)
        order by d.event_id desc
        limit agent_api_list_deliveries.max_entries
      );
    else
      page := array(
        select d
        from agents.webhook_deliveries d
        where d.webhook_id = agent_api_list_deliveries.webhook_id
          and d.event_id < coalesce(after_event, 9223372036854775807)
        order by d.event_id desc
        limit agent_api_list_deliveries.max_entries
      );
  end case;
  return json_build_object(
    'found', (
      select coalesce(
        json_agg(
          json_build_object(
            'event_id', 'evt_' || (page[p.place]).event_id,
            'type', e.action,
            'state', case
              when (page[p.place]).delivered_at is not null then 'delivered'
              when (page[p.place]).parked_at is not null then 'parked'
              when (page[p.place]).leased_until > now() then 'sending'
              else 'waiting'
            end,
            'attempts', (page[p.place]).attempts,
            'last_status', (page[p.place]).last_status,
            'last_error', (page[p.place]).last_error,
            'next_at', case
              when (page[p.place]).forget_at is null
              then agents.iso_timestamp((page[p.place]).next_at)
            end,
            'delivered_at', agents.iso_timestamp((page[p.place]).delivered_at),
            'parked_at', agents.iso_timestamp((page[p.place]).parked_at)
          )
          order by p.place
        ),
        '[]'
      )
      from generate_subscripts(page, 1) as p (place)
      -- `limit 1` forces one index lookup per row.
      left join lateral (
        select l.action from agents.events l where l.event_id = (page[p.place]).event_id limit 1
      ) e on true
    ),
    'next', case
      when cardinality(page) = agent_api_list_deliveries.max_entries
      then case agent_api_list_deliveries.state
        when 'waiting' then (page[cardinality(page)]).next_at || '/'
        else ''
      end || (page[cardinality(page)]).event_id
    end
  );
end
$$;
comment on function public.agent_api_list_deliveries(text, integer, text, text) is
  'The deliveries of a webhook: {found: [{event_id, type | null, state, attempts, last_status | '
  'null, last_error | null, next_at | null, delivered_at | null, parked_at | null}], next | null}. '
  'state is waiting, sending, delivered or parked. With the state waiting: those that are due first; '
  'with parked, or all: the newest events first.';

create function public.agent_api_requeue_deliveries(
  webhook_id text,
  event_id bigint default null,
  max_entries integer default 1000
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  webhook agents.webhooks := agents.live_webhook(agent_api_requeue_deliveries.webhook_id);
  requeued_count integer;
begin
  update agents.webhook_deliveries d
  set parked_at = null, forget_at = null, attempts = 0, first_attempt_at = null,
    next_at = clock_timestamp()
  where d.webhook_id = webhook.webhook_id
    and d.event_id = any (array(
      select p.event_id
      from agents.webhook_deliveries p
      where p.webhook_id = webhook.webhook_id
        and p.parked_at is not null
        and p.event_id between coalesce(agent_api_requeue_deliveries.event_id, 0)
          and coalesce(agent_api_requeue_deliveries.event_id, 9223372036854775807)
      order by p.event_id
      limit agent_api_requeue_deliveries.max_entries
      for update skip locked
    ));
  get diagnostics requeued_count = row_count;
  if requeued_count > 0 then
    perform agents.kick_deliveries();
  end if;
  return json_build_object(
    'requeued', requeued_count,
    'remaining', case
      when agent_api_requeue_deliveries.event_id is null
      then (select b.parked from agents.delivery_backlog(webhook.webhook_id) b)
      else 0
    end
  );
end
$$;
comment on function public.agent_api_requeue_deliveries(text, bigint, integer) is
  'Lets the parked deliveries of a webhook, or the one of an event, wait again: their attempts count '
  'from 0, and their 24 hours begin again. Returns {requeued, remaining}, which counts at most a '
  'thousand. Raises invalid_request.';
