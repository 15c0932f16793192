-- The log of events: who changed which access on whom, and when.

create table agents.events (
  event_id bigint generated always as identity primary key,
  transaction_id xid8 not null default agents.present_transaction(),
  occurred_at timestamptz not null default clock_timestamp(),
  actor_kind text not null,
  actor_agent_id agents.agent_id,
  actor_user_id uuid,
  actor_key_id text collate "C",
  action text not null,
  subject_agent_id agents.agent_id,
  other_agent_id agents.agent_id,
  object_id text collate "C",
  details jsonb not null default '{}',
  request_id text,

  constraint actor_kind_is_known check (
    actor_kind in ('agent', 'user', 'operator', 'grant_token', 'enrolment')
  ),
  constraint agents_are_named_when_they_act check (
    (actor_kind in ('agent', 'user')) = (actor_agent_id is not null)
  ),
  constraint users_are_named_when_they_act check ((actor_kind = 'user') = (actor_user_id is not null))
);
comment on table agents.events is
  'Append-only: who changed which access on whom, and when. Written in the transaction of the '
  'change itself. Contains no secrets. Only agent_api_forget_events deletes rows, and only old '
  'ones. Only agent_api_erase_agent changes rows: it replaces a name.';
comment on column agents.events.transaction_id is
  'event_id is not assigned in commit order: a transaction that commits late has lower numbers '
  'than events that were already read. A reader misses nothing if it reads in the order of '
  '(transaction_id, event_id), and only below horizon().';
comment on column agents.events.actor_user_id is
  'The signed-in user who acted as the agent: the sub of the token.';
comment on column agents.events.actor_key_id is
  'The agent key that the agent acted with. Null if no agent key was used.';
comment on column agents.events.object_id is
  'What was acted on: an artifact_id, grant_id or key_id, if there is one.';
comment on column agents.events.subject_agent_id is
  'The agent whose access changed, or whose object was acted on.';
comment on column agents.events.other_agent_id is
  'The second agent that the event concerns, if any: the owner of what was granted, or the other '
  'side of a rule or a pair. Both agents find the event in their feeds.';

create function agents.artifact_of_event(object_id text, details jsonb) returns text
language sql
immutable
return coalesce(details ->> 'artifact_id', case when starts_with(object_id, 'art_') then object_id end)
  collate "C";
comment on function agents.artifact_of_event(text, jsonb) is
  'The artifact that an event is about, wherever the event names it; null: none.';

create index events_by_name on agents.events (((details ->> 'key') collate "C"), event_id)
  where action = 'artifact.registered';
comment on index agents.events_by_name is
  'Finds the artifacts that had a name (`key`), even after their tombstones were deleted. Each '
  'artifact has one entry.';

-- These indexes find the events that concern an agent, that it caused, or that concern an artifact,
-- each in commit order. Old events are found by event_id, which rises with time.
create index events_by_subject on agents.events (subject_agent_id, transaction_id, event_id);
create index events_by_other on agents.events (other_agent_id, transaction_id, event_id)
  where other_agent_id is not null;
create index events_by_actor on agents.events (actor_agent_id, transaction_id, event_id)
  where actor_agent_id <> subject_agent_id;
create index events_by_transaction on agents.events (transaction_id, event_id);
create index events_by_artifact
  on agents.events (agents.artifact_of_event(object_id, details), transaction_id, event_id)
  where agents.artifact_of_event(object_id, details) is not null;

create function agents.refuse_changes_to_events() returns trigger
language plpgsql
set search_path = ''
as $$
begin
  raise exception 'agents.events is append-only' using errcode = '42501';
end
$$;
comment on function agents.refuse_changes_to_events() is
  'Keeps the event log append-only, whatever privileges a role has.';

create trigger events_are_append_only
  before truncate on agents.events
  for each statement execute function agents.refuse_changes_to_events();

