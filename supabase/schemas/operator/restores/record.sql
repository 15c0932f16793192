-- The record of endings: events that the operator keeps outside the database. After a restore,
-- `agentops restore after --record` makes again what they say. An event of the record is found
-- here by its number and its time, because a restore gives the numbers of lost events out again.

create table agents.replayed_endings (
  event_id text collate "C",
  recorded_at text collate "C",

  constraint an_ending_is_replayed_once primary key (event_id, recorded_at)
);
comment on table agents.replayed_endings is
  'The events of a record that were replayed after a restore. Rows stay for ever: otherwise, the '
  'same record would later end what was made since then. Only a restore adds rows.';

create function public.agent_api_read_project() returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
begin
  return json_build_object(
    -- No agent has a name with spaces, so this is the hash of no name.
    'project', encode(agents.hash_of_name('the project of a record'), 'hex')
  );
end
$$;
comment on function public.agent_api_read_project() is
  'A random identifier of this database, the same after a restore and in a copy: {project}. A '
  'record of endings names it.';

create function public.agent_api_find_lost_events(recorded jsonb) returns json
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
      from jsonb_array_elements(agent_api_find_lost_events.recorded) with ordinality as l (line, place)
    ) r
    -- Older events were in the backup, and have been deleted since.
    where coalesce(r.number >= oldest_kept, true)
      and not exists (
        select from agents.events e
        where e.event_id = r.number and agents.iso_timestamp(e.occurred_at) = r.recorded_at
      )
      and not exists (
        select from agents.replayed_endings p
        where p.event_id = r.event_id and p.recorded_at = r.recorded_at
      )
  ));
end
$$;
comment on function public.agent_api_find_lost_events(jsonb) is
  'Which events of a record a restore has lost: recorded is [{event_id, at}], at most a thousand. '
  '{lost: [place in recorded, from 0]}: those that the log does not have, and that '
  'agent_api_note_replayed_event was not called for.';

create function public.agent_api_note_replayed_event(event_id text, recorded_at text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
  insert into agents.replayed_endings (event_id, recorded_at)
  values (agent_api_note_replayed_event.event_id, agent_api_note_replayed_event.recorded_at)
  on conflict do nothing;
  perform agents.record_event(
    '{"kind": "operator"}', null, 'ending.replayed', null, agent_api_note_replayed_event.event_id,
    jsonb_build_object('recorded_at', agent_api_note_replayed_event.recorded_at)
  );
  return json_build_object('event_id', agent_api_note_replayed_event.event_id);
end
$$;
comment on function public.agent_api_note_replayed_event(text, text) is
  'Records that what an event of a record says was made again, so that agent_api_find_lost_events '
  'leaves it out for ever.';

create function agents.next_erasable_name(after text) returns text
language sql
stable
set search_path = ''
-- One index lookup per table, like next_name.
as $$
  select least(
    agents.next_name(next_erasable_name.after),
    (select min(e.subject_agent_id) from agents.events e where e.subject_agent_id > next_erasable_name.after),
    (select min(e.other_agent_id) from agents.events e where e.other_agent_id > next_erasable_name.after),
    (select min(r.agent_id) from agents.removed_agents r where r.agent_id > next_erasable_name.after),
    (select min(a.agent_id) from agents.enrolled_agents a where a.agent_id > next_erasable_name.after)
  )
$$;
comment on function agents.next_erasable_name(text) is
  'The first agent after a name that anything names, events too, in byte order; null: none.';

create function public.agent_api_find_hashed_names(name_hash text, max_entries integer, after text default '')
returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  wanted constant bytea := decode(agent_api_find_hashed_names.name_hash, 'hex');
  name text := agent_api_find_hashed_names.after;
  found_names text[] := array[]::text[];
begin
  for step in 1..agent_api_find_hashed_names.max_entries loop
    name := agents.next_erasable_name(name);
    exit when name is null;
    if agents.hash_of_name(name) = wanted then
      found_names := found_names || name;
    end if;
  end loop;
  return json_build_object('found', to_json(found_names), 'next', name);
end
$$;
comment on function public.agent_api_find_hashed_names(text, integer, text) is
  'The names that have this keyed hash among the max_entries names after the given one: {found: '
  '[agent_id], next: where the next page begins | null}. For an erasure that a restore has undone.';

create function public.agent_api_keep_out_erased(name_hash text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
  insert into agents.erased_names (name_hash)
  values (decode(agent_api_keep_out_erased.name_hash, 'hex'))
  on conflict do nothing;
  return json_build_object('kept_out', found);
end
$$;
comment on function public.agent_api_keep_out_erased(text) is
  'Keeps out an erased agent, by the keyed hash of its name, if a restore has lost that: '
  '{kept_out: whether it was not kept out before}.';

create function public.agent_api_replace_pubkey(
  agent_id text,
  pubkey text,
  endpoint text
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  peer mesh.peers;
begin
  select p.* into peer from mesh.peers p where p.agent_id = agent_api_replace_pubkey.agent_id;
  if not found or peer.pubkey = agent_api_replace_pubkey.pubkey then
    return json_build_object('agent_id', agent_api_replace_pubkey.agent_id, 'replaced', false);
  end if;
  perform public.agent_api_register_peer(
    caller => '{"kind": "operator"}',
    agent_id => agent_api_replace_pubkey.agent_id,
    pubkey => agent_api_replace_pubkey.pubkey,
    endpoint => agent_api_replace_pubkey.endpoint,
    -- It was checked when the host registered it.
    endpoint_ip => null,
    -- An event does not tell these.
    listen_port => peer.listen_port,
    further_endpoints => case
      when agent_api_replace_pubkey.endpoint = peer.endpoint then peer.further_endpoints::text[] else '{}'
    end,
    online_seconds => 0
  );
  return json_build_object('agent_id', agent_api_replace_pubkey.agent_id, 'replaced', true);
end
$$;
comment on function public.agent_api_replace_pubkey(text, text, text) is
  'Gives a peer the public key and the endpoint that its host registered before a restore: '
  '{agent_id, replaced: false if there is no peer, or it has this public key}. Keeps the listen '
  'port, and the further endpoints if the first one is the same. Raises pubkey_in_use.';
