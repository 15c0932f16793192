-- What the sweep does to the event log: it writes the events of reads and changes that were only
-- counted, and deletes old events.

create function agents.tell_reads(settled agents.reads) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  if settled.untold_reads > 0 then
    perform agents.record_event(
      jsonb_build_object(
        'kind', settled.actor_kind,
        'user_id', nullif(settled.user_id, ''),
        'key_id', nullif(settled.key_id, '')
      ),
      nullif(settled.reader, ''),
      settled.action,
      settled.subject_agent_id,
      settled.object_id,
      settled.details || jsonb_build_object(
        'reads', settled.untold_reads,
        'last_read_at', agents.iso_timestamp(settled.last_read_at)
      ),
      settled.other_agent_id
    );
  end if;
  if settled.action = 'artifact.fetched' then
    perform artifacts.settle_downloads(settled.object_id, settled.reads);
  end if;
end
$$;
comment on function agents.tell_reads(agents.reads) is
  'Writes the event of counted reads that no event has reported. For a row that was just deleted.';

create function public.agent_api_settle_reads(caller jsonb, max_entries integer) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  settled agents.reads;
  remaining integer;
begin
  perform agents.authenticate_operator(agent_api_settle_reads.caller);

  for settled in
    delete from agents.reads r
    -- Found by ctid, which cannot change while the row is locked.
    where r.ctid = any (array(
      select d.ctid
      from agents.reads d
      where d.told_at <= now() - interval '1 minute'
      order by d.told_at
      limit agent_api_settle_reads.max_entries
      for update skip locked
    ))
    returning r.*
  loop
    perform agents.tell_reads(settled);
  end loop;

  select count(*) into remaining
  from (
    select from agents.reads r
    where r.told_at <= now() - interval '1 minute'
    order by r.told_at
    limit 1000
  ) later;
  return json_build_object('remaining', remaining);
end
$$;
comment on function public.agent_api_settle_reads(jsonb, integer) is
  'Writes the events of counted reads that no event has reported, once their minute has passed, '
  'and deletes their rows. Returns {remaining}, which counts at most a thousand. Raises forbidden '
  'for an agent.';

create function public.agent_api_settle_changes(caller jsonb, max_entries integer) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  due agents.repeated_changes;
  remaining integer;
begin
  perform agents.authenticate_operator(agent_api_settle_changes.caller);

  for due in
    select c.*
    from agents.repeated_changes c
    where c.due_at <= now()
    order by c.due_at
    limit agent_api_settle_changes.max_entries
    for update skip locked
  loop
    if due.untold = 0 then
      delete from agents.repeated_changes c where agents.is_same_thing(c, due);
    else
      update agents.repeated_changes c
      set told_at = now(), told_times = c.untold, untold = 0, due_at = now() + interval '1 hour'
      where agents.is_same_thing(c, due)
      returning c.* into due;
      perform agents.record_repeated(
        due, null, jsonb_build_object('last_at', agents.iso_timestamp(due.last_at))
      );
    end if;
  end loop;

  select count(*) into remaining
  from (
    select from agents.repeated_changes c where c.due_at <= now() order by c.due_at limit 1000
  ) later;
  return json_build_object('remaining', remaining);
end
$$;
comment on function public.agent_api_settle_changes(jsonb, integer) is
  'Writes the events of counted changes that no event has reported, once their minute has passed, '
  'with the time of the last change as last_at. Deletes rows of things that were not changed '
  'again within an hour. Returns {remaining}, which counts at most a thousand. Raises forbidden '
  'for an agent.';

create function public.agent_api_forget_events(
  caller jsonb,
  retention_days integer,
  max_entries integer
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  kept_since timestamptz := now() - make_interval(days => agent_api_forget_events.retention_days);
  last_looked_at bigint;
  forgotten integer;
  first_id bigint;
  last_id bigint;
  remaining integer := 0;
begin
  perform agents.authenticate_operator(agent_api_forget_events.caller);
  if agent_api_forget_events.retention_days < 30 then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "retention_days", "message": "Must be at least 30."}]}';
  end if;
  -- Two concurrent calls would count the same rows.
  perform pg_advisory_xact_lock(hashtextextended('forget events', 0));

  select max(e.event_id), count(*) filter (where e.is_over), min(e.event_id) filter (where e.is_over),
    max(e.event_id) filter (where e.is_over)
  into last_looked_at, forgotten, first_id, last_id
  from (
    select o.event_id, o.occurred_at < kept_since as is_over
    from agents.events o
    order by o.event_id
    limit agent_api_forget_events.max_entries
  ) e;

  if forgotten > 0 then
    perform agents.record_event(
      agent_api_forget_events.caller, null, 'events.forgotten', null, null,
      jsonb_build_object(
        'removed', forgotten,
        'first_event_id', first_id,
        'last_event_id', last_id,
        'kept_since', agents.iso_timestamp(kept_since)
      )
    );
    delete from agents.events e
    where e.event_id between first_id and last_id and e.occurred_at < kept_since;
  end if;

  -- Old events behind younger ones, as after a clock that was wrong, wait until these are old, too:
  -- another call would look at the same entries again.
  if forgotten > 0 then
    select count(*) into remaining
    from (
      select e.occurred_at from agents.events e where e.event_id > last_looked_at order by e.event_id limit 1000
    ) later
    where later.occurred_at < kept_since;
  end if;
  return json_build_object('forgotten', forgotten, 'remaining', remaining);
end
$$;
comment on function public.agent_api_forget_events(jsonb, integer, integer) is
  'Deletes events older than the given number of days, at least 30, among the max_entries oldest, '
  'and writes one event that says which. Returns {forgotten, remaining}, where remaining counts '
  'at most a thousand. Raises forbidden for an agent, invalid_request.';
