-- Pages of the event log: what /events returns, and what the operator's commands read.

create function agents.artifact_events_after(
  artifact_id text,
  after_transaction xid8,
  after_event bigint,
  max_entries integer,
  ends_before xid8
) returns setof agents.events
language sql
stable
set search_path = ''
as $$
  select e.*
  from agents.events e
  where agents.artifact_of_event(e.object_id, e.details) = artifact_events_after.artifact_id
    and (e.transaction_id, e.event_id)
      > (artifact_events_after.after_transaction, artifact_events_after.after_event)
    and e.transaction_id < artifact_events_after.ends_before
  order by agents.artifact_of_event(e.object_id, e.details), e.transaction_id, e.event_id
  limit artifact_events_after.max_entries
$$;
comment on function agents.artifact_events_after(text, xid8, bigint, integer, xid8) is
  'Like events_after, for the events about one artifact.';

create function agents.newest_artifact_events(
  artifact_id text,
  before_transaction xid8,
  before_event bigint,
  max_entries integer,
  ends_before xid8
) returns setof agents.events
language sql
stable
set search_path = ''
as $$
  select e.*
  from agents.events e
  where agents.artifact_of_event(e.object_id, e.details) = newest_artifact_events.artifact_id
    and (e.transaction_id, e.event_id)
      < (newest_artifact_events.before_transaction, newest_artifact_events.before_event)
    and e.transaction_id < newest_artifact_events.ends_before
  order by agents.artifact_of_event(e.object_id, e.details) desc, e.transaction_id desc, e.event_id desc
  limit newest_artifact_events.max_entries
$$;
comment on function agents.newest_artifact_events(text, xid8, bigint, integer, xid8) is
  'Like newest_events, for the events about one artifact.';

create function agents.facts_for_operator(event agents.events) returns jsonb
language sql
stable
return jsonb_strip_nulls(jsonb_build_object(
  'other_agent_id', event.other_agent_id,
  'key_id', case when starts_with(event.object_id, 'key_') then event.object_id end,
  'request_id', event.request_id,
  'enrolment_id', case
    when starts_with(event.object_id, 'enr_') then to_jsonb(event.object_id)
    else event.details -> 'enrolment_id'
  end,
  'webhook_id', case when starts_with(event.object_id, 'whk_') then event.object_id end,
  'reason', event.details -> 'reason',
  'way', event.details -> 'way',
  'claim', event.details -> 'claim',
  'untold', event.details -> 'untold',
  'generation', event.details -> 'generation',
  'instance', event.details -> 'instance',
  'tags', event.details -> 'tags',
  'added', event.details -> 'added',
  'removed', event.details -> 'removed',
  'keep_artifacts', event.details -> 'keep_artifacts',
  'fingerprint', event.details -> 'fingerprint',
  'max_agents', event.details -> 'max_agents',
  'origin', event.details -> 'origin',
  'name_hash', event.details -> 'name_hash',
  'replayed', case when event.action = 'ending.replayed' then event.object_id end,
  'recorded_at', event.details -> 'recorded_at'
))
  -- Null is a value here: the project's quota, or the default of enrolments, applies.
  || case
    when event.action in ('agent.limited', 'enrolment.limited')
    then jsonb_build_object('quota_bytes', event.details -> 'quota_bytes')
    else '{}'
  end;
comment on function agents.facts_for_operator(agents.events) is
  'The fields of an event that only the operator sees. request_id is the request''s name in the '
  'request log.';

create function agents.events_page(
  agent_id text,
  artifact_id text,
  types text[],
  since timestamptz,
  max_entries integer,
  after text,
  before text,
  is_for_operator boolean,
  until timestamptz default null
) returns json
language plpgsql
stable
set search_path = ''
as $$
declare
  -- An upper limit on the events, of any type, that one page reads. It is little more than
  -- max_entries if the page shows every event from a position or a time on.
  entries_per_page constant integer := events_page.max_entries + case
    when not events_page.is_for_operator
      or events_page.types is not null
      or events_page.agent_id is not null and events_page.artifact_id is not null then 1000
    when events_page.since is not null then 200
    else 1
  end;
  first_position constant text := coalesce(
    agents.place_of(events_page.after, 'after'), agents.position_before(events_page.since)
  );
  after_transaction constant xid8 := split_part(first_position, '.', 1)::xid8;
  after_event constant bigint := split_part(first_position, '.', 2)::bigint;
  end_position constant text := agents.position_after(events_page.until);
  goes_backwards constant boolean := first_position is null;
  -- An agent that took its name over from another one does not see the other one's events.
  held_since constant xid8 := case
    when not events_page.is_for_operator then (
      select n.held_since from agents.names n where n.agent_id = events_page.agent_id
    )
  end;
  horizon constant xid8 := agents.horizon();
  -- The operator also sees what is committed beyond the horizon. It is not final: older
  -- transactions may still add events before it.
  ends_before constant xid8 := case
    when events_page.is_for_operator then '18446744073709551615'::xid8
    else horizon
  end;
  last_position constant text := coalesce(
    agents.place_of(events_page.before, 'before'), end_position, ends_before || '.0'
  );
  before_transaction constant xid8 := split_part(last_position, '.', 1)::xid8;
  before_event constant bigint := split_part(last_position, '.', 2)::bigint;
  shown json;
  ended_at text;
  latest text;
  is_final boolean;
  more boolean;
  looked_at bigint;
  looked_back_to timestamptz;
