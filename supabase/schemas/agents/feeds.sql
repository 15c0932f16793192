-- What an agent reads of the event log: what was done to its things, and what it did.
--
-- The order is that of (transaction_id, event_id), and only what is below the horizon is read: the
-- oldest transaction that is still writing. Whatever commits from now on has a higher
-- transaction_id, so nothing comes to lie behind a position that was given out. A position is
-- '<transaction_id>.<event_id>' of the last event that was looked at.

create function agents.events_after(
  agent_id text,
  after_transaction xid8,
  after_event bigint,
  max_entries integer
) returns setof agents.events
language plpgsql
stable
set search_path = ''
as $$
declare
  horizon xid8 := pg_snapshot_xmin(pg_current_snapshot());
begin
  if events_after.agent_id is null then
    return query
      select e.*
      from agents.events e
      where (e.transaction_id, e.event_id) > (events_after.after_transaction, events_after.after_event)
        and e.transaction_id < horizon
      order by e.transaction_id, e.event_id
      limit events_after.max_entries;
    return;
  end if;
  return query
    -- An event may concern an agent in two ways. It comes once.
    select distinct on (e.transaction_id, e.event_id) e.*
    from (
      (
        select e.*
        from agents.events e
        where e.subject_agent_id = events_after.agent_id
          and (e.transaction_id, e.event_id) > (events_after.after_transaction, events_after.after_event)
          and e.transaction_id < horizon
        order by e.subject_agent_id, e.transaction_id, e.event_id
        limit events_after.max_entries
      )
      union all (
        select e.*
        from agents.events e
        where e.other_agent_id = events_after.agent_id
          and (e.transaction_id, e.event_id) > (events_after.after_transaction, events_after.after_event)
          and e.transaction_id < horizon
        order by e.other_agent_id, e.transaction_id, e.event_id
        limit events_after.max_entries
      )
      union all (
        select e.*
        from agents.events e
        where e.actor_agent_id = events_after.agent_id
          and e.actor_agent_id <> e.subject_agent_id
          and (e.transaction_id, e.event_id) > (events_after.after_transaction, events_after.after_event)
          and e.transaction_id < horizon
        order by e.actor_agent_id, e.transaction_id, e.event_id
        limit events_after.max_entries
      )
    ) e
    order by e.transaction_id, e.event_id
    limit events_after.max_entries;
end
$$;
comment on function agents.events_after(text, xid8, bigint, integer) is
  'The next events that concern an agent (null: all events) after a position, of every type.';

create function agents.newest_events(agent_id text, max_entries integer) returns setof agents.events
language plpgsql
stable
set search_path = ''
as $$
declare
  horizon xid8 := pg_snapshot_xmin(pg_current_snapshot());
begin
  if newest_events.agent_id is null then
    return query
      select e.*
      from agents.events e
      where e.transaction_id < horizon
      order by e.transaction_id desc, e.event_id desc
      limit newest_events.max_entries;
    return;
  end if;
  return query
    select distinct on (e.transaction_id, e.event_id) e.*
    from (
      (
        select e.*
        from agents.events e
        where e.subject_agent_id = newest_events.agent_id and e.transaction_id < horizon
        order by e.subject_agent_id desc, e.transaction_id desc, e.event_id desc
        limit newest_events.max_entries
      )
      union all (
        select e.*
        from agents.events e
        where e.other_agent_id = newest_events.agent_id and e.transaction_id < horizon
        order by e.other_agent_id desc, e.transaction_id desc, e.event_id desc
        limit newest_events.max_entries
      )
      union all (
        select e.*
        from agents.events e
        where e.actor_agent_id = newest_events.agent_id
          and e.actor_agent_id <> e.subject_agent_id
          and e.transaction_id < horizon
        order by e.actor_agent_id desc, e.transaction_id desc, e.event_id desc
        limit newest_events.max_entries
      )
    ) e
    order by e.transaction_id desc, e.event_id desc
    limit newest_events.max_entries;
end
$$;
comment on function agents.newest_events(text, integer) is
  'The newest events that concern an agent (null: all events), of every type.';

create function agents.is_shown(event agents.events, agent_id text) returns boolean
language sql
stable
return agent_id is null
  or event.action not in ('grant.created', 'grant.revoked')
  or event.subject_agent_id is distinct from agent_id
  or event.other_agent_id is null
  or not artifacts.is_blocked(agent_id, event.other_agent_id);
comment on function agents.is_shown(agents.events, text) is
  'Whether an agent that an event concerns sees it: what a sender grants that it has blocked, it '
  'does not.';