create function agents.refuse_removal_of_events() returns trigger
language plpgsql
set search_path = ''
as $$
begin
  if not exists (
      select
      from agents.events e
      where e.subject_agent_id is null
        and e.transaction_id = agents.present_transaction()
        and e.action = 'events.forgotten'
        and (e.details -> 'removed', e.details -> 'first_event_id', e.details -> 'last_event_id') = (
          select to_jsonb(count(*)), to_jsonb(min(r.event_id)), to_jsonb(max(r.event_id)) from removed r
        )
    )
    or exists (select from removed r where r.occurred_at > now() - interval '30 days')
  then
    raise exception 'agents.events is append-only: only agent_api_forget_events removes rows' using errcode = '42501';
  end if;
  return null;
end
$$;
comment on function agents.refuse_removal_of_events() is
  'Refuses to delete rows, whatever privileges a role has, unless they are 30 days old and the '
  'same transaction has written the event that says which rows and how many they are.';

create trigger events_are_forgotten_by_the_rules
  after delete on agents.events
  referencing old table as removed
  for each statement execute function agents.refuse_removal_of_events();

create function agents.find_acting_key(caller jsonb) returns text
language plpgsql
stable
set search_path = ''
as $$
begin
  if find_acting_key.caller ->> 'kind' <> 'agent' or find_acting_key.caller ->> 'key_hash' is null then
    return find_acting_key.caller ->> 'key_id';
  end if;
  return (select k.key_id from agents.keys k where k.key_hash = find_acting_key.caller ->> 'key_hash');
end
$$;
comment on function agents.find_acting_key(jsonb) is
  'What acting_key returns, if this transaction has not authenticated the caller by an agent key.';

create function agents.acting_key(caller jsonb) returns text
language sql
stable
-- Inlined. authenticate has already found the key. A change holds locks when it writes its event,
-- so it should not look the key up again.
return case
  when caller ->> 'kind' = 'agent'
    and split_part(current_setting('agents.acting_key', true), ' ', 1) = caller ->> 'key_hash'
  then split_part(current_setting('agents.acting_key', true), ' ', 2)
  else agents.find_acting_key(caller)
end;
comment on function agents.acting_key(jsonb) is
  'The id of the agent key that a caller used; null: none. For changes and reads that were counted '
  'and are reported later, the caller contains key_id.';

create function agents.record_event(
  caller jsonb,
  caller_agent text,
  action text,
  subject_agent_id text,
  object_id text default null,
  details jsonb default '{}',
  other_agent_id text default null
) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  insert into agents.events (
    actor_kind, actor_agent_id, actor_user_id, actor_key_id, action, subject_agent_id, other_agent_id, object_id,
    details, request_id
  )
  values (
    record_event.caller ->> 'kind',
    record_event.caller_agent,
    (record_event.caller ->> 'user_id')::uuid,
    agents.acting_key(record_event.caller),
    record_event.action,
    record_event.subject_agent_id,
    record_event.other_agent_id,
    record_event.object_id,
    record_event.details,
    record_event.caller ->> 'request_id'
  );
end
$$;
comment on function agents.record_event(jsonb, text, text, text, text, jsonb, text) is
  'Appends to agents.events. caller_agent is what authenticate returned: null for the operator.';

create function agents.held_log() returns jsonb
language plpgsql
stable
set search_path = ''
as $$
declare
  first_held timestamptz;
begin
  select e.occurred_at into first_held
  from agents.events e
  where e.transaction_id >= agents.horizon()
  order by e.transaction_id, e.event_id
  limit 1;
  if not found then
    return null;
  end if;
  return jsonb_build_object(
    'since', agents.iso_timestamp(first_held),
    'seconds', greatest(0, floor(extract(epoch from clock_timestamp() - first_held))),
    'writers', agents.open_writers(5)
  );
end
$$;
comment on function agents.held_log() is
  'If events are committed that no feed shows yet: {since, seconds, writers: what open_writers '
  'returns}. since is when the first of these events happened. Null: there are none.';
