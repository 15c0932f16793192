-- What an erasure does to the log of events. It replaces a name, and leaves everything else: the
-- events, their order, times and types. Each step writes one event, agent.erased, with a digest of
-- what must not change.

create function agents.is_pseudonym(name text) returns boolean
language sql
immutable
return coalesce(name ~ '^erased-[0-9a-f]{32}$', false);
comment on function agents.is_pseudonym(text) is
  'Whether a name is the pseudonym of an erased agent. Pseudonyms are random: nothing leads back '
  'to the agent.';

create function agents.fixed_part(event agents.events) returns text
language sql
stable
return concat_ws(
  '|', event.event_id, event.transaction_id, extract(epoch from event.occurred_at), event.actor_kind, event.action
);
comment on function agents.fixed_part(agents.events) is
  'The part of an event that no erasure changes.';

create function agents.digest_of_events(events agents.events[]) returns text
language sql
stable
set search_path = ''
as $$
  select encode(
    sha256(convert_to(coalesce(string_agg(agents.fixed_part(e), E'\n' order by e.event_id), ''), 'UTF8')), 'hex'
  )
  from unnest(digest_of_events.events) e
$$;
comment on function agents.digest_of_events(agents.events[]) is
  'The SHA-256 of the fixed parts of events, in the order of their numbers.';

create function agents.without_name(event agents.events, name text, pseudonym text) returns jsonb
language sql
stable
set search_path = ''
as $$
  select coalesce(
    jsonb_object_agg(
      d.key,
      case
        -- Only these two fields name agents. Another field may have the same text: an agent may be
        -- called `tcp`.
        when d.key in ('to_agent', 'high_agent') and d.value = to_jsonb(name) then to_jsonb(pseudonym)
        else d.value
      end
    ),
    '{}'
  )
  from jsonb_each((without_name.event).details) d
  where case
    -- Remove what the agent itself chose.
    when d.key in ('key', 'sha256') then strpos(d.value::text, name) = 0 and name <> case
      when starts_with((without_name.event).object_id, 'grant_') then (without_name.event).other_agent_id
      else coalesce((without_name.event).subject_agent_id, '')
    end
    when d.key in ('pubkey', 'endpoint', 'instance')
      then strpos(d.value::text, name) = 0 and (without_name.event).subject_agent_id <> name
    else true
  end
$$;
comment on function agents.without_name(agents.events, text, text) is
  'The details of an event without an agent''s name, and without the names of its files, its '
  'digests, its public keys, its endpoints and the names of its instances.';

create function agents.refuse_other_changes_of_events() returns trigger
language plpgsql
set search_path = ''
as $$
declare
  changed agents.events[] := array(select n from new_rows n);
  names text[];
  pseudonyms text[];
begin
  select array_agg(distinct p.was), array_agg(distinct p.became)
  into names, pseudonyms
  from old_rows o
  join new_rows n using (event_id)
  cross join lateral (
    values
      (o.actor_agent_id::text, n.actor_agent_id::text),
      (o.subject_agent_id, n.subject_agent_id),
      (o.other_agent_id, n.other_agent_id)
  ) p (was, became)
  where p.was is distinct from p.became;
  if cardinality(names) = 1
    and names[1] is not null
    and cardinality(pseudonyms) = 1
    and agents.is_pseudonym(pseudonyms[1])
    and (select count(*) from old_rows) = cardinality(changed)
    and (
      select count(*)
      from old_rows o
      join new_rows n on n.event_id = o.event_id
      where agents.fixed_part(o) = agents.fixed_part(n)
        and n.details = agents.without_name(o, names[1], pseudonyms[1])
        and (n.object_id is not distinct from o.object_id or n.object_id is null and starts_with(o.object_id, 'key_'))
        and (n.actor_key_id is not distinct from o.actor_key_id or n.actor_key_id is null)
        and (n.actor_user_id is not distinct from o.actor_user_id or n.actor_agent_id = pseudonyms[1])
        and n.request_id is null
    ) = cardinality(changed)
    and exists (
      select
      from agents.events e
      where e.subject_agent_id = pseudonyms[1]
        and e.transaction_id = agents.present_transaction()
        and e.action = 'agent.erased'
        and e.details ->> 'digest' = agents.digest_of_events(changed)
        and (e.details ->> 'altered')::bigint = cardinality(changed)
    )
  then
    return null;
  end if;
  raise exception 'agents.events is append-only: only agent_api_erase_agent replaces a name' using errcode = '42501';