begin
  if events_page.before is not null and not goes_backwards then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "before", "message": "Goes with neither after nor since."}]}';
  end if;
  -- This position is from the future: the database was restored, and the operator has not begun a
  -- new epoch yet.
  if after_transaction > pg_snapshot_xmax(agents.present_snapshot()) then
    perform agents.expire_position('after');
  end if;

  with walked as (
    select e.event, row_number() over (order by (e.event).transaction_id, (e.event).event_id) as place
    from (
      -- Only one of these four queries is executed.
      select n as event
      from agents.newest_events(
        events_page.agent_id, before_transaction, before_event, entries_per_page, ends_before
      ) n
      where goes_backwards and events_page.artifact_id is null
      union all
      select n
      from agents.newest_artifact_events(
        events_page.artifact_id, before_transaction, before_event, entries_per_page, ends_before
      ) n
      where goes_backwards and events_page.artifact_id is not null
      union all
      select n
      from agents.events_after(
        events_page.agent_id, after_transaction, after_event, entries_per_page, ends_before
      ) n
      where not goes_backwards and events_page.artifact_id is null
      union all
      select n
      from agents.artifact_events_after(
        events_page.artifact_id, after_transaction, after_event, entries_per_page, ends_before
      ) n
      where not goes_backwards and events_page.artifact_id is not null
    ) e
  ), listed as (
    select w.event, w.place
    from walked w
    where (events_page.types is null or (w.event).action = any (events_page.types))
      and (events_page.since is null or (w.event).occurred_at >= events_page.since)
      and (events_page.until is null or (w.event).occurred_at <= events_page.until)
      and (
        events_page.artifact_id is null or events_page.agent_id is null or events_page.agent_id in (
          (w.event).subject_agent_id, (w.event).other_agent_id, (w.event).actor_agent_id
        )
      )
      and (events_page.is_for_operator or agents.is_shown(w.event, events_page.agent_id))
      and (held_since is null or (w.event).transaction_id > held_since)
    order by case when goes_backwards then -w.place else w.place end
    -- One more than asked for tells whether there is a next page.
    limit events_page.max_entries + 1
  ), page as (
    select l.event, l.place
    from listed l
    order by case when goes_backwards then -l.place else l.place end
    limit events_page.max_entries
  ), ended as (
    -- The last place that this page covers; null if there is nothing beyond it.
    select case
      when (select count(*) from listed) > events_page.max_entries
        then (select case when goes_backwards then min(p.place) else max(p.place) end from page p)
      when (select count(*) from walked) = entries_per_page
        then case when goes_backwards then 1 else entries_per_page end
    end as place
  )
  select
    (
      select coalesce(
        json_agg(
          case
            when events_page.is_for_operator
              then agents.event_json(p.event, null)
                || agents.facts_for_operator(p.event)
                || case when (p.event).transaction_id < horizon then '{}' else '{"final": false}'::jsonb end
            else agents.event_json(p.event, events_page.agent_id)
          end
          order by p.place
        ),
        '[]'
      )
      from page p
    ),
    (
      select (w.event).transaction_id || '.' || (w.event).event_id
      from walked w
      where w.place = ended.place
    ),
    l.count,
    l.oldest,
    coalesce((select bool_and((p.event).transaction_id < horizon) from page p), true)
  into shown, ended_at, looked_at, looked_back_to, is_final
  from ended
  cross join lateral (
    select count(*) as count, min((w.event).occurred_at) as oldest
    from walked w
    where ended.place is null
      or case when goes_backwards then w.place >= ended.place else w.place <= ended.place end
  ) l;

  latest := case
    -- There is nothing final after the newest page yet.
    when goes_backwards or ended_at is null or split_part(ended_at, '.', 1)::xid8 >= horizon then horizon || '.0'
    else ended_at
  end;
  more := not goes_backwards
    and ended_at is not null
    -- There are no more pages after the end that was asked for.
    and (end_position is null or split_part(ended_at, '.', 1)::xid8 < split_part(end_position, '.', 1)::xid8);
  if not events_page.is_for_operator then
    return json_build_object('events', shown, 'latest', agents.position_at(latest), 'more', more);
  end if;
  return json_build_object(
    'events', shown,
    'latest', agents.position_at(latest),
    'more', more,
    'next', case when more then agents.position_at(ended_at) end,
    'held', case when not is_final then agents.held_log() end,
    'earlier', case when goes_backwards then agents.position_at(ended_at) end,
    'looked_at', looked_at,
    'looked_back_to', agents.iso_timestamp(looked_back_to)
  );
end
$$;
comment on function agents.events_page(
  text, text, text[], timestamptz, integer, text, text, boolean, timestamptz
) is
  'The events that concern an agent (null: all) or are about an artifact (null: any), of these '
  'types (null: all), neither older than `since` nor newer than `until`: the next after the '
  'position `after`; otherwise the first since `since`; otherwise the newest before the position '
  '`before` (null: of all). Oldest first. Raises invalid_request, position_expired.';
