-- What both functions share about agents: their keys, the log of events, and who is calling.
-- An agent is an identifier and nothing else: it exists as soon as somebody names it.

create schema agents;
comment on schema agents is 'Agent keys, the event log, and the identification of callers. Not exposed by the API.';

revoke all on schema agents from public, anon, authenticated;
grant usage on schema agents to service_role;

create domain agents.agent_id as text collate "C"
  constraint agent_id_is_well_formed check (value ~ '^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$');
comment on domain agents.agent_id is
  'An agent''s identifier. Byte order (collate "C"), because the order of agents is part of what they read.';

create table agents.keys (
  key_id text collate "C" primary key,
  agent_id agents.agent_id not null,
  key_hash text collate "C" not null,
  label text,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  revoked_at timestamptz,

  constraint key_id_is_well_formed check (key_id ~ '^key_[0-9a-f]{32}$'),
  constraint key_hash_is_a_sha256 check (key_hash ~ '^[0-9a-f]{64}$'),
  constraint key_hash_is_unique unique (key_hash)
);
comment on table agents.keys is 'Agent keys. Only the SHA-256 of a key is kept; the key itself is shown once, when it is made.';

create index keys_by_agent on agents.keys (agent_id);

create table agents.events (
  event_id bigint generated always as identity primary key,
  occurred_at timestamptz not null default clock_timestamp(),
  actor_kind text not null,
  actor_agent_id agents.agent_id,
  action text not null,
  subject_agent_id agents.agent_id,
  object_id text collate "C",
  details jsonb not null default '{}',
  request_id text,

  constraint actor_kind_is_known check (actor_kind in ('agent', 'operator', 'grant_token')),
  constraint agents_are_named_when_they_act check ((actor_kind = 'agent') = (actor_agent_id is not null))
);
comment on table agents.events is
  'Append-only: who changed which access on whom, and when. Written in the transaction of the change itself. Holds no secret.';
comment on column agents.events.object_id is 'What was acted on: an artifact_id, grant_id or key_id, where there is one.';
comment on column agents.events.subject_agent_id is 'The agent whose access changed, or whose object was acted on.';

create index events_by_object on agents.events (object_id, event_id);
create index events_by_subject on agents.events (subject_agent_id, event_id);

create function agents.refuse_changes_to_events() returns trigger
language plpgsql
set search_path = ''
as $$
begin
  raise exception 'agents.events is append-only' using errcode = '42501';
end
$$;
comment on function agents.refuse_changes_to_events() is 'Keeps the event log append-only, whatever privileges a role has.';

create trigger events_are_append_only
  before update or delete or truncate on agents.events
  for each statement execute function agents.refuse_changes_to_events();

alter table agents.keys enable row level security;
alter table agents.events enable row level security;

revoke all on agents.keys, agents.events from public, anon, authenticated;
grant select, insert, update on agents.keys to service_role;
grant select, insert on agents.events to service_role;

revoke all on function agents.refuse_changes_to_events() from public, anon, authenticated;
