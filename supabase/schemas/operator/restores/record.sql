-- The record of endings: events that the operator keeps outside the database. After a restore,
-- `deno task after-restore --record` makes again what they say. An event of the record is found here
-- by its number and its time: after a restore, the numbers of lost events are given out again.

create index events_by_replayed on agents.events (object_id) where action = 'ending.replayed';
comment on index agents.events_by_replayed is
  'Finds the events of a record that were replayed. Only a restore adds entries.';

create function public.find_lost_events(recorded jsonb) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  oldest_kept constant bigint := (select min(e.event_id) from agents.events e);
begin
  return json_build_object('lost', (
    select coalesce(json_agg(r.place order by r.place), '[]')
    from (
      select
        l.line ->> 'event_id' as event_id,
        substr(l.line ->> 'event_id', 5)::bigint as number,
        l.line ->> 'at' as recorded_at,
        l.place - 1 as place
      from jsonb_array_elements(find_lost_events.recorded) with ordinality as l (line, place)
    ) r
    -- Older events were in the backup, and have been deleted since.
    where coalesce(r.number >= oldest_kept, true)
      and not exists (
        select from agents.events e
        where e.event_id = r.number and agents.iso_timestamp(e.occurred_at) = r.recorded_at
      )
      and not exists (
        select from agents.events m
        where m.action = 'ending.replayed'
          and m.object_id = r.event_id
          and m.details ->> 'recorded_at' = r.recorded_at
      )
  ));
end
$$;
comment on function public.find_lost_events(jsonb) is
  'Which events of a record a restore has lost: recorded is [{event_id, at}], at most a thousand. '
  '{lost: [place in recorded, from 0]}: those that the log does not have, and that '
  'note_replayed_event was not called for.';

create function public.note_replayed_event(event_id text, recorded_at text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
  perform agents.record_event(
    '{"kind": "operator"}', null, 'ending.replayed', null, note_replayed_event.event_id,
    jsonb_build_object('recorded_at', note_replayed_event.recorded_at)
  );
  return json_build_object('event_id', note_replayed_event.event_id);
end
$$;
comment on function public.note_replayed_event(text, text) is
  'Records that what an event of a record says was made again, so that find_lost_events leaves it '
  'out from now on.';