end
$$;
comment on function agents.refuse_other_changes_of_events() is
  'Refuses every change of the log, whatever privileges a role has, with one exception: a single '
  'name becomes a pseudonym, details only lose what belongs to that name, and the same transaction '
  'has written the event that has the number and the digest of these rows.';

create trigger events_change_by_erasure_alone
  after update on agents.events
  referencing old table as old_rows new table as new_rows
  for each statement execute function agents.refuse_other_changes_of_events();

create function agents.erase_from_events(name text, pseudonym text, max_entries integer) returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
  -- No event can appear any more before the last of these, so the ranges of two steps never
  -- overlap.
  named agents.events[] := array(
    select e from agents.events_after(erase_from_events.name, '0', 0, erase_from_events.max_entries) e
  );
  first_event constant agents.events := named[1];
  last_event constant agents.events := named[cardinality(named)];
begin
  if cardinality(named) = 0 then
    return 0;
  end if;
  perform agents.record_event(
    '{"kind": "operator"}', null, 'agent.erased', erase_from_events.pseudonym, null,
    jsonb_build_object(
      'altered', cardinality(named),
      'first', first_event.transaction_id || '.' || first_event.event_id,
      'last', last_event.transaction_id || '.' || last_event.event_id,
      'digest', agents.digest_of_events(named)
    )
  );
  update agents.events e
  set actor_agent_id = case when e.actor_agent_id = name then pseudonym else e.actor_agent_id end,
    actor_user_id = case
      when e.actor_agent_id = name and e.actor_user_id is not null then gen_random_uuid()
      else e.actor_user_id
    end,
    actor_key_id = case when e.actor_agent_id is distinct from name then e.actor_key_id end,
    subject_agent_id = case when e.subject_agent_id = name then pseudonym else e.subject_agent_id end,
    other_agent_id = case when e.other_agent_id = name then pseudonym else e.other_agent_id end,
    object_id = case
      when not (starts_with(e.object_id, 'key_') and e.subject_agent_id = name) then e.object_id
    end,
    details = agents.without_name(e, name, pseudonym),
    request_id = null
  where e.event_id = any (array(select n.event_id from unnest(named) n));
  return cardinality(named);
end
$$;
comment on function agents.erase_from_events(text, text, integer) is
  'Replaces a name in the oldest max_entries events that have it, and returns how many these were. '
  'Events that are not below horizon() yet wait for the next call.';

create function public.agent_api_check_erasure(pseudonym text) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select json_build_object(
    'pseudonym', agent_api_check_erasure.pseudonym,
    'steps', coalesce(max(s.steps), 0),
    'altered', coalesce(sum((e.details ->> 'altered')::bigint), 0),
    'holds', coalesce(bool_and(e.details ->> 'digest' = agents.digest_of_events(array(
      select n
      from agents.events_after(
        agent_api_check_erasure.pseudonym,
        split_part(e.details ->> 'first', '.', 1)::xid8,
        split_part(e.details ->> 'first', '.', 2)::bigint - 1,
        -- The agent.erased events also name the pseudonym, and lie among these.
        (e.details ->> 'altered')::integer + s.steps
      ) n
      where n.action <> 'agent.erased'
        and (n.transaction_id, n.event_id) <= (
          split_part(e.details ->> 'last', '.', 1)::xid8, split_part(e.details ->> 'last', '.', 2)::bigint
        )
    ))), false)
  )
  from agents.events e
  cross join (
    select count(*)::integer as steps
    from agents.events c
    where c.subject_agent_id = agent_api_check_erasure.pseudonym and c.action = 'agent.erased'
  ) s
  where e.subject_agent_id = agent_api_check_erasure.pseudonym and e.action = 'agent.erased'
$$;
comment on function public.agent_api_check_erasure(text) is
  'Whether the events that an erasure altered still exist in their order, according to their '
  'digests: {pseudonym, steps, altered, holds}. holds becomes false once agent_api_forget_events '
  'deletes some of them.';