create function agents.event_json(event agents.events, agent_id text) returns jsonb
language sql
stable
set search_path = ''
as $$
  select jsonb_build_object(
    'event_id', 'evt_' || (event_json.event).event_id,
    'type', (event_json.event).action,
    'at', agents.iso_timestamp((event_json.event).occurred_at),
    'actor_kind', (event_json.event).actor_kind,
    'actor', (event_json.event).actor_agent_id,
    'agent_id', (event_json.event).subject_agent_id
  ) || jsonb_strip_nulls(
    case split_part((event_json.event).action, '.', 1)
      when 'grant' then jsonb_build_object(
        'grant_id', (event_json.event).object_id,
        'artifact_id', (event_json.event).details -> 'artifact_id',
        'from_agent', (event_json.event).other_agent_id,
        'to_agent', (event_json.event).subject_agent_id,
        'expires_at', (event_json.event).details -> 'expires_at',
        'max_downloads', (event_json.event).details -> 'max_downloads'
      )
      when 'artifact' then jsonb_build_object(
        'artifact_id',
        agents.artifact_of_event((event_json.event).object_id, (event_json.event).details),
        'grant_id', case when starts_with((event_json.event).object_id, 'grant_') then (event_json.event).object_id end,
        'sha256', (event_json.event).details -> 'sha256',
        'superseded', (event_json.event).details -> 'superseded',
        'reads', (event_json.event).details -> 'reads',
        'last_read_at', (event_json.event).details -> 'last_read_at'
      )
      when 'rule' then jsonb_build_object(
        'from_agent', (event_json.event).subject_agent_id,
        'to_agent', (event_json.event).details -> 'to_agent',
        'port', (event_json.event).details -> 'port',
        'proto', (event_json.event).details -> 'proto'
      )
      when 'psk' then jsonb_build_object(
        'a', (event_json.event).subject_agent_id,
        'b', (event_json.event).other_agent_id,
        'psk_version', (event_json.event).details -> 'psk_version'
      )
      when 'peer' then jsonb_build_object(
        'peer', case
          when (event_json.event).other_agent_id = event_json.agent_id then (event_json.event).subject_agent_id
          else (event_json.event).other_agent_id
        end,
        'pubkey', (event_json.event).details -> 'pubkey',
        'endpoint', (event_json.event).details -> 'endpoint'
      )
      else '{}'
    end
  )
$$;
comment on function agents.event_json(agents.events, text) is
  'An event as /events shows it to an agent; null: to the operator.';

create function public.list_events(
  caller jsonb,
  agent_id text,
  types text[],
  max_entries integer,
  after text
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(list_events.caller);
  subject text := coalesce(caller_agent, list_events.agent_id);
  -- The most that one page looks at, of whatever type.
  entries_per_page constant integer := list_events.max_entries + 1000;
  after_transaction xid8 := split_part(list_events.after, '.', 1)::xid8;
  after_event bigint := split_part(list_events.after, '.', 2)::bigint;
  answer json;
begin
  if caller_agent <> list_events.agent_id then
    raise sqlstate 'PT403' using message = 'forbidden';
  end if;
  -- A position from before the database was restored into another may lie in this one's future.
  if after_transaction > pg_snapshot_xmax(pg_current_snapshot()) then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "after", "message": "Must be the latest of an earlier answer."}]}';
  end if;

  if list_events.after is null then
    select json_build_object(
      'events',
      coalesce(
        json_agg(agents.event_json(n.event, subject) order by (n.event).transaction_id, (n.event).event_id),
        '[]'
      ),
      'latest', pg_snapshot_xmin(pg_current_snapshot()) || '.0',
      'more', false
    ) into answer
    from (
      select e as event
      from agents.newest_events(subject, entries_per_page) e
      where e.action = any (list_events.types) and agents.is_shown(e, subject)
      order by e.transaction_id desc, e.event_id desc
      limit list_events.max_entries
    ) n;
    return answer;
  end if;

  with walked as (
    select e as event, row_number() over (order by e.transaction_id, e.event_id) as place
    from agents.events_after(subject, after_transaction, after_event, entries_per_page) e
  ), listed as (
    select w.event, w.place
    from walked w
    where (w.event).action = any (list_events.types) and agents.is_shown(w.event, subject)
    order by w.place
    -- One more than asked for tells whether there is a next page.
    limit list_events.max_entries + 1
  ), page as (
    select l.event, l.place from listed l order by l.place limit list_events.max_entries
  ), ended as (
    select case
      when (select count(*) from listed) > list_events.max_entries then (select max(p.place) from page p)
      when (select count(*) from walked) = entries_per_page then entries_per_page
    end as place
  )
  select json_build_object(
    'events',
    (select coalesce(json_agg(agents.event_json(p.event, subject) order by p.place), '[]') from page p),
    'latest',
    coalesce(
      (
        select (w.event).transaction_id || '.' || (w.event).event_id
        from walked w
        where w.place = ended.place
      ),
      pg_snapshot_xmin(pg_current_snapshot()) || '.0'
    ),
    'more', ended.place is not null
  ) into answer
  from ended;
  return answer;
end
$$;
comment on function public.list_events(jsonb, text, text[], integer, text) is
  'The events of these types that concern an agent (null, from the operator: all), oldest first, '
  'after the `latest` of an earlier answer; without one, the newest page. A page may be short, or '
  'empty, where there are more. Raises forbidden, invalid_request.';
