-- Finds the place of a time in the event log.

create function agents.last_event_before(instant timestamptz) returns agents.events
language plpgsql
stable
strict
set search_path = ''
as $$
declare
  older agents.events;
  looked_at agents.events;
  last_id bigint;
  middle_id bigint;
begin
  select e.* into older from agents.events e order by e.event_id limit 1;
  if not found or older.occurred_at >= last_event_before.instant then
    return null;
  end if;
  select max(e.event_id) into last_id from agents.events e;
  -- A binary search, because event_id rises with time. It takes about thirty index lookups.
  while older.event_id < last_id loop
    middle_id := older.event_id + (last_id - older.event_id + 1) / 2;
    select e.* into looked_at from agents.events e where e.event_id >= middle_id order by e.event_id limit 1;
    if looked_at.occurred_at < last_event_before.instant then
      older := looked_at;
    else
      last_id := middle_id - 1;
    end if;
  end loop;
  return older;
end
$$;
comment on function agents.last_event_before(timestamptz) is
  'The last event, by its number, that is older than this time; null: none is.';

-- The log is in the order of transactions, and a transaction begins before it writes its events. A
-- call lasts 8 seconds at most, so a margin of a minute on either side is enough.

create function agents.position_before(instant timestamptz) returns text
language plpgsql
stable
strict
set search_path = ''
as $$
declare
  older agents.events := agents.last_event_before(position_before.instant - interval '1 minute');
begin
  return coalesce(older.transaction_id::text, '0') || '.0';
end
$$;
comment on function agents.position_before(timestamptz) is
  'A position in the log before which there is no event of this time or later.';

create function agents.position_after(instant timestamptz) returns text
language plpgsql
stable
strict
set search_path = ''
as $$
declare
  older agents.events := agents.last_event_before(position_after.instant + interval '1 minute');
  newer agents.events;
begin
  select e.* into newer
  from agents.events e
  where e.event_id > coalesce(older.event_id, 0)
  order by e.event_id
  limit 1;
  return newer.transaction_id || '.0';
end
$$;
comment on function agents.position_after(timestamptz) is
  'A position in the log from which on there is no event of this time or earlier; null: the end.';
