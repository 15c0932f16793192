-- The whole schema, written by `deno task schema:squash` from supabase/schemas/: read it there.

-- schemas/agents/agents.sql -----------------------------------------------------------------------

-- What both functions share about agents: their keys, the log of events, and who is calling.
-- An agent is an identifier and nothing else: it exists as soon as somebody names it.

create schema agents;
comment on schema agents is
  'Agent keys, the event log, and the identification of callers. Not exposed by the API.';

create domain agents.agent_id as text collate "C"
  -- The length apart: to match {0,127} takes ten times as long, and a request writes many of these.
  constraint agent_id_is_well_formed check (
    length(value) <= 128 and value ~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$'
  );
comment on domain agents.agent_id is
  'An agent''s identifier. Byte order (collate "C"), because the order of agents is part of what '
  'they read.';

create function agents.iso_timestamp(instant timestamptz) returns text
language sql
stable
-- An SQL-standard body has its names fixed when it is made, needs no search_path, and is inlined.
return to_char(iso_timestamp.instant at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
comment on function agents.iso_timestamp(timestamptz) is
  'How every answer writes a timestamp: ISO 8601, UTC, milliseconds, Z.';

-- schemas/agents/events.sql -----------------------------------------------------------------------

-- The log of events: who changed which access on whom, and when.

create table agents.events (
  event_id bigint generated always as identity primary key,
  transaction_id xid8 not null default pg_current_xact_id(),
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
  'Append-only: who changed which access on whom, and when. Written in the transaction of the '
  'change itself. Holds no secret.';
comment on column agents.events.transaction_id is
  'Numbers are not given in the order of commits: a transaction that commits late has lower ones '
  'than what was read meanwhile. In the order of (transaction_id, event_id), and read only below '
  'pg_snapshot_xmin(pg_current_snapshot()), nothing is missed.';
comment on column agents.events.object_id is
  'What was acted on: an artifact_id, grant_id or key_id, where there is one.';
comment on column agents.events.subject_agent_id is
  'The agent whose access changed, or whose object was acted on.';

create function agents.artifact_of_event(object_id text, details jsonb) returns text
language sql
immutable
return coalesce(details ->> 'artifact_id', case when starts_with(object_id, 'art_') then object_id end)
  collate "C";
comment on function agents.artifact_of_event(text, jsonb) is
  'The artifact that an event is about, in whatever place it is named; null: none.';

-- What happened to an agent and what it did, each in the order of commits; what happened to an
-- artifact. Old events are found by event_id, which rises with time.
create index events_by_subject on agents.events (subject_agent_id, transaction_id, event_id);
create index events_by_actor on agents.events (actor_agent_id, transaction_id, event_id)
  where actor_agent_id <> subject_agent_id;
create index events_by_artifact on agents.events (agents.artifact_of_event(object_id, details), event_id)
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
  before update or delete or truncate on agents.events
  for each statement execute function agents.refuse_changes_to_events();

create function agents.record_event(
  caller jsonb,
  caller_agent text,
  action text,
  subject_agent_id text,
  object_id text default null,
  details jsonb default '{}'
) returns void
language sql
volatile
set search_path = ''
as $$
  insert into agents.events (actor_kind, actor_agent_id, action, subject_agent_id, object_id, details, request_id)
  values (
    record_event.caller ->> 'kind',
    record_event.caller_agent,
    record_event.action,
    record_event.subject_agent_id,
    record_event.object_id,
    record_event.details,
    record_event.caller ->> 'request_id'
  )
$$;
comment on function agents.record_event(jsonb, text, text, text, text, jsonb) is
  'Appends to agents.events. caller_agent is what authenticate returned: null for the operator.';

-- schemas/agents/keys.sql -------------------------------------------------------------------------

-- Agent keys: made and revoked by the operator alone, by rpc with the secret key or in the SQL
-- editor.

create table agents.keys (
  key_id text collate "C" primary key,
  agent_id agents.agent_id not null,
  key_hash text collate "C" not null,
  label text,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  revoked_at timestamptz,

  constraint key_id_is_well_formed check (
    length(key_id) = 36 and key_id ~ '^key_[0-9a-f]*$'
  ),
  constraint key_hash_is_a_sha256 check (length(key_hash) = 64 and key_hash ~ '^[0-9a-f]*$'),
  constraint key_hash_is_unique unique (key_hash)
);
comment on table agents.keys is
  'Agent keys. Only the SHA-256 of a key is kept; the key itself is shown once, when it is made.';

create index keys_by_agent on agents.keys (agent_id);

create function public.create_agent_key(
  agent_id text,
  label text default null,
  expires_at timestamptz default null,
  max_live_keys integer default 100
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  -- Two version 4 UUIDs carry 244 random bits of the server's strong generator; no extension is
  -- needed.
  agent_key text := 'ak_' || encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex');
  made agents.keys;
begin
  if create_agent_key.agent_id is null
    or create_agent_key.agent_id !~ '^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$'
  then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_id", "message": "Must be 1 to 128 of A-Z a-z 0-9 . _ : @ - and begin with a letter or digit."}]}';
  end if;
  if create_agent_key.expires_at <= clock_timestamp() then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "expires_at", "message": "Must lie in the future."}]}';
  end if;

  perform pg_advisory_xact_lock(hashtextextended('keys of ' || create_agent_key.agent_id, 0));
  if (
    select count(*)
    from agents.keys k
    where k.agent_id = create_agent_key.agent_id
      and k.revoked_at is null
      and (k.expires_at is null or k.expires_at > clock_timestamp())
  ) >= create_agent_key.max_live_keys then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object('limit', 'agent_keys', 'maximum', create_agent_key.max_live_keys);
  end if;

  insert into agents.keys (key_id, agent_id, key_hash, label, expires_at)
  values (
    'key_' || replace(gen_random_uuid()::text, '-', ''),
    create_agent_key.agent_id,
    encode(sha256(convert_to(agent_key, 'UTF8')), 'hex'),
    create_agent_key.label,
    create_agent_key.expires_at
  )
  returning * into made;

  perform agents.record_event('{"kind": "operator"}', null, 'key.created', made.agent_id, made.key_id);

  return json_build_object(
    'key_id', made.key_id,
    'agent_id', made.agent_id,
    'key', agent_key,
    'label', made.label,
    'created_at', agents.iso_timestamp(made.created_at),
    'expires_at', agents.iso_timestamp(made.expires_at)
  );
end
$$;
comment on function public.create_agent_key(text, text, timestamptz, integer) is
  'Makes an agent key and returns it with its id, once: only its hash is kept. An agent may have '
  'as many live keys as max_live_keys says. Raises invalid_request, limit_exceeded.';

create function public.revoke_agent_key(key_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  revoked agents.keys;
begin
  update agents.keys k
  set revoked_at = clock_timestamp()
  where k.key_id = revoke_agent_key.key_id and k.revoked_at is null
  returning * into revoked;

  if not found then
    return json_build_object('revoked', 0);
  end if;
  perform agents.record_event('{"kind": "operator"}', null, 'key.revoked', revoked.agent_id, revoked.key_id);
  return json_build_object('revoked', 1);
end
$$;
comment on function public.revoke_agent_key(text) is
  'Ends one agent key. Idempotent: {"revoked": 0} the second time.';

create function public.revoke_agent_keys(agent_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  revoked agents.keys;
  revoked_count integer := 0;
begin
  for revoked in
    update agents.keys k
    set revoked_at = clock_timestamp()
    where k.agent_id = revoke_agent_keys.agent_id and k.revoked_at is null
    returning *
  loop
    perform agents.record_event('{"kind": "operator"}', null, 'key.revoked', revoked.agent_id, revoked.key_id);
    revoked_count := revoked_count + 1;
  end loop;
  return json_build_object('revoked', revoked_count);
end
$$;
comment on function public.revoke_agent_keys(text) is 'Ends every live key of an agent.';

-- schemas/agents/callers.sql ----------------------------------------------------------------------

-- Who is calling. Every operation takes `caller` as its first argument, so that authentication is
-- part of the same transaction as the operation and costs no round trip of its own:
--   {"kind": "agent", "key_hash": "<sha256 of the agent key, hex>", "request_id": "…"}
--   {"kind": "operator", "request_id": "…"}
--   {"kind": "grant_token", "request_id": "…"}, for redeem_grant_token alone

create function agents.authenticate(caller jsonb) returns text
language plpgsql
stable
set search_path = ''
as $$
declare
  caller_agent text;
begin
  if caller ->> 'kind' = 'operator' then
    return null;
  end if;

  select k.agent_id into caller_agent
  from agents.keys k
  where caller ->> 'kind' = 'agent'
    and k.key_hash = caller ->> 'key_hash'
    and k.revoked_at is null
    and (k.expires_at is null or k.expires_at > clock_timestamp());

  if caller_agent is null then
    raise sqlstate 'PT401' using message = 'unauthenticated';
  end if;
  return caller_agent;
end
$$;
comment on function agents.authenticate(jsonb) is
  'The calling agent''s identifier, or null for the operator. Raises unauthenticated for an '
  'unknown, expired or revoked key.';

create function agents.authenticate_as(caller jsonb, agent_id text) returns text
language plpgsql
stable
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(authenticate_as.caller);
begin
  if caller_agent is not null and caller_agent is distinct from authenticate_as.agent_id then
    raise sqlstate 'PT403' using message = 'forbidden';
  end if;
  return caller_agent;
end
$$;
comment on function agents.authenticate_as(jsonb, text) is
  'As authenticate; raises forbidden when an agent names another agent than itself.';

create function agents.authenticate_operator(caller jsonb) returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  if agents.authenticate(authenticate_operator.caller) is not null then
    raise sqlstate 'PT403' using message = 'forbidden';
  end if;
end
$$;
comment on function agents.authenticate_operator(jsonb) is
  'Lets the operator through. Raises unauthenticated, and forbidden for an agent.';

create function agents.authenticate_as_one_of(caller jsonb, one_agent text, other_agent text) returns text
language plpgsql
stable
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(authenticate_as_one_of.caller);
begin
  if caller_agent not in (authenticate_as_one_of.one_agent, authenticate_as_one_of.other_agent) then
    raise sqlstate 'PT403' using message = 'forbidden';
  end if;
  return caller_agent;
end
$$;
comment on function agents.authenticate_as_one_of(jsonb, text, text) is
  'As agents.authenticate; raises forbidden when the caller is an agent and neither of the two.';

create function agents.subject_of(caller jsonb, agent_id text) returns text
language plpgsql
stable
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(subject_of.caller);
begin
  if caller_agent <> subject_of.agent_id then
    raise sqlstate 'PT403' using message = 'forbidden';
  end if;
  if caller_agent is null and subject_of.agent_id is null then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_id", "message": "Required from the operator."}]}';
  end if;
  return coalesce(caller_agent, subject_of.agent_id);
end
$$;
comment on function agents.subject_of(jsonb, text) is
  'Whom a read is about: the calling agent, which need not name itself, or the agent that the '
  'operator names. Raises forbidden, invalid_request.';

create function agents.actor_of(caller jsonb) returns text
language sql
stable
set search_path = ''
as $$
  select k.agent_id
  from agents.keys k
  where actor_of.caller ->> 'kind' = 'agent' and k.key_hash = actor_of.caller ->> 'key_hash'
$$;
comment on function agents.actor_of(jsonb) is
  'Who a caller was, even if its key has ended since. For the later steps of a request, whose '
  'first step authenticated it.';

create function public.check_operator(caller jsonb) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
begin
  perform agents.authenticate_operator(check_operator.caller);
  return json_build_object('kind', 'operator');
end
$$;
comment on function public.check_operator(jsonb) is
  'Lets the operator through, for operations that need nothing else of the database. Raises '
  'unauthenticated, forbidden.';

create function public.check_health() returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select json_build_object('status', 'ok')
$$;
comment on function public.check_health() is 'Answers when the database does; what /health calls.';

-- schemas/artifacts/artifacts.sql -----------------------------------------------------------------

-- Artifacts. An artifact is one immutable content; `key` is the name that moves.

create schema artifacts;
comment on schema artifacts is
  'Artifacts, their verification, grants and retention. Not exposed by the API.';

create table artifacts.artifacts (
  artifact_id text collate "C" primary key,
  agent_id agents.agent_id not null,
  key text collate "C" not null,
  mime text not null,
  size_bytes bigint not null,
  ttl_days integer not null,
  state text collate "C" not null default 'pending',
  sha256 text collate "C",
  created_at timestamptz not null default clock_timestamp(),
  committed_at timestamptz,
  expires_at timestamptz,
  deleted_at timestamptz,
  ended_at timestamptz,
  removed_at timestamptz,

  commit_attempts integer not null default 0,
  rejected_attempts integer not null default 0,
  sealed_attempt integer,

  constraint artifact_id_is_well_formed check (
    length(artifact_id) = 36 and artifact_id ~ '^art_[0-9a-f]*$'
  ),
  constraint key_has_1_to_1024_bytes check (octet_length(key) between 1 and 1024),
  constraint mime_has_at_most_255_characters check (length(mime) <= 255),
  constraint size_is_not_negative check (size_bytes >= 0),
  constraint ttl_is_positive check (ttl_days > 0),
  constraint state_is_known check (state in ('pending', 'committed', 'superseded', 'deleted')),
  constraint sha256_is_64_lower_case_hex_digits check (
    length(sha256) = 64 and sha256 ~ '^[0-9a-f]*$'
  ),
  constraint commit_sets_digest_times_and_attempt_together check (
    (committed_at is null) = (sha256 is null)
    and (committed_at is null) = (expires_at is null)
    and (committed_at is null) = (sealed_attempt is null)
  ),
  constraint pending_artifacts_are_not_committed check (state <> 'pending' or committed_at is null),
  constraint committed_artifacts_are_committed check (
    state not in ('committed', 'superseded') or committed_at is not null
  ),
  constraint deleted_at_is_set_when_deleted check ((state = 'deleted') = (deleted_at is not null)),
  constraint committed_artifacts_end_after_they_expire check (
    ended_at is null or state not in ('committed', 'superseded') or ended_at > expires_at
  ),
  constraint bytes_are_removed_after_the_end check (removed_at is null or ended_at is not null),
  constraint attempts_are_counted_upwards check (
    0 <= rejected_attempts and rejected_attempts <= commit_attempts
    and (sealed_attempt is null or sealed_attempt between 1 and commit_attempts)
  )
);
comment on table artifacts.artifacts is
  'One row per artifact: pending, then committed, then superseded; deleted ends either.';
comment on column artifacts.artifacts.ended_at is
  'Set by the sweep, once and for good, before it removes the bytes: every operation refuses the '
  'artifact from then on. The row stays as a tombstone.';
comment on column artifacts.artifacts.removed_at is
  'When the sweep saw that nothing of an ended artifact lies in the bucket any more.';
comment on column artifacts.artifacts.commit_attempts is
  'Attempts to commit so far. Attempt n seals the upload at sealed_path(artifact_id, n).';
comment on column artifacts.artifacts.rejected_attempts is
  'Sealed objects of attempts up to this one were found wrong. They are never taken up again, even '
  'while they still lie there: their removal may be under way.';
comment on column artifacts.artifacts.sealed_attempt is
  'The attempt whose object at sealed_path(artifact_id, sealed_attempt) holds the bytes. Null '
  'until the commit.';

-- The current artifact of each key; also the index that /list walks.
create unique index one_committed_artifact_per_key on artifacts.artifacts (agent_id, key)
  where state = 'committed' and ended_at is null;

create function artifacts.artifact_json(artifact artifacts.artifacts) returns json
language sql
stable
return json_build_object(
  'artifact_id', artifact.artifact_id,
  'agent_id', artifact.agent_id,
  'key', artifact.key,
  'mime', artifact.mime,
  'size', artifact.size_bytes,
  'ttl_days', artifact.ttl_days,
  'sha256', artifact.sha256,
  'state', artifact.state,
  'created_at', agents.iso_timestamp(artifact.created_at),
  'committed_at', agents.iso_timestamp(artifact.committed_at),
  'expires_at', agents.iso_timestamp(artifact.expires_at)
);
comment on function artifacts.artifact_json(artifacts.artifacts) is
  'The artifact object of the wire contract.';

create function artifacts.refuse_ended(artifact artifacts.artifacts) returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  if (refuse_ended.artifact).ended_at is not null
    or (refuse_ended.artifact).state = 'deleted'
    or (refuse_ended.artifact).expires_at <= clock_timestamp()
  then
    raise sqlstate 'PT410' using message = 'artifact_expired';
  end if;
end
$$;
comment on function artifacts.refuse_ended(artifacts.artifacts) is
  'Raises artifact_expired for an artifact that is past its end, deleted, or ended by the sweep.';

create function artifacts.lock_owned_artifact(caller_agent text, artifact_id text) returns artifacts.artifacts
language plpgsql
volatile
set search_path = ''
as $$
declare
  artifact artifacts.artifacts;
begin
  select a.* into artifact
  from artifacts.artifacts a
  where a.artifact_id = lock_owned_artifact.artifact_id
    and (lock_owned_artifact.caller_agent is null or a.agent_id = lock_owned_artifact.caller_agent)
  for update;

  if not found then
    raise sqlstate 'PT404' using message = 'artifact_not_found';
  end if;
  return artifact;
end
$$;
comment on function artifacts.lock_owned_artifact(text, text) is
  'The artifact, locked, if it belongs to the caller (null: the operator). Raises '
  'artifact_not_found, also when it is somebody else''s.';

create function public.list_artifacts(
  caller jsonb,
  agent_id text,
  prefix text,
  max_entries integer,
  after_key text
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  -- In byte order the keys with this prefix are all from the prefix itself to this, and no other
  -- key lies between: a key has at most 1024 bytes, which is 256 of the longest characters.
  last_key text collate "C" := list_artifacts.prefix || repeat(U&'\+10FFFF', 256);
  -- The most that one page walks: artifacts that expired and wait for the sweep cannot hold it up.
  entries_per_page constant integer := list_artifacts.max_entries + 1000;
  answer json;
begin
  perform agents.authenticate_as(list_artifacts.caller, list_artifacts.agent_id);

  with walked as (
    select a as artifact, a.key, a.expires_at > now() as is_live
    from artifacts.artifacts a
    where a.agent_id = list_artifacts.agent_id
      and a.state = 'committed'
      and a.ended_at is null
      and a.key >= list_artifacts.prefix
      and a.key <= last_key
      and a.key > coalesce(list_artifacts.after_key, '')
    order by a.key
    limit entries_per_page
  ), listed as (
    select w.artifact, w.key
    from walked w
    where w.is_live
    order by w.key
    -- One more than asked for tells whether there is a next page.
    limit list_artifacts.max_entries + 1
  ), page as (
    select l.artifact, l.key from listed l order by l.key limit list_artifacts.max_entries
  )
  select json_build_object(
    'artifacts', (
      select coalesce(json_agg(artifacts.artifact_json(p.artifact) order by p.key), '[]') from page p
    ),
    'last_key', case
      when (select count(*) from listed) > list_artifacts.max_entries then (select max(p.key) from page p)
      when (select count(*) from walked) = entries_per_page then (select max(w.key) from walked w)
    end
  ) into answer;
  return answer;
end
$$;
comment on function public.list_artifacts(jsonb, text, text, integer, text) is
  'The current artifacts of an agent under a prefix, in byte order of key, after after_key. '
  'last_key, if not null, is where the next page begins; a page may be short, or empty, before the '
  'last. Raises forbidden.';

create function public.delete_artifact(caller jsonb, artifact_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(delete_artifact.caller);
  artifact artifacts.artifacts;
begin
  artifact := artifacts.lock_owned_artifact(caller_agent, delete_artifact.artifact_id);
  if artifact.state = 'deleted' then
    -- Whoever lost the first answer, and repeats the delete, gets it now.
    return artifacts.artifact_json(artifact);
  end if;
  perform artifacts.refuse_ended(artifact);

  -- Grants end because their artifact has; the bytes are removed by the sweep.
  update artifacts.artifacts a
  set state = 'deleted', deleted_at = clock_timestamp()
  where a.artifact_id = artifact.artifact_id
  returning a.* into artifact;
  -- A commit under way loses its lease, and so its verdict.
  delete from artifacts.verifications v where v.artifact_id = artifact.artifact_id;

  perform agents.record_event(
    delete_artifact.caller, caller_agent, 'artifact.deleted', artifact.agent_id, artifact.artifact_id
  );
  return artifacts.artifact_json(artifact);
end
$$;
comment on function public.delete_artifact(jsonb, text) is
  'Ends an artifact and with it its grants. Idempotent. Raises artifact_not_found, '
  'artifact_expired.';

-- schemas/artifacts/objects.sql -------------------------------------------------------------------

-- The objects of artifacts in Storage: where they lie, and which of them are live. The user's key
-- is never part of a path.

create function artifacts.bucket() returns text
language sql
immutable
return 'agent-artifacts';
comment on function artifacts.bucket() is 'The bucket that holds every artifact''s bytes.';

-- The private bucket. Its size limit is the project's own (Settings, Storage).
insert into storage.buckets (id, name, public)
values (artifacts.bucket(), artifacts.bucket(), false)
on conflict (id) do update set public = false;

create function artifacts.incoming_path(artifact_id text) returns text
language sql
immutable
return 'incoming/' || artifact_id;
comment on function artifacts.incoming_path(text) is
  'Where the upload URL of an artifact puts its bytes.';

create function artifacts.sealed_folder(artifact_id text) returns text
language sql
immutable
return 'sealed/' || artifact_id || '/';
comment on function artifacts.sealed_folder(text) is
  'What the sealed paths of an artifact begin with.';

create function artifacts.sealed_path(artifact_id text, attempt integer) returns text
language sql
immutable
return artifacts.sealed_folder(artifact_id) || attempt;
comment on function artifacts.sealed_path(text, integer) is
  'Where an attempt to commit puts the bytes out of reach: no upload URL is ever signed for such a '
  'path.';

create function artifacts.end_of_folder(folder text) returns text
language sql
immutable
-- '0' is the character after '/'.
return left(folder, -1) || '0';
comment on function artifacts.end_of_folder(text) is
  'The first name in byte order after all that lie in a folder, which ends in "/".';

create function artifacts.has_object(path text) returns boolean
language sql
stable
set search_path = ''
as $$
  select exists (
    select from storage.objects o where o.bucket_id = artifacts.bucket() and o.name = has_object.path
  )
$$;
comment on function artifacts.has_object(text) is 'Whether anything lies at a path of the bucket.';

create function artifacts.has_objects(artifact_id text) returns boolean
language sql
stable
set search_path = ''
as $$
  select artifacts.has_object(artifacts.incoming_path(has_objects.artifact_id))
    or exists (
      select from storage.objects o
      where o.bucket_id = artifacts.bucket()
        and o.name collate "C" > artifacts.sealed_folder(has_objects.artifact_id)
        and o.name collate "C" < artifacts.end_of_folder(artifacts.sealed_folder(has_objects.artifact_id))
    )
$$;
comment on function artifacts.has_objects(text) is
  'Whether the bucket has anything of this artifact.';

create function artifacts.newest_sealed_attempt(artifact artifacts.artifacts) returns integer
language sql
stable
set search_path = ''
as $$
  -- Only the attempts since the last verdict can be there, so these are few. Each is one look into
  -- the unique index.
  select attempt
  from generate_series(
    (newest_sealed_attempt.artifact).commit_attempts,
    (newest_sealed_attempt.artifact).rejected_attempts + 1,
    -1
  ) as attempt
  where artifacts.has_object(
    artifacts.sealed_path((newest_sealed_attempt.artifact).artifact_id, attempt)
  )
  order by attempt desc
  limit 1
$$;
comment on function artifacts.newest_sealed_attempt(artifacts.artifacts) is
  'The attempt that crashed and left a sealed object behind, which may still be taken up, or null.';

-- schemas/artifacts/grants.sql --------------------------------------------------------------------

-- Grants: access of one agent to one artifact, until it expires or is revoked.

create table artifacts.grants (
  grant_id text collate "C" primary key,
  artifact_id text collate "C" not null references artifacts.artifacts (artifact_id) on delete cascade,
  from_agent agents.agent_id not null,
  to_agent agents.agent_id not null,
  token_hash text collate "C" not null,
  granted_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  revoked_at timestamptz,
  live_until timestamptz not null generated always as (least(expires_at, revoked_at)) stored,

  constraint grant_id_is_well_formed check (
    length(grant_id) = 38 and grant_id ~ '^grant_[0-9a-f]*$'
  ),
  constraint token_hash_is_a_sha256 check (length(token_hash) = 64 and token_hash ~ '^[0-9a-f]*$'),
  constraint token_hash_is_unique unique (token_hash)
);
comment on table artifacts.grants is
  'Access of one agent to one artifact until expires_at. Only the SHA-256 of the grant token is '
  'kept.';
comment on column artifacts.grants.from_agent is 'The owner of the artifact, which never changes.';
comment on column artifacts.grants.live_until is
  'When it expires or was revoked. Rows of grants that ended stay for 30 days; an index with this '
  'column leads past them.';

create index grants_by_artifact on artifacts.grants (artifact_id, live_until) include (to_agent);
create index grants_by_grantee on artifacts.grants (to_agent, live_until);
-- The order of /inbox.
create index unrevoked_grants_by_grantee on artifacts.grants (to_agent, granted_at desc, grant_id desc)
  where revoked_at is null;
create index grants_by_granter on artifacts.grants (from_agent, granted_at desc, grant_id desc);
create index grants_by_end on artifacts.grants (live_until);

create function artifacts.live_grants(artifact_id text, instant timestamptz) returns setof artifacts.grants
language sql
stable
begin atomic
  select g.*
  from artifacts.grants g
  -- One range of grants_by_artifact, written so that no other index is searched for it: for
  -- live_until alone the planner might take grants_by_end, which has the grants of all artifacts.
  where (g.artifact_id, g.live_until) > (live_grants.artifact_id, live_grants.instant)
    and (g.artifact_id, g.live_until) <= (live_grants.artifact_id, timestamptz 'infinity')
  -- What the caller asks for besides is asked of these few, not of another index.
  offset 0;
end;
comment on function artifacts.live_grants(text, timestamptz) is
  'The grants of an artifact that are live after an instant, of which there are few. The instant '
  'has to be a variable: clock_timestamp() is volatile, and no index is searched for it.';

create function public.grant_artifact(
  caller jsonb,
  artifact_id text,
  to_agent text,
  expires_at timestamptz,
  grant_id text,
  token_hash text,
  max_live_grants integer
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(grant_artifact.caller);
  artifact artifacts.artifacts;
  granted artifacts.grants;
  checked_at timestamptz;
begin
  artifact := artifacts.lock_owned_artifact(caller_agent, grant_artifact.artifact_id);
  perform artifacts.refuse_ended(artifact);
  if artifact.state = 'pending' then
    raise sqlstate 'PT409' using message = 'artifact_not_committed';
  end if;
  checked_at := clock_timestamp();
  if grant_artifact.expires_at <= checked_at then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "expires_at", "message": "Must lie in the future."}]}';
  end if;

  -- Exact, because the artifact is locked.
  if (
    select count(*) from artifacts.live_grants(artifact.artifact_id, checked_at)
  ) >= grant_artifact.max_live_grants then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object('limit', 'live_grants', 'maximum', grant_artifact.max_live_grants);
  end if;

  insert into artifacts.grants (grant_id, artifact_id, from_agent, to_agent, token_hash, expires_at)
  values (
    grant_artifact.grant_id,
    artifact.artifact_id,
    artifact.agent_id,
    grant_artifact.to_agent,
    grant_artifact.token_hash,
    grant_artifact.expires_at
  )
  returning * into granted;

  perform agents.record_event(
    grant_artifact.caller, caller_agent, 'grant.created', granted.to_agent, granted.grant_id,
    jsonb_build_object(
      'artifact_id', granted.artifact_id, 'expires_at', agents.iso_timestamp(granted.expires_at)
    )
  );
  return json_build_object(
    'grant_id', granted.grant_id,
    'artifact_id', granted.artifact_id,
    'to_agent', granted.to_agent,
    'expires_at', agents.iso_timestamp(granted.expires_at)
  );
end
$$;
comment on function public.grant_artifact(jsonb, text, text, timestamptz, text, text, integer) is
  'Gives an agent access to an artifact until expires_at. Raises artifact_not_found, '
  'artifact_expired, artifact_not_committed, invalid_request, limit_exceeded.';

create function public.revoke_grants(caller jsonb, artifact_id text, to_agent text, grant_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(revoke_grants.caller);
  checked_at timestamptz;
  live_ids text[];
  revoked artifacts.grants;
  revoked_ids text[] := array[]::text[];
begin
  if revoke_grants.grant_id is not null then
    -- Whatever else the request names must be that grant's own.
    live_ids := array(
      select g.grant_id
      from artifacts.grants g
      where g.grant_id = revoke_grants.grant_id
        and (caller_agent is null or g.from_agent = caller_agent)
        and g.artifact_id = coalesce(revoke_grants.artifact_id, g.artifact_id)
        and g.to_agent = coalesce(revoke_grants.to_agent, g.to_agent)
    );
    if live_ids = '{}' then
      raise sqlstate 'PT404' using message = 'grant_not_found';
    end if;
  else
    -- Under the lock, a grant that is being written now either waits or is seen.
    perform artifacts.lock_owned_artifact(caller_agent, revoke_grants.artifact_id);
    checked_at := clock_timestamp();
    live_ids := array(
      select g.grant_id
      from artifacts.live_grants(revoke_grants.artifact_id, checked_at) g
      where g.to_agent = revoke_grants.to_agent
    );
  end if;

  for revoked in
    update artifacts.grants g
    set revoked_at = clock_timestamp()
    where g.grant_id = any (live_ids) and g.revoked_at is null and g.expires_at > clock_timestamp()
    returning g.*
  loop
    perform agents.record_event(
      revoke_grants.caller, caller_agent, 'grant.revoked', revoked.to_agent, revoked.grant_id,
      jsonb_build_object('artifact_id', revoked.artifact_id)
    );
    revoked_ids := revoked_ids || revoked.grant_id;
  end loop;

  return json_build_object('revoked', cardinality(revoked_ids), 'grant_ids', to_json(revoked_ids));
end
$$;
comment on function public.revoke_grants(jsonb, text, text, text) is
  'Ends one grant by its id, or every live grant of an artifact to an agent. Idempotent. Raises '
  'grant_not_found or artifact_not_found.';

-- schemas/artifacts/totals.sql --------------------------------------------------------------------

-- What each agent holds, kept as it changes: limits, metrics and the operator's commands read it,
-- so that none of them has to count.

create table artifacts.totals (
  agent_id agents.agent_id primary key,
  pending bigint not null default 0,
  committed bigint not null default 0,
  superseded bigint not null default 0,
  pending_bytes bigint not null default 0,
  committed_bytes bigint not null default 0,
  superseded_bytes bigint not null default 0,
  grants bigint not null default 0
)
-- Room for the new version of each row beside the old one: no index is on what changes.
with (fillfactor = 50);
comment on table artifacts.totals is
  'One row per agent that ever registered an artifact: how many it holds in each state, and their '
  'registered bytes, until they are deleted or the sweep ends them; and how many grants of them '
  'have a row, those that ended in the last 30 days included.';

create function artifacts.count_totals(agent_id text) returns artifacts.totals
language sql
stable
set search_path = ''
as $$
  select count_totals.agent_id,
    count(*) filter (where a.state = 'pending'),
    count(*) filter (where a.state = 'committed'),
    count(*) filter (where a.state = 'superseded'),
    coalesce(sum(a.size_bytes) filter (where a.state = 'pending'), 0)::bigint,
    coalesce(sum(a.size_bytes) filter (where a.state = 'committed'), 0)::bigint,
    coalesce(sum(a.size_bytes) filter (where a.state = 'superseded'), 0)::bigint,
    (select count(*) from artifacts.grants g where g.from_agent = count_totals.agent_id)
  from artifacts.artifacts a
  where a.agent_id = count_totals.agent_id and a.state <> 'deleted' and a.ended_at is null
$$;
comment on function artifacts.count_totals(text) is
  'What the totals of an agent should be. It reads all of its rows: for fsck, and for tests.';

create function artifacts.add_to_totals(changes artifacts.totals[]) returns void
language sql
volatile
set search_path = ''
as $$
  insert into artifacts.totals as t
  select c.agent_id, sum(c.pending), sum(c.committed), sum(c.superseded), sum(c.pending_bytes),
    sum(c.committed_bytes), sum(c.superseded_bytes), sum(c.grants)
  from unnest(add_to_totals.changes) c
  group by c.agent_id
  having (
    sum(c.pending), sum(c.committed), sum(c.superseded), sum(c.pending_bytes),
    sum(c.committed_bytes), sum(c.superseded_bytes), sum(c.grants)
  ) <> (0, 0, 0, 0, 0, 0, 0)
  -- In the same order for everybody who changes the totals of several agents.
  order by c.agent_id
  on conflict on constraint totals_pkey do update
  set pending = t.pending + excluded.pending,
      committed = t.committed + excluded.committed,
      superseded = t.superseded + excluded.superseded,
      pending_bytes = t.pending_bytes + excluded.pending_bytes,
      committed_bytes = t.committed_bytes + excluded.committed_bytes,
      superseded_bytes = t.superseded_bytes + excluded.superseded_bytes,
      grants = t.grants + excluded.grants
$$;
comment on function artifacts.add_to_totals(artifacts.totals[]) is
  'Adds these numbers, which may be negative, to the totals of their agents.';

create function artifacts.share_in_totals(artifact artifacts.artifacts, sign integer)
returns artifacts.totals
language sql
immutable
return row(
  artifact.agent_id,
  case when artifact.ended_at is null and artifact.state = 'pending' then sign else 0 end,
  case when artifact.ended_at is null and artifact.state = 'committed' then sign else 0 end,
  case when artifact.ended_at is null and artifact.state = 'superseded' then sign else 0 end,
  case when artifact.ended_at is null and artifact.state = 'pending'
    then sign * artifact.size_bytes else 0 end,
  case when artifact.ended_at is null and artifact.state = 'committed'
    then sign * artifact.size_bytes else 0 end,
  case when artifact.ended_at is null and artifact.state = 'superseded'
    then sign * artifact.size_bytes else 0 end,
  0
)::artifacts.totals;
comment on function artifacts.share_in_totals(artifacts.artifacts, integer) is
  'What one artifact adds to the totals of its agent (sign 1), or takes away (sign -1).';

create function artifacts.keep_totals_of_artifacts() returns trigger
language plpgsql
set search_path = ''
as $$
declare
  changes artifacts.totals[] := array[]::artifacts.totals[];
begin
  -- Each operation has only the transition tables that it can have.
  if tg_op <> 'INSERT' then
    changes := changes || array(select artifacts.share_in_totals(o, -1) from old_rows o);
  end if;
  if tg_op <> 'DELETE' then
    changes := changes || array(select artifacts.share_in_totals(n, 1) from new_rows n);
  end if;
  perform artifacts.add_to_totals(changes);
  return null;
end
$$;
comment on function artifacts.keep_totals_of_artifacts() is
  'Keeps artifacts.totals as artifacts change.';

create trigger inserted_artifacts_count after insert on artifacts.artifacts
  referencing new table as new_rows
  for each statement execute function artifacts.keep_totals_of_artifacts();
create trigger updated_artifacts_count after update on artifacts.artifacts
  referencing old table as old_rows new table as new_rows
  for each statement execute function artifacts.keep_totals_of_artifacts();
create trigger deleted_artifacts_count after delete on artifacts.artifacts
  referencing old table as old_rows
  for each statement execute function artifacts.keep_totals_of_artifacts();

create function artifacts.keep_totals_of_grants() returns trigger
language plpgsql
set search_path = ''
as $$
begin
  if tg_op = 'INSERT' then
    perform artifacts.add_to_totals(
      array(select row(n.from_agent, 0, 0, 0, 0, 0, 0, 1)::artifacts.totals from new_rows n)
    );
  else
    perform artifacts.add_to_totals(
      array(select row(o.from_agent, 0, 0, 0, 0, 0, 0, -1)::artifacts.totals from old_rows o)
    );
  end if;
  return null;
end
$$;
comment on function artifacts.keep_totals_of_grants() is
  'Keeps artifacts.totals as grants come and go.';

create trigger inserted_grants_count after insert on artifacts.grants
  referencing new table as new_rows
  for each statement execute function artifacts.keep_totals_of_grants();
create trigger deleted_grants_count after delete on artifacts.grants
  referencing old table as old_rows
  for each statement execute function artifacts.keep_totals_of_grants();

-- schemas/artifacts/registrations.sql -------------------------------------------------------------

-- Registering artifacts, within what an agent may hold.

-- An artifact counts from /register on, so that nobody can promise more than there is room for. It
-- counts until it is deleted, has expired, or was abandoned and swept.
create index held_artifacts_by_agent on artifacts.artifacts (agent_id, expires_at)
  include (size_bytes, state)
  where state <> 'deleted' and ended_at is null;

create function artifacts.refuse_beyond_limits(
  agent_id text,
  size bigint,
  quota_bytes bigint,
  max_pending integer
) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  held artifacts.totals;
  held_bytes bigint;
  registered_at timestamptz;
begin
  -- Registrations of one agent take turns, so that each sees what the one before it took.
  perform pg_advisory_xact_lock(
    hashtextextended('artifacts of ' || refuse_beyond_limits.agent_id, 0)
  );
  select t.* into held from artifacts.totals t where t.agent_id = refuse_beyond_limits.agent_id;
  if not found then
    held.pending := 0;
    held_bytes := 0;
  else
    held_bytes := held.pending_bytes + held.committed_bytes + held.superseded_bytes;
  end if;

  if refuse_beyond_limits.quota_bytes > 0
    and held_bytes + refuse_beyond_limits.size > refuse_beyond_limits.quota_bytes
  then
    -- The totals count what expired until the sweep ends it. Only here does that decide.
    registered_at := clock_timestamp();
    select held_bytes - coalesce(sum(a.size_bytes), 0) into held_bytes
    from artifacts.artifacts a
    where a.agent_id = refuse_beyond_limits.agent_id
      and a.state <> 'deleted'
      and a.ended_at is null
      and a.expires_at <= registered_at;
    if held_bytes + refuse_beyond_limits.size > refuse_beyond_limits.quota_bytes then
      raise sqlstate 'PT409' using
        message = 'quota_exceeded',
        detail = json_build_object(
          'quota_bytes', refuse_beyond_limits.quota_bytes, 'held_bytes', held_bytes
        );
    end if;
  end if;
  if held.pending >= refuse_beyond_limits.max_pending then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object(
        'limit', 'pending_artifacts', 'maximum', refuse_beyond_limits.max_pending
      );
  end if;
end
$$;
comment on function artifacts.refuse_beyond_limits(text, bigint, bigint, integer) is
  'Raises quota_exceeded or limit_exceeded where an agent may not register as many bytes more.';

create function public.register_artifact(
  caller jsonb,
  artifact_id text,
  agent_id text,
  key text,
  mime text,
  size bigint,
  ttl_days integer,
  quota_bytes bigint,
  max_pending integer
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate_as(register_artifact.caller, register_artifact.agent_id);
  registered artifacts.artifacts;
begin
  perform artifacts.refuse_beyond_limits(
    register_artifact.agent_id, register_artifact.size, register_artifact.quota_bytes, register_artifact.max_pending
  );

  insert into artifacts.artifacts (artifact_id, agent_id, key, mime, size_bytes, ttl_days)
  values (
    register_artifact.artifact_id,
    register_artifact.agent_id,
    register_artifact.key,
    register_artifact.mime,
    register_artifact.size,
    register_artifact.ttl_days
  )
  returning * into registered;

  perform agents.record_event(
    register_artifact.caller, caller_agent, 'artifact.registered', registered.agent_id, registered.artifact_id
  );
  return artifacts.artifact_json(registered);
end
$$;
comment on function public.register_artifact(jsonb, text, text, text, text, bigint, integer, bigint, integer) is
  'Registers a pending artifact under an id that the caller of the function made. quota_bytes is '
  'what the agent''s artifacts may hold together (0: no quota). Raises forbidden, quota_exceeded, '
  'limit_exceeded.';

create function public.discard_registration(caller jsonb, artifact_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  discarded artifacts.artifacts;
begin
  update artifacts.artifacts a
  set state = 'deleted', deleted_at = clock_timestamp()
  where a.artifact_id = discard_registration.artifact_id and a.state = 'pending' and a.commit_attempts = 0
  returning a.* into discarded;

  if found then
    perform agents.record_event(
      discard_registration.caller, agents.actor_of(discard_registration.caller),
      'artifact.deleted', discarded.agent_id, discarded.artifact_id, '{"reason": "registration was not answered"}'
    );
  end if;
  return json_build_object('discarded', discarded.artifact_id is not null);
end
$$;
comment on function public.discard_registration(jsonb, text) is
  'Takes back a registration whose answer could not be given. Needs no authentication: the '
  'registration was authenticated, and nobody else knows its id.';

-- schemas/artifacts/verifications.sql -------------------------------------------------------------

-- Verifying the bytes of an artifact. /commit takes several steps, so that no transaction stays
-- open while bytes are read:
--   begin_commit          takes a lease and says which object to verify, and from where on
--   save_commit_progress  keeps how far a large object was hashed, and gives the lease back: the
--                         next call goes on there
--   finish_commit         takes what was observed, and decides, if the lease still holds
--   release_commit        gives the lease back when no verdict could be reached
-- A commit that dies in between leaves a lease that runs out and, at most, a sealed object that the
-- next one takes up.
--
-- Whoever changes both an artifact and its verification locks the artifact first.

create table artifacts.verifications (
  artifact_id text collate "C" primary key
    references artifacts.artifacts (artifact_id) on delete cascade,
  attempt integer not null,
  lease_token uuid,
  lease_expires_at timestamptz,
  verified_bytes bigint not null default 0,
  hash_state bytea,
  object_id uuid,
  object_version text,
  progress_at timestamptz,

  constraint attempts_begin_at_1 check (attempt >= 1),
  constraint a_lease_has_an_end check ((lease_token is null) = (lease_expires_at is null)),
  constraint a_hash_state_is_of_one_object check (
    (hash_state is null) = (verified_bytes = 0)
    and (hash_state is null) = (object_id is null)
    and (hash_state is null) = (object_version is null)
    and (hash_state is null) = (progress_at is null)
  )
);
comment on table artifacts.verifications is
  'One row per attempt to commit that has no verdict yet, at most one per artifact. A verdict, a '
  'delete and the end of the artifact delete it.';
comment on column artifacts.verifications.lease_token is
  'Held by the one commit that verifies this artifact now; a verdict without it changes nothing. '
  'Null: given back.';
comment on column artifacts.verifications.hash_state is
  'The SHA-256 state of the first verified_bytes of one object: the one with this Storage id and '
  'version, and no other. Otherwise the bytes of one upload would certify those of another.';
comment on column artifacts.verifications.progress_at is
  'When a verification over several calls last came further.';

create function public.begin_commit(
  caller jsonb, artifact_id text, sha256 text, lease_seconds integer
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(begin_commit.caller);
  artifact artifacts.artifacts;
  verification artifacts.verifications;
  attempt_to_verify integer;
  incoming_path text;
  sealed_path text;
  stored record;
begin
  artifact := artifacts.lock_owned_artifact(caller_agent, begin_commit.artifact_id);
  perform artifacts.refuse_ended(artifact);

  if artifact.state <> 'pending' then
    if artifact.sha256 <> begin_commit.sha256 then
      raise sqlstate 'PT409' using message = 'already_committed';
    end if;
    return json_build_object('step', 'done', 'artifact', artifacts.artifact_json(artifact));
  end if;

  select v.* into verification
  from artifacts.verifications v
  where v.artifact_id = artifact.artifact_id;
  if verification.lease_expires_at > clock_timestamp() then
    raise sqlstate 'PT409' using message = 'commit_in_progress';
  end if;

  if artifacts.has_object(artifacts.incoming_path(artifact.artifact_id)) then
    incoming_path := artifacts.incoming_path(artifact.artifact_id);
    update artifacts.artifacts a
    set commit_attempts = a.commit_attempts + 1
    where a.artifact_id = artifact.artifact_id
    returning a.commit_attempts into attempt_to_verify;
    -- Another object than any before it: what was hashed so far says nothing about it.
    delete from artifacts.verifications v where v.artifact_id = artifact.artifact_id;
  else
    attempt_to_verify := artifacts.newest_sealed_attempt(artifact);
    if attempt_to_verify is null then
      raise sqlstate 'PT409' using message = 'upload_missing';
    end if;
  end if;

  insert into artifacts.verifications as v (artifact_id, attempt, lease_token, lease_expires_at)
  values (
    artifact.artifact_id, attempt_to_verify, gen_random_uuid(),
    clock_timestamp() + make_interval(secs => begin_commit.lease_seconds)
  )
  on conflict on constraint verifications_pkey do update
  set attempt = excluded.attempt, lease_token = excluded.lease_token,
      lease_expires_at = excluded.lease_expires_at
  returning v.* into verification;

  sealed_path := artifacts.sealed_path(artifact.artifact_id, verification.attempt);
  select o.id, o.version, (o.metadata ->> 'size')::bigint as size into stored
  from storage.objects o
  where o.bucket_id = artifacts.bucket() and o.name = coalesce(incoming_path, sealed_path);

  return json_build_object(
    'step', 'verify',
    'lease_token', verification.lease_token,
    'incoming_path', incoming_path,
    'sealed_path', sealed_path,
    'size', artifact.size_bytes,
    'object', json_build_object('id', stored.id, 'version', stored.version, 'size', stored.size),
    'progress', case
      when stored.id = verification.object_id and stored.version = verification.object_version
      then json_build_object(
        'verified_bytes', verification.verified_bytes,
        'hash_state', encode(verification.hash_state, 'base64')
      )
    end
  );
end
$$;
comment on function public.begin_commit(jsonb, text, text, integer) is
  'Takes the lease of a commit. Returns {step: "done", artifact} when there is nothing left to do, '
  'else {step: "verify", lease_token, incoming_path | null, sealed_path, size, object: {id, '
  'version, size | null}, progress: {verified_bytes, hash_state (base64)} | null}: move '
  'incoming_path, if there is one, to sealed_path and verify that, from progress on. object is '
  'what lies at the first of the two paths now; a move gives it another version. Raises '
  'artifact_not_found, artifact_expired, already_committed, commit_in_progress, upload_missing.';

create function public.save_commit_progress(
  artifact_id text,
  lease_token uuid,
  object_id uuid,
  object_version text,
  verified_bytes bigint,
  hash_state text
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  artifact artifacts.artifacts;
  verified_attempt integer;
begin
  select a.* into artifact
  from artifacts.artifacts a
  where a.artifact_id = save_commit_progress.artifact_id
  for update;

  update artifacts.verifications v
  set lease_token = null,
      lease_expires_at = null,
      verified_bytes = save_commit_progress.verified_bytes,
      hash_state = decode(save_commit_progress.hash_state, 'base64'),
      object_id = save_commit_progress.object_id,
      object_version = save_commit_progress.object_version,
      progress_at = clock_timestamp()
  where v.artifact_id = save_commit_progress.artifact_id
    and v.lease_token = save_commit_progress.lease_token
  returning v.attempt into verified_attempt;
  if not found then
    raise sqlstate 'PT409' using message = 'commit_in_progress';
  end if;

  -- Of several sealed uploads only the newest is ever taken up: those before it are dead.
  update artifacts.artifacts a
  set rejected_attempts = greatest(a.rejected_attempts, verified_attempt - 1)
  where a.artifact_id = artifact.artifact_id;
  return artifacts.artifact_json(artifact);
end
$$;
comment on function public.save_commit_progress(text, uuid, uuid, text, bigint, text) is
  'Keeps the SHA-256 state (base64) of the first verified_bytes of one object, and gives the lease '
  'back. Returns the artifact. Raises commit_in_progress when the lease was lost: then nothing is '
  'kept.';

create function public.finish_commit(
  caller jsonb,
  artifact_id text,
  lease_token uuid,
  expected_sha256 text,
  observed_size bigint,
  observed_sha256 text
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  artifact artifacts.artifacts;
  decided_attempt integer;
  superseded_id text;
begin
  -- Not authenticated again: the request was, when it took the lease, and the lease is its proof. A
  -- key that was revoked since then must not leave the artifact half way.
  select a.* into artifact
  from artifacts.artifacts a
  where a.artifact_id = finish_commit.artifact_id;

  -- Commits of one key take turns, so that exactly one artifact is current. This comes before any
  -- row lock, so that two of them cannot wait for each other.
  perform pg_advisory_xact_lock(
    hashtextextended('artifact key ' || artifact.agent_id || '/' || artifact.key, 0)
  );

  select a.* into artifact
  from artifacts.artifacts a
  where a.artifact_id = finish_commit.artifact_id
  for update;

  -- Whatever the verdict is, the attempt ends here.
  delete from artifacts.verifications v
  where v.artifact_id = artifact.artifact_id and v.lease_token = finish_commit.lease_token
  returning v.attempt into decided_attempt;

  if not found then
    perform artifacts.refuse_ended(artifact);
    if artifact.state <> 'pending' and artifact.sha256 = finish_commit.expected_sha256 then
      return json_build_object('verdict', 'committed', 'artifact', artifacts.artifact_json(artifact));
    end if;
    raise sqlstate 'PT409' using message = 'commit_in_progress';
  end if;

  if finish_commit.observed_size <> artifact.size_bytes
    or finish_commit.observed_sha256 is distinct from finish_commit.expected_sha256
  then
    update artifacts.artifacts a
    set rejected_attempts = decided_attempt
    where a.artifact_id = artifact.artifact_id;

    if finish_commit.observed_size <> artifact.size_bytes then
      return json_build_object(
        'verdict', 'size_mismatch', 'expected', artifact.size_bytes, 'actual', finish_commit.observed_size
      );
    end if;
    return json_build_object(
      'verdict', 'checksum_mismatch', 'expected', finish_commit.expected_sha256, 'actual', finish_commit.observed_sha256
    );
  end if;

  update artifacts.artifacts a
  set state = 'superseded'
  where a.agent_id = artifact.agent_id
    and a.key = artifact.key
    and a.state = 'committed'
    and a.ended_at is null
  returning a.artifact_id into superseded_id;

  update artifacts.artifacts a
  set state = 'committed',
      sha256 = finish_commit.observed_sha256,
      sealed_attempt = decided_attempt,
      committed_at = committed.at,
      expires_at = committed.at + make_interval(hours => 24 * a.ttl_days)
  from (select clock_timestamp() as at) committed
  where a.artifact_id = artifact.artifact_id
  returning a.* into artifact;

  perform agents.record_event(
    finish_commit.caller, agents.actor_of(finish_commit.caller), 'artifact.committed',
    artifact.agent_id, artifact.artifact_id,
    jsonb_build_object('sha256', artifact.sha256, 'superseded', superseded_id)
  );
  return json_build_object('verdict', 'committed', 'artifact', artifacts.artifact_json(artifact));
end
$$;
comment on function public.finish_commit(jsonb, text, uuid, text, bigint, text) is
  'Decides on what was observed at the leased sealed path: {verdict: "committed", artifact}, or '
  '{verdict: "size_mismatch" | "checksum_mismatch", expected, actual}, after which the object at '
  'that path is to be removed. Raises commit_in_progress when the lease was lost: then nothing may '
  'be removed.';

create function public.release_commit(artifact_id text, lease_token uuid) returns json
language sql
volatile
security invoker
set search_path = ''
as $$
  with released as (
    update artifacts.verifications v
    set lease_token = null, lease_expires_at = null
    where v.artifact_id = release_commit.artifact_id and v.lease_token = release_commit.lease_token
    returning 1
  )
  select json_build_object('released', exists (select from released))
$$;
comment on function public.release_commit(text, uuid) is
  'Gives back the lease of a commit that could not be decided, so that the next need not wait for '
  'its end.';

-- schemas/artifacts/inbox.sql ---------------------------------------------------------------------

-- What is granted to an agent.

create function artifacts.inbox_entries(
  agent_id text,
  max_entries integer,
  after_granted_at timestamptz,
  after_grant_id text
) returns table (grant_id text, granted_at timestamptz, is_live boolean)
language plpgsql
stable
set search_path = ''
as $$
declare
  -- The most that one page looks at.
  entries_per_page constant integer := inbox_entries.max_entries + 1000;
  live_ids text[];
begin
  -- Few agents have more live grants than that. An index leads to all of them, past those that
  -- ended, however many these are.
  live_ids := array(
    select g.grant_id
    from artifacts.grants g
    where g.to_agent = inbox_entries.agent_id and g.live_until > now()
    order by g.to_agent, g.live_until
    limit entries_per_page
  );
  if cardinality(live_ids) < entries_per_page then
    return query
      select g.grant_id, g.granted_at, true
      from artifacts.grants g
      where g.grant_id = any (live_ids)
        and (
          inbox_entries.after_grant_id is null
          or (g.granted_at, g.grant_id) < (inbox_entries.after_granted_at, inbox_entries.after_grant_id)
        );
    return;
  end if;
  return query
    select g.grant_id, g.granted_at, g.live_until > now()
    from artifacts.grants g
    where g.to_agent = inbox_entries.agent_id
      and g.revoked_at is null
      and (
        inbox_entries.after_grant_id is null
        or (g.granted_at, g.grant_id) < (inbox_entries.after_granted_at, inbox_entries.after_grant_id)
      )
    order by g.granted_at desc, g.grant_id desc
    limit entries_per_page;
end
$$;
comment on function artifacts.inbox_entries(text, integer, timestamptz, text) is
  'A bounded number of grants to an agent, in no order; the next page is among them. Where there '
  'may be more behind them, they are max_entries + 1000, and some may have ended.';

create function public.list_inbox(caller jsonb, agent_id text, max_entries integer, after_grant_id text) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  after_granted_at timestamptz;
  answer json;
begin
  perform agents.authenticate_as(list_inbox.caller, list_inbox.agent_id);

  if list_inbox.after_grant_id is not null then
    select g.granted_at into after_granted_at
    from artifacts.grants g
    where g.grant_id = list_inbox.after_grant_id and g.to_agent = list_inbox.agent_id;
    if not found then
      raise sqlstate 'PT422' using
        message = 'invalid_request',
        detail = '{"issues": [{"path": "cursor", "message": "Must be the next_cursor of an earlier answer."}]}';
    end if;
  end if;

  with walked as (
    select e.*
    from artifacts.inbox_entries(
      list_inbox.agent_id, list_inbox.max_entries, after_granted_at, list_inbox.after_grant_id
    ) e
  ), live as (
    select w.grant_id, w.granted_at
    from walked w
    -- One look into each index per grant. The planner, which knows nothing of how many there are,
    -- reads all of artifacts.grants otherwise when that has some twenty thousand rows.
    cross join lateral (
      select g.artifact_id from artifacts.grants g where g.grant_id = w.grant_id limit 1
    ) g
    cross join lateral (
      select a.state, a.expires_at
      from artifacts.artifacts a
      where a.artifact_id = g.artifact_id
      limit 1
    ) a
    where w.is_live and a.state in ('committed', 'superseded') and a.expires_at > now()
    order by w.granted_at desc, w.grant_id desc
    -- One more than asked for tells whether there is a next page.
    limit list_inbox.max_entries + 1
  ), page as (
    select l.* from live l order by l.granted_at desc, l.grant_id desc limit list_inbox.max_entries
  )
  select json_build_object(
    'grants', (
      select coalesce(
        json_agg(
          json_build_object(
            'grant_id', g.grant_id,
            'artifact_id', a.artifact_id,
            'from_agent', g.from_agent,
            'key', a.key,
            'mime', a.mime,
            'size', a.size_bytes,
            'sha256', a.sha256,
            'granted_at', agents.iso_timestamp(g.granted_at),
            'expires_at', agents.iso_timestamp(g.expires_at)
          )
          order by p.granted_at desc, p.grant_id desc
        ),
        '[]'
      )
      from page p
      cross join lateral (
        select * from artifacts.grants g where g.grant_id = p.grant_id limit 1
      ) g
      cross join lateral (
        select * from artifacts.artifacts a where a.artifact_id = g.artifact_id limit 1
      ) a
    ),
    'next_cursor', case
      when (select count(*) from live) > list_inbox.max_entries
        then (select p.grant_id from page p order by p.granted_at, p.grant_id limit 1)
      when (select count(*) from walked) = list_inbox.max_entries + 1000
        then (select w.grant_id from walked w order by w.granted_at, w.grant_id limit 1)
    end
  ) into answer;
  return answer;
end
$$;
comment on function public.list_inbox(jsonb, text, integer, text) is
  'The live grants to an agent, newest first, after the grant that an earlier page ended with; '
  'never a token. A page may be short, or empty, before the last. Raises forbidden.';

-- schemas/artifacts/downloads.sql -----------------------------------------------------------------

-- Reading artifacts: what a download URL is made from, for whoever may have one.

create function artifacts.download_json(
  artifact artifacts.artifacts,
  ends_at timestamptz,
  window_seconds integer
) returns json
language sql
stable
return json_build_object(
  'artifact_id', artifact.artifact_id,
  'key', artifact.key,
  'mime', artifact.mime,
  'size', artifact.size_bytes,
  'sha256', artifact.sha256,
  'sealed_path', artifacts.sealed_path(artifact.artifact_id, artifact.sealed_attempt),
  'window_seconds', greatest(
    1,
    least(
      window_seconds::numeric,
      floor(extract(epoch from least(ends_at, artifact.expires_at) - clock_timestamp()))
    )
  )::integer
);
comment on function artifacts.download_json(artifacts.artifacts, timestamptz, integer) is
  'What a download URL is made from. The window is the shortest of the asked one, the time to '
  'ends_at (null: none) and the time to the artifact''s end, at least 1 second.';

create function public.redeem_grant_token(caller jsonb, token_hash text, window_seconds integer) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  redeemed artifacts.grants;
  artifact artifacts.artifacts;
begin
  select g.* into redeemed from artifacts.grants g where g.token_hash = redeem_grant_token.token_hash;
  if not found then
    raise sqlstate 'PT404' using message = 'grant_not_found';
  end if;
  if redeemed.expires_at <= clock_timestamp() then
    raise sqlstate 'PT410' using message = 'grant_expired';
  end if;
  if redeemed.revoked_at is not null then
    raise sqlstate 'PT410' using message = 'grant_revoked';
  end if;

  select a.* into artifact from artifacts.artifacts a where a.artifact_id = redeemed.artifact_id;
  if not found then
    -- Its tombstone went between the two looks, and the grant with it.
    raise sqlstate 'PT410' using message = 'artifact_expired';
  end if;
  perform artifacts.refuse_ended(artifact);

  perform agents.record_event(
    redeem_grant_token.caller, null, 'artifact.fetched', redeemed.to_agent, redeemed.grant_id,
    jsonb_build_object('artifact_id', artifact.artifact_id)
  );
  return artifacts.download_json(artifact, redeemed.expires_at, redeem_grant_token.window_seconds);
end
$$;
comment on function public.redeem_grant_token(jsonb, text, integer) is
  'What the holder of a grant token may download; caller is {"kind": "grant_token", "request_id"}. '
  'Raises grant_not_found, grant_expired, grant_revoked, artifact_expired.';

create function public.open_artifact(caller jsonb, artifact_id text, window_seconds integer) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(open_artifact.caller);
  artifact artifacts.artifacts;
  opened_at timestamptz := clock_timestamp();
  grant_ends_at timestamptz;
begin
  select a.* into artifact from artifacts.artifacts a where a.artifact_id = open_artifact.artifact_id;
  if not found then
    raise sqlstate 'PT404' using message = 'artifact_not_found';
  end if;

  if caller_agent <> artifact.agent_id then
    select max(g.live_until) into grant_ends_at
    from artifacts.live_grants(artifact.artifact_id, opened_at) g
    where g.to_agent = caller_agent;
    -- A grant ends with its artifact. What a grantee may not read any more is not there for it.
    if grant_ends_at is null or artifact.state = 'deleted' or artifact.expires_at <= clock_timestamp() then
      raise sqlstate 'PT404' using message = 'artifact_not_found';
    end if;
  end if;

  perform artifacts.refuse_ended(artifact);
  if artifact.state = 'pending' then
    raise sqlstate 'PT409' using message = 'artifact_not_committed';
  end if;

  perform agents.record_event(
    open_artifact.caller, caller_agent, 'artifact.opened', artifact.agent_id, artifact.artifact_id
  );
  return artifacts.download_json(artifact, grant_ends_at, open_artifact.window_seconds);
end
$$;
comment on function public.open_artifact(jsonb, text, integer) is
  'What the owner, an agent with a live grant, or the operator may download. Raises '
  'artifact_not_found, artifact_expired, artifact_not_committed.';

-- schemas/artifacts/retention.sql -----------------------------------------------------------------

-- Retention, in steps that can be repeated after a crash at any point and run several at once. Each
-- is a call and a transaction of its own, and touches a bounded number of rows:
--   end_artifacts      marks artifacts whose time is over; from its commit on, every operation
--                      refuses them
--   find_dead_objects  says which bytes the caller is to remove, by the Storage API
--   forget_ended       deletes tombstones that are 30 days old and have nothing under them any more

-- Whether these are over, their times alone decide. Pending artifacts are looked at one by one.
create index unended_artifacts_by_end on artifacts.artifacts (coalesce(deleted_at, expires_at))
  where ended_at is null and state <> 'pending';
create index pending_artifacts_by_age on artifacts.artifacts (created_at, artifact_id)
  where ended_at is null and state = 'pending';
create index ended_artifacts_with_bytes on artifacts.artifacts (ended_at)
  where ended_at is not null and removed_at is null;
create index tombstones_by_age on artifacts.artifacts (ended_at) where removed_at is not null;

create table artifacts.walks (
  walk text collate "C" primary key,
  position jsonb not null
);
comment on table artifacts.walks is
  'Where the sweep goes on, one row per walk over something that is too long for one call: over '
  'the pending artifacts, and over the two halves of the bucket.';

create function artifacts.lock_sweep() returns void
language sql
volatile
set search_path = ''
as $$
  select pg_advisory_xact_lock(hashtextextended('sweep', 0))
$$;
comment on function artifacts.lock_sweep() is
  'Changes to artifacts of several agents take turns: two at once might wait for each other''s '
  'totals.';

create function artifacts.abandoned_among(artifact_ids text[]) returns text[]
language sql
stable
set search_path = ''
as $$
  select coalesce(array_agg(a.artifact_id order by a.created_at), '{}')
  from unnest(abandoned_among.artifact_ids) as named (artifact_id)
  -- One look into the index per name.
  cross join lateral (
    select i.* from artifacts.artifacts i where i.artifact_id = named.artifact_id limit 1
  ) a
  where a.state = 'pending'
    and a.ended_at is null
    -- The upload URL, which lives two hours, has run out for a day, or for an hour where it brought
    -- nothing of use.
    and (
      a.created_at < now() - interval '26 hours'
      or a.created_at < now() - interval '3 hours' and exists (
        select from storage.objects o
        where o.bucket_id = artifacts.bucket()
          and o.name = artifacts.incoming_path(a.artifact_id)
          and (o.metadata ->> 'size')::bigint <> a.size_bytes
      )
    )
    -- Nobody is at work on it.
    and not exists (
      select from artifacts.verifications v
      where v.artifact_id = a.artifact_id
        and (v.progress_at >= now() - interval '1 day' or v.lease_expires_at > now())
    )
    -- A sealed upload may have been committed by a later state of this database, before a backup
    -- was restored.
    and not exists (
      select from storage.objects o
      where o.bucket_id = artifacts.bucket()
        and o.name collate "C" > artifacts.sealed_folder(a.artifact_id)
        and o.name collate "C" < artifacts.end_of_folder(artifacts.sealed_folder(a.artifact_id))
        and o.created_at > now() - interval '14 days'
    )
$$;
comment on function artifacts.abandoned_among(text[]) is
  'Which of these artifacts the sweep may end because nobody will commit them any more, oldest '
  'first.';

create function artifacts.next_pending(max_entries integer) returns text[]
language plpgsql
volatile
set search_path = ''
as $$
declare
  after jsonb;
  next_ids text[];
  last_position jsonb;
begin
  select w.position into after from artifacts.walks w where w.walk = 'pending';

  select array_agg(n.artifact_id), (array_agg(n.position))[next_pending.max_entries]
  into next_ids, last_position
  from (
    select a.artifact_id, jsonb_build_array(a.created_at, a.artifact_id) as position
    from artifacts.artifacts a
    where a.state = 'pending'
      and a.ended_at is null
      and a.created_at < now() - interval '3 hours'
      and (a.created_at, a.artifact_id)
        > (coalesce((after ->> 0)::timestamptz, '-infinity'), coalesce(after ->> 1, ''))
    order by a.created_at, a.artifact_id
    limit next_pending.max_entries
  ) n;

  -- At the end it begins again.
  insert into artifacts.walks as w (walk, position)
  values ('pending', coalesce(last_position, '[]'))
  on conflict on constraint walks_pkey do update set position = excluded.position;
  return coalesce(next_ids, '{}');
end
$$;
comment on function artifacts.next_pending(integer) is
  'The next pending artifacts that are old enough to look at, each in its turn.';

create function public.end_artifacts(caller jsonb, max_entries integer, window_seconds integer) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  -- Download URLs work until their window ends; a minute more, because they are signed after the
  -- decision.
  over_before timestamptz := now() - make_interval(secs => end_artifacts.window_seconds + 60);
  -- How many pending artifacts one call looks at.
  pending_per_call constant integer := 2000;
  expired_ids text[];
  abandoned_ids text[];
  ended artifacts.artifacts;
  expired integer := 0;
  abandoned integer := 0;
  remaining integer;
begin
  perform agents.authenticate_operator(end_artifacts.caller);
  perform artifacts.lock_sweep();

  expired_ids := array(
    select a.artifact_id
    from artifacts.artifacts a
    where a.ended_at is null and a.state <> 'pending' and coalesce(a.deleted_at, a.expires_at) < over_before
    order by coalesce(a.deleted_at, a.expires_at)
    limit end_artifacts.max_entries
    for update skip locked
  );
  abandoned_ids := artifacts.abandoned_among(artifacts.next_pending(pending_per_call));
  remaining := greatest(0, cardinality(abandoned_ids) + cardinality(expired_ids) - end_artifacts.max_entries);
  abandoned_ids := array(
    select a.artifact_id
    from artifacts.artifacts a
    where a.artifact_id = any (abandoned_ids)
    order by a.created_at
    limit end_artifacts.max_entries - cardinality(expired_ids)
    for update skip locked
  );

  -- Asked again under the lock: a commit may have begun before it was taken.
  abandoned_ids := artifacts.abandoned_among(abandoned_ids);

  for ended in
    update artifacts.artifacts a
    set ended_at = clock_timestamp()
    where a.artifact_id = any (expired_ids || abandoned_ids)
    returning a.*
  loop
    -- The holder of a lease that ran out decides nothing any more.
    delete from artifacts.verifications v where v.artifact_id = ended.artifact_id;
    if ended.state = 'pending' then
      abandoned := abandoned + 1;
      perform agents.record_event(
        end_artifacts.caller, null, 'artifact.abandoned', ended.agent_id, ended.artifact_id
      );
    else
      expired := expired + 1;
      -- What was deleted had its event then.
      if ended.state <> 'deleted' then
        perform agents.record_event(
          end_artifacts.caller, null, 'artifact.expired', ended.agent_id, ended.artifact_id
        );
      end if;
    end if;
  end loop;

  select remaining + count(*) into remaining
  from (
    select from artifacts.artifacts a
    where a.ended_at is null and a.state <> 'pending' and coalesce(a.deleted_at, a.expires_at) < over_before
    limit 1000
  ) later;
  return json_build_object('expired', expired, 'abandoned', abandoned, 'remaining', remaining);
end
$$;
comment on function public.end_artifacts(jsonb, integer, integer) is
  'Marks artifacts that are over, with one event for each that was not deleted before. Returns '
  '{expired, abandoned, remaining}; expired counts deleted ones too, and remaining at most some '
  'thousand. window_seconds: the longest life of a download URL, at most a day. Raises forbidden '
  'for an agent.';

create function public.forget_ended(caller jsonb, max_entries integer) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  oldest timestamptz := now() - interval '30 days';
  forgotten_ids text[];
  remaining integer;
begin
  perform agents.authenticate_operator(forget_ended.caller);
  perform artifacts.lock_sweep();

  forgotten_ids := array(
    select a.artifact_id
    from artifacts.artifacts a
    where a.removed_at is not null and a.ended_at < oldest
    order by a.ended_at
    limit forget_ended.max_entries
    for update skip locked
  );
  -- Grants first and in bounded numbers: one artifact may have any number of them.
  delete from artifacts.grants g
  where g.grant_id = any (array(
    select m.grant_id
    from artifacts.grants m
    where m.artifact_id = any (forgotten_ids)
    limit forget_ended.max_entries
  ));
  delete from artifacts.grants g
  where g.grant_id = any (array(
    select m.grant_id
    from artifacts.grants m
    where m.live_until < oldest
    order by m.live_until
    limit forget_ended.max_entries
    for update skip locked
  ));
  delete from artifacts.artifacts a
  where a.artifact_id = any (forgotten_ids)
    and not exists (select from artifacts.grants g where g.artifact_id = a.artifact_id)
    -- A slow move, or a slow PUT, may have brought bytes since.
    and not artifacts.has_objects(a.artifact_id);

  select count(*) into remaining
  from (
    (
      select from artifacts.artifacts a
      where a.removed_at is not null and a.ended_at < oldest and not artifacts.has_objects(a.artifact_id)
      limit 1000
    )
    union all
    (
      select from artifacts.grants g
      where g.live_until < oldest
      order by g.live_until
      limit 1000
    )
  ) later;
  return json_build_object('remaining', remaining);
end
$$;
comment on function public.forget_ended(jsonb, integer) is
  'Deletes tombstones that are 30 days old, of artifacts (with their grants) and of grants. '
  'Returns {remaining}, which counts at most some thousand. Raises forbidden for an agent.';

-- schemas/artifacts/dead_objects.sql --------------------------------------------------------------

-- Which of the bucket's objects are live, as far as the rows tell. Only judge_objects decides it;
-- the sweep and fsck ask. A dead object never becomes live again, so a list of them that is out of
-- date when the removal happens is harmless.

create function artifacts.judge_objects(after text, up_to text, max_entries integer)
returns table (object_name text, standing text, is_pending boolean, stored_at timestamptz)
language sql
stable
set search_path = ''
as $$
  with named as materialized (
    select o.name collate "C" as name, o.created_at
    from storage.objects o
    where o.bucket_id = artifacts.bucket()
      and o.name collate "C" > judge_objects.after
      and o.name collate "C" < judge_objects.up_to
    order by o.name collate "C"
    limit judge_objects.max_entries
  ), placed as (
    select n.name, n.created_at, a.committed_at, a.ended_at, a.rejected_attempts,
      a.state = 'pending' and a.ended_at is null as is_pending,
      held.is_content,
      -- Not asked for nearly all objects. 0: the upload itself. Null: a path that the row has not
      -- come to, as after a restore of the database beside a newer bucket.
      case when held.is_content is not true then (
        select attempt
        from generate_series(0, a.commit_attempts) as attempt
        where n.name = case attempt
          when 0 then artifacts.incoming_path(a.artifact_id)
          else artifacts.sealed_path(a.artifact_id, attempt)
        end
      ) end as attempt
    from named n
    -- One look into the index per object, however many artifacts there are.
    left join lateral (
      select a.* from artifacts.artifacts a where a.artifact_id = split_part(n.name, '/', 2) limit 1
    ) a on true
    cross join lateral (
      select a.ended_at is null
        and n.name = artifacts.sealed_path(a.artifact_id, a.sealed_attempt) as is_content
    ) held
  )
  select p.name,
    case
      when p.is_content then 'live'
      when p.attempt is null then 'unknown'
      when p.committed_at is not null or p.ended_at is not null then 'dead'
      -- A commit may be at work on the rest. Not even a delete makes that dead: only the sweep
      -- does, when it ends the artifact.
      when p.attempt between 1 and p.rejected_attempts then 'dead'
      else 'live'
    end,
    coalesce(p.is_pending, false),
    p.created_at
  from placed p
$$;
comment on function artifacts.judge_objects(text, text, integer) is
  'The first max_entries objects between two names, in byte order. standing: "live"; "dead", its '
  'row says so, and never takes that back; or "unknown", no row accounts for it. is_pending: a '
  'commit to come may still use the path.';

create function artifacts.objects_of_ended(max_artifacts integer) returns text[]
language plpgsql
volatile
set search_path = ''
as $$
declare
  ended_ids text[];
  paths text[];
begin
  ended_ids := array(
    select a.artifact_id
    from artifacts.artifacts a
    where a.ended_at is not null and a.removed_at is null
    order by a.ended_at
    limit objects_of_ended.max_artifacts
    for update skip locked
  );
  with found as (
    select e.artifact_id, o.name
    from unnest(ended_ids) with ordinality as e (artifact_id, position)
    left join lateral (
      select i.name
      from storage.objects i
      where i.bucket_id = artifacts.bucket() and i.name = artifacts.incoming_path(e.artifact_id)
      union all
      select i.name
      from storage.objects i
      where i.bucket_id = artifacts.bucket()
        and i.name collate "C" > artifacts.sealed_folder(e.artifact_id)
        and i.name collate "C" < artifacts.end_of_folder(artifacts.sealed_folder(e.artifact_id))
    ) o on true
  ), cleared as (
    update artifacts.artifacts a
    set removed_at = clock_timestamp()
    from found f
    where a.artifact_id = f.artifact_id and f.name is null
  )
  select coalesce(array_agg(f.name), '{}') into paths from found f where f.name is not null;
  return paths;
end
$$;
comment on function artifacts.objects_of_ended(integer) is
  'The objects of the artifacts that ended first. An artifact that has none left is marked, and '
  'not looked at again.';

create function artifacts.halves_of_bucket()
returns table (half text, after text, up_to text)
language sql
stable
set search_path = ''
as $$
  -- Uploads are few, and many of them are dead. In a half of their own, their turn comes often.
  select h.half, coalesce(w.position ->> 0, h.first_name), h.up_to
  from (
    values
      ('uploads', '', artifacts.end_of_folder('incoming/')),
      ('the rest', 'incoming/~', U&'\+10FFFF')
  ) as h (half, first_name, up_to)
  left join artifacts.walks w on w.walk = h.half
$$;
comment on function artifacts.halves_of_bucket() is
  'The two walks over the names of the bucket: where each goes on, and where it ends.';

create function public.find_dead_objects(
  caller jsonb,
  max_entries integer,
  remove_many_orphans boolean
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  -- What one call looks at: ended artifacts, and names in each half of the bucket.
  ended_per_call constant integer := 1000;
  names_per_call constant integer := 10000;
  paths_of_ended text[];
  answer json;
begin
  perform agents.authenticate_operator(find_dead_objects.caller);
  paths_of_ended := artifacts.objects_of_ended(ended_per_call);

  with judged as materialized (
    select h.half, j.object_name, j.stored_at, j.standing,
      j.standing = 'unknown' and not j.is_pending and j.stored_at < now() - interval '14 days'
        as is_orphan
    from artifacts.halves_of_bucket() h
    cross join lateral artifacts.judge_objects(h.after, h.up_to, names_per_call) j
  ), tally as (
    select count(*) filter (where j.is_orphan) as orphans,
      -- So many orphans at once are rather a sign that the database is not the one of this bucket.
      not find_dead_objects.remove_many_orphans
        and count(*) filter (where j.is_orphan) > 0.05 * count(*) as holds_orphans
    from judged j
  ), removable as (
    select e.path as object_name, false as is_orphan, null as half, '-infinity' as stored_at
    from unnest(paths_of_ended) as e (path)
    union all
    select j.object_name, j.is_orphan, j.half, j.stored_at
    from judged j, tally t
    where j.standing = 'dead' and j.object_name not in (select unnest(paths_of_ended))
      or j.is_orphan and not t.holds_orphans
  ), listed as (
    select r.object_name, r.is_orphan
    from removable r
    -- Oldest first, so that nobody who adds dead objects again and again puts off those of others.
    order by r.is_orphan, r.stored_at, r.object_name
    limit find_dead_objects.max_entries
  ), walked as (
    insert into artifacts.walks as w (walk, position)
    select h.half,
      case
        -- What was not listed is looked at again.
        when exists (
          select from removable r
          where r.half = h.half and r.object_name not in (select l.object_name from listed l)
        ) then to_jsonb(array[h.after])
        -- At the end it begins again.
        else to_jsonb(array_remove(array[s.last_name], null))
      end
    from artifacts.halves_of_bucket() h
    cross join lateral (
      select case when count(*) = names_per_call then max(j.object_name) end as last_name
      from judged j where j.half = h.half
    ) s
    on conflict on constraint walks_pkey do update set position = excluded.position
  )
  select json_build_object(
    'dead_paths', (select coalesce(json_agg(l.object_name), '[]') from listed l where not l.is_orphan),
    'orphan_paths', (select coalesce(json_agg(l.object_name), '[]') from listed l where l.is_orphan),
    'orphans_held', case when t.holds_orphans then t.orphans else 0 end,
    'remaining', (select count(*) from removable) - (select count(*) from listed) + (
      select count(*)
      from (
        select from artifacts.artifacts a
        where a.ended_at is not null and a.removed_at is null
        order by a.ended_at
        offset ended_per_call
        limit 1000
      ) later
    )
  ) into answer
  from tally t;
  return answer;
end
$$;
comment on function public.find_dead_objects(jsonb, integer, boolean) is
  'Objects to remove once this is committed: {dead_paths, orphan_paths, orphans_held, remaining}. '
  'It looks at a bounded part of the bucket and goes on from there in the next call; remaining is '
  'about that part. An orphan is unknown for 14 days; when more than 5% of the part are, none is '
  'listed and orphans_held says how many, unless remove_many_orphans. Raises forbidden for an '
  'agent.';

-- schemas/artifacts/sweep_schedule.sql ------------------------------------------------------------

-- Runs the sweep from inside the database, where a project has pg_cron, pg_net and two secrets in
-- its Vault. Extensions are named in dynamic SQL alone, so that this applies where there are none.

create function public.schedule_sweep(
  schedule text default '*/10 * * * *',
  url_secret text default 'project_url',
  key_secret text default 'secret_key'
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  missing text[] := array[]::text[];
  secret text;
  is_stored boolean;
  -- Read at every run, so that a rotated key needs no new schedule, and so that no key stands in
  -- cron's own table.
  read_secret constant text := '(select decrypted_secret from vault.decrypted_secrets where name = %L)';
begin
  if not exists (
    select from pg_catalog.pg_proc p where p.pronamespace = to_regnamespace('cron') and p.proname = 'schedule'
  ) then
    missing := missing || 'the extension pg_cron'::text;
  end if;
  if not exists (
    select from pg_catalog.pg_proc p where p.pronamespace = to_regnamespace('net') and p.proname = 'http_post'
  ) then
    missing := missing || 'the extension pg_net'::text;
  end if;
  if to_regclass('vault.decrypted_secrets') is null then
    missing := missing || 'the extension supabase_vault'::text;
  else
    foreach secret in array array[schedule_sweep.url_secret, schedule_sweep.key_secret] loop
      -- The schema may be missing. Where `format` names it, nobody looks for it before this runs.
      execute format('select exists (select from %I.decrypted_secrets where name = $1)', 'vault')
      into is_stored using secret;
      if not is_stored then
        missing := missing || format('the Vault secret %L', secret);
      end if;
    end loop;
  end if;
  if missing <> '{}' then
    raise object_not_in_prerequisite_state using
      message = 'The sweep cannot be scheduled in this database without: ' || array_to_string(missing, ', ') || '.',
      hint = 'See docs/retention.md.';
  end if;

  -- A job of this name is replaced.
  execute format('select %I.schedule($1, $2, $3)', 'cron') using
    'agent-artifacts-sweep',
    schedule_sweep.schedule,
    format(
      'select net.http_post('
      || 'url := ' || read_secret || ' || ''/functions/v1/agent-artifacts/sweep'', '
      || 'headers := jsonb_build_object(''content-type'', ''application/json'', ''apikey'', ' || read_secret || '), '
      || 'body := ''{"limit": 1000}''::jsonb, '
      || 'timeout_milliseconds := 60000)',
      schedule_sweep.url_secret,
      schedule_sweep.key_secret
    );
  return json_build_object('job', 'agent-artifacts-sweep', 'schedule', schedule_sweep.schedule);
end
$$;
comment on function public.schedule_sweep(text, text, text) is
  'Has pg_cron call /sweep on a schedule, by pg_net, with the URL and the secret key that Vault '
  'holds under these names. Repeated, it replaces the schedule. Raises '
  'object_not_in_prerequisite_state, which says what is missing.';

do $$
begin
  perform public.schedule_sweep();
exception when object_not_in_prerequisite_state then
  raise notice '%', sqlerrm;
end
$$;

-- schemas/artifacts/consistency.sql ---------------------------------------------------------------

-- What `deno task fsck` shows: where the rows and the bucket contradict each other, which only a
-- restore of one without the other, or a hand in the bucket, can bring about. What the sweep has
-- yet to remove is no contradiction.

create function public.list_artifacts_without_bytes(max_entries integer, after text default '') returns json
language sql
stable
security invoker
set search_path = ''
as $$
  with examined as (
    select a.artifact_id, artifacts.sealed_path(a.artifact_id, a.sealed_attempt) as path,
      a.state in ('committed', 'superseded') and a.ended_at is null
      and not artifacts.has_object(artifacts.sealed_path(a.artifact_id, a.sealed_attempt))
        as is_without_bytes
    from artifacts.artifacts a
    where a.artifact_id > list_artifacts_without_bytes.after
    order by a.artifact_id
    limit list_artifacts_without_bytes.max_entries
  )
  select json_build_object(
    'found', coalesce(
      json_agg(json_build_object('artifact_id', e.artifact_id, 'path', e.path) order by e.artifact_id)
        filter (where e.is_without_bytes),
      '[]'
    ),
    'next', case when count(*) = list_artifacts_without_bytes.max_entries then max(e.artifact_id) end
  )
  from examined e
$$;
comment on function public.list_artifacts_without_bytes(integer, text) is
  'Committed artifacts whose object is gone, among the max_entries artifacts after the given id: '
  '{found: [{artifact_id, path}], next: where the next page begins | null}.';

create function public.list_objects_without_artifact(max_entries integer, after text default '') returns json
language sql
stable
security invoker
set search_path = ''
as $$
  with judged as (
    select j.object_name, j.standing
    from artifacts.judge_objects(
      list_objects_without_artifact.after, U&'\+10FFFF', list_objects_without_artifact.max_entries
    ) j
  )
  select json_build_object(
    'found', coalesce(
      json_agg(json_build_object('path', j.object_name) order by j.object_name)
        filter (where j.standing = 'unknown'),
      '[]'
    ),
    'next', case when count(*) = list_objects_without_artifact.max_entries then max(j.object_name) end
  )
  from judged j
$$;
comment on function public.list_objects_without_artifact(integer, text) is
  'The objects that no row accounts for, whatever their age, among the max_entries objects after '
  'the given path: {found: [{path}], next: where the next page begins | null}.';

create function public.list_wrong_totals(max_entries integer, after text default '') returns json
language sql
stable
security invoker
set search_path = ''
as $$
  with examined as (
    select t.agent_id, to_jsonb(t) as kept, to_jsonb(c) as counted
    from artifacts.totals t
    cross join lateral artifacts.count_totals(t.agent_id) c
    where t.agent_id > list_wrong_totals.after
    order by t.agent_id
    limit list_wrong_totals.max_entries
  )
  select json_build_object(
    'found', coalesce(
      json_agg(
        json_build_object('agent_id', e.agent_id, 'kept', e.kept, 'counted', e.counted)
        order by e.agent_id
      ) filter (where e.kept <> e.counted),
      '[]'
    ),
    'next', case when count(*) = list_wrong_totals.max_entries then max(e.agent_id) end
  )
  from examined e
$$;
comment on function public.list_wrong_totals(integer, text) is
  'Agents whose totals are not what their rows come to, among the max_entries agents after the '
  'given one: {found: [{agent_id, kept, counted}], next: where the next page begins | null}.';

-- schemas/mesh/networks.sql -----------------------------------------------------------------------

-- The mesh, private tunnels between agents, and the networks that their tunnel addresses come from.

create schema mesh;
comment on schema mesh is 'Peers, access rules and encrypted PSKs. Not exposed by the API.';

create table mesh.settings (
  only_row boolean primary key default true,
  ipv4_network cidr not null default '10.213.0.0/16',
  ipv6_network cidr not null,

  constraint there_is_only_one_row check (only_row),
  constraint ipv4_network_has_room_for_peers check (
    family(ipv4_network) = 4 and masklen(ipv4_network) between 8 and 29
  ),
  constraint ipv6_network_is_a_unique_local_64 check (
    ipv6_network <<= 'fd00::/8'::inet and masklen(ipv6_network) = 64
  )
);
comment on table mesh.settings is
  'One row: the networks of the mesh. The operator can change them by SQL while there is no peer.';

-- RFC 4193, 3.2: the 40 bits after fd are random, so that two meshes do not meet in one network. A
-- version 4 UUID begins with 48 random bits of the server's strong generator; no extension is
-- needed.
insert into mesh.settings (ipv6_network)
select format('fd%s:%s:%s::/64', substr(r.digits, 1, 2), substr(r.digits, 3, 4), substr(r.digits, 7, 4))::cidr
from (select replace(gen_random_uuid()::text, '-', '') as digits) r;

create table mesh.address_leases (
  agent_id agents.agent_id primary key,
  ipv4 inet not null,
  ipv6 inet not null,
  released_at timestamptz,

  constraint ipv4_is_one_address check (family(ipv4) = 4 and masklen(ipv4) = 32),
  constraint ipv6_is_one_address check (family(ipv6) = 6 and masklen(ipv6) = 128),
  constraint ipv4_is_unique unique (ipv4),
  constraint ipv6_is_unique unique (ipv6)
);
comment on table mesh.address_leases is
  'Which tunnel addresses belong to which agent. A lease outlives its peer by at least a day. So '
  'an agent that comes back gets the same addresses, and one that registers and removes itself '
  'again and again cannot use up the network.';
comment on column mesh.address_leases.released_at is
  'When the peer was removed; null while it is registered.';

create index resting_address_leases on mesh.address_leases (released_at) where released_at is not null;

create function mesh.lock_addresses() returns void
language sql
volatile
set search_path = ''
as $$
  select pg_advisory_xact_lock(hashtextextended('mesh addresses', 0))
$$;
comment on function mesh.lock_addresses() is
  'Addresses are handed out, and networks changed, by one transaction at a time.';

create function mesh.keep_networks_that_are_in_use() returns trigger
language plpgsql
set search_path = ''
as $$
begin
  perform mesh.lock_addresses();
  if exists (select from mesh.address_leases l where l.released_at is null) then
    raise exception 'The networks of the mesh can only be changed while there is no peer.' using errcode = '55000';
  end if;
  -- The addresses that rest belong to the network that is given up. Endpoints are gone with their
  -- peers.
  delete from mesh.address_leases;
  return null;
end
$$;
comment on function mesh.keep_networks_that_are_in_use() is
  'Refuses to change mesh.settings while there is a peer.';

create trigger networks_change_only_without_peers
  before insert or update or delete or truncate on mesh.settings
  for each statement execute function mesh.keep_networks_that_are_in_use();

create function mesh.lease_addresses(agent_id text) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  ipv4_network inet;
  ipv6_network inet;
  next_ipv4 inet;
begin
  update mesh.address_leases l set released_at = null where l.agent_id = lease_addresses.agent_id;
  if found then
    return;
  end if;

  select s.ipv4_network, s.ipv6_network into ipv4_network, ipv6_network from mesh.settings s;
  -- The network's own address is the first; max() reads one entry of the index.
  select set_masklen(coalesce(max(l.ipv4), ipv4_network), 32) + 1 into next_ipv4 from mesh.address_leases l;

  if next_ipv4 < set_masklen(broadcast(ipv4_network), 32) then
    insert into mesh.address_leases (agent_id, ipv4, ipv6)
    values (
      lease_addresses.agent_id,
      next_ipv4,
      set_masklen(ipv6_network, 128) + (next_ipv4 - set_masklen(ipv4_network, 32))
    );
    return;
  end if;

  update mesh.address_leases l
  set agent_id = lease_addresses.agent_id, released_at = null
  where l.agent_id = (
    select rested.agent_id
    from mesh.address_leases rested
    where rested.released_at < clock_timestamp() - interval '1 day'
    order by rested.released_at
    limit 1
  );
  if not found then
    raise sqlstate 'PT409' using message = 'network_full';
  end if;
end
$$;
comment on function mesh.lease_addresses(text) is
  'Gives an agent its addresses: those that it had, else new ones, else those that have rested '
  'longest. The caller holds lock_addresses. Raises network_full.';

-- schemas/mesh/peers.sql --------------------------------------------------------------------------

-- Peers, and when each was last seen.

create table mesh.peers (
  agent_id agents.agent_id primary key,
  pubkey text collate "C" not null,
  endpoint text collate "C",
  listen_port integer,
  effective_listen_port integer generated always as (
    coalesce(listen_port, substring(endpoint from '[0-9]+$')::integer)
  ) stored,
  registered_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),

  constraint a_peer_has_addresses foreign key (agent_id) references mesh.address_leases (agent_id),
  constraint pubkey_is_canonical_base64_of_32_bytes check (
    length(pubkey) = 44 and pubkey ~ '^[A-Za-z0-9+/]*[AEIMQUYcgkosw048]=$'
  ),
  constraint pubkey_is_unique unique (pubkey),
  constraint endpoint_is_a_host_and_a_port check (
    endpoint ~ '^(\[[0-9a-f:]+\]|[0-9a-z.-]{1,253}):[1-9][0-9]{0,4}$'
  ),
  constraint listen_port_is_a_port check (listen_port between 1 and 65535)
);
comment on table mesh.peers is 'An agent''s registration in the mesh.';
comment on column mesh.peers.endpoint is
  'host:port, in the form that the function''s parser gives it; null: not reachable from outside.';
comment on column mesh.peers.effective_listen_port is
  'What the agent''s own configuration listens on; null: any port.';

create table mesh.liveness (
  agent_id agents.agent_id primary key,
  last_seen timestamptz,
  config_version_applied bigint,

  constraint liveness_is_of_a_peer foreign key (agent_id) references mesh.peers (agent_id) on delete cascade
)
-- Room for the new version of each row beside the old one: with no index on what changes, a
-- heartbeat writes the row and nothing else (a heap-only tuple).
with (fillfactor = 50);

comment on table mesh.liveness is
  'What heartbeats write. Apart from peers, so that a heartbeat is as small as can be.';
comment on column mesh.liveness.config_version_applied is
  'The config_version that the agent last said it runs.';

create function mesh.map_entry_json(
  peer mesh.peers,
  lease mesh.address_leases,
  liveness mesh.liveness,
  online_seconds integer,
  subject text,
  psk_version integer
) returns json
language sql
stable
return json_build_object(
  'agent_id', peer.agent_id,
  'pubkey', peer.pubkey,
  'endpoint', peer.endpoint,
  'addresses', json_build_array(host(lease.ipv4), host(lease.ipv6)),
  'last_seen', agents.iso_timestamp(liveness.last_seen),
  'online', coalesce(liveness.last_seen > now() - make_interval(secs => online_seconds), false),
  'registered_at', agents.iso_timestamp(peer.registered_at),
  'updated_at', agents.iso_timestamp(peer.updated_at),
  'self', peer.agent_id = subject,
  'psk_version', psk_version,
  'config_version_applied', case
    when peer.agent_id <> subject then liveness.config_version_applied
  end
);
comment on function mesh.map_entry_json( mesh.peers, mesh.address_leases, mesh.liveness, integer, text, integer ) is
  'The peer object of the wire contract, with what subject sees of the peer beside it.';

create function mesh.both_registered(one_agent text, other_agent text) returns boolean
language sql
stable
set search_path = ''
as $$
  select count(*) = 2
  from mesh.peers p
  where p.agent_id in (both_registered.one_agent, both_registered.other_agent)
$$;
comment on function mesh.both_registered(text, text) is
  'Whether two different agents both have a peer.';

create function public.record_heartbeat(caller jsonb, agent_id text, config_version bigint) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  answer json;
begin
  perform agents.authenticate_as(record_heartbeat.caller, record_heartbeat.agent_id);

  with seen as (
    update mesh.liveness l
    set last_seen = clock_timestamp(),
        config_version_applied = coalesce(record_heartbeat.config_version, l.config_version_applied)
    where l.agent_id = record_heartbeat.agent_id
    returning l.*
  )
  select json_build_object(
    'agent_id', s.agent_id,
    'last_seen', agents.iso_timestamp(s.last_seen),
    'config_version', v.version
  ) into answer
  from seen s
  join mesh.config_versions v on v.agent_id = s.agent_id;

  if not found then
    raise sqlstate 'PT404' using message = 'peer_not_found';
  end if;
  return answer;
end
$$;
comment on function public.record_heartbeat(jsonb, text, bigint) is
  'Notes that an agent is alive and, if it says so, which configuration it runs. Answers with the '
  'version that it should run. Raises forbidden, peer_not_found.';

create function public.remove_peer(caller jsonb, agent_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate_as(remove_peer.caller, remove_peer.agent_id);
  visible_peers text[];
  has_peer boolean;
  has_rules boolean;
begin
  perform mesh.lock_agents(array[remove_peer.agent_id]);
  visible_peers := mesh.lock_versions_around(remove_peer.agent_id);
  has_peer := exists (select from mesh.peers p where p.agent_id = remove_peer.agent_id);

  delete from mesh.rules r where r.from_agent = remove_peer.agent_id or r.to_agent = remove_peer.agent_id;
  has_rules := found;
  if has_peer then
    perform mesh.lock_pairs(remove_peer.agent_id);
    delete from mesh.pairs p where p.low_agent = remove_peer.agent_id or p.high_agent = remove_peer.agent_id;
    delete from mesh.peers p where p.agent_id = remove_peer.agent_id;
    update mesh.address_leases l set released_at = clock_timestamp() where l.agent_id = remove_peer.agent_id;
    perform mesh.raise_config_versions(visible_peers);
  end if;

  if has_peer or has_rules then
    perform agents.record_event(remove_peer.caller, caller_agent, 'peer.removed', remove_peer.agent_id);
  end if;
  return json_build_object('agent_id', remove_peer.agent_id, 'removed', has_peer);
end
$$;
comment on function public.remove_peer(jsonb, text) is
  'Removes an agent''s peer, every rule that names the agent, with or without a peer, and its '
  'PSKs; its addresses rest. Idempotent. Raises forbidden.';

-- schemas/mesh/rules.sql --------------------------------------------------------------------------

-- Access rules: who may reach whom. The wire calls them acls.

create table mesh.rules (
  from_agent agents.agent_id not null,
  to_agent agents.agent_id not null,
  proto text collate "C" not null,
  port integer not null,
  from_agreed_at timestamptz,
  to_agreed_at timestamptz,
  active boolean not null generated always as (from_agreed_at is not null and to_agreed_at is not null) stored,

  constraint a_rule_is_put_once primary key (from_agent, to_agent, proto, port),
  constraint the_agents_of_a_rule_differ check (from_agent <> to_agent),
  constraint proto_is_tcp_or_udp check (proto in ('tcp', 'udp')),
  constraint port_is_a_port check (port between 1 and 65535),
  constraint somebody_agreed_to_a_rule check (from_agreed_at is not null or to_agreed_at is not null)
);
comment on table mesh.rules is
  'Access rules. A rule is active when both of its agents have agreed; before that it is a '
  'request, which gives nobody anything. May name agents that are not registered.';

create index rules_by_to_agent on mesh.rules (to_agent, from_agent, proto, port);

-- Of active rules alone: anybody can pile up requests, which must not slow down a configuration.
create index active_rules_by_from_agent on mesh.rules (from_agent, to_agent) where active;

create index active_rules_by_to_agent on mesh.rules (to_agent, from_agent, proto, port) where active;

create function mesh.neighbours(agent_id text) returns text[]
language sql
stable
set search_path = ''
as $$
  select coalesce(array_agg(n.agent_id), '{}')
  from (
    select r.to_agent from mesh.rules r where r.active and r.from_agent = neighbours.agent_id
    union
    select r.from_agent from mesh.rules r where r.active and r.to_agent = neighbours.agent_id
  ) as n (agent_id)
$$;
comment on function mesh.neighbours(text) is
  'Everybody who shares an active rule with an agent, registered or not.';

create function mesh.visible_peers(agent_id text) returns text[]
language sql
stable
set search_path = ''
as $$
  select coalesce(array_agg(p.agent_id), '{}')
  -- In the from clause, neighbours is called once. As a condition it would be called per peer.
  from unnest(mesh.neighbours(visible_peers.agent_id)) as n (agent_id)
  join mesh.peers p on p.agent_id = n.agent_id
$$;
comment on function mesh.visible_peers(text) is
  'The other peers that an agent sees: registered, and sharing an active rule with it.';

create function mesh.see_each_other(one_agent text, other_agent text) returns boolean
language sql
stable
begin atomic
  select exists (
      select from mesh.rules r
      where r.active and r.from_agent = one_agent and r.to_agent = other_agent
    )
    or exists (
      select from mesh.rules r
      where r.active and r.from_agent = other_agent and r.to_agent = one_agent
    );
end;
comment on function mesh.see_each_other(text, text) is
  'Whether two agents share an active rule, in either direction: if both are registered, they see '
  'each other.';

create function mesh.waiting_for(rule mesh.rules) returns text
language sql
immutable
return case
  when rule.from_agreed_at is null then rule.from_agent
  when rule.to_agreed_at is null then rule.to_agent
end;
comment on function mesh.waiting_for(mesh.rules) is
  'The agent that has not agreed to a rule yet; null: the rule is active.';

create function mesh.record_rule_event(caller jsonb, caller_agent text, action text, rule mesh.rules) returns void
language sql
volatile
set search_path = ''
as $$
  select agents.record_event(
    record_rule_event.caller, record_rule_event.caller_agent, record_rule_event.action,
    (record_rule_event.rule).from_agent, null,
    jsonb_build_object(
      'to_agent', (record_rule_event.rule).to_agent,
      'proto', (record_rule_event.rule).proto,
      'port', (record_rule_event.rule).port
    )
  )
$$;
comment on function mesh.record_rule_event(jsonb, text, text, mesh.rules) is
  'Appends an event about a rule to agents.events; its subject is the agent that the rule lets in.';

create function mesh.refuse_beyond_limits(
  rule mesh.rules,
  caller_agent text,
  max_rules integer,
  max_requests integer
) returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  if (refuse_beyond_limits.rule).active then
    if exists (
      select
      from unnest(array[
        (refuse_beyond_limits.rule).from_agent, (refuse_beyond_limits.rule).to_agent
      ]) as named (agent_id)
      where (
          select count(*) from mesh.rules r where r.active and r.from_agent = named.agent_id
        ) + (
          select count(*) from mesh.rules r where r.active and r.to_agent = named.agent_id
        ) > refuse_beyond_limits.max_rules
    ) then
      raise sqlstate 'PT409' using
        message = 'limit_exceeded',
        detail = json_build_object('limit', 'rules', 'maximum', refuse_beyond_limits.max_rules);
    end if;
    return;
  end if;

  -- Only what the caller itself has asked for counts. So nobody can use up another agent's limit.
  if (
    select count(*)
    from mesh.rules r
    where not r.active
      and (
        (r.from_agent = refuse_beyond_limits.caller_agent and r.from_agreed_at is not null)
        or (r.to_agent = refuse_beyond_limits.caller_agent and r.to_agreed_at is not null)
      )
  ) > refuse_beyond_limits.max_requests then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object('limit', 'requests', 'maximum', refuse_beyond_limits.max_requests);
  end if;
end
$$;
comment on function mesh.refuse_beyond_limits(mesh.rules, text, integer, integer) is
  'Raises limit_exceeded where the rule that was just put is one too many. An active rule counts '
  'for both of its agents, a request for the one that made it.';

create function public.put_rule(
  caller jsonb,
  from_agent text,
  to_agent text,
  port integer,
  proto text,
  max_rules integer default 10000,
  max_requests integer default 1000
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate_as_one_of(put_rule.caller, put_rule.from_agent, put_rule.to_agent);
  saw_each_other boolean;
  created boolean;
  was_active boolean;
  rule mesh.rules;
begin
  perform mesh.lock_agents(array[put_rule.from_agent, put_rule.to_agent]);
  perform mesh.start_config_versions(array[put_rule.from_agent, put_rule.to_agent]);
  perform mesh.lock_config_versions(array[put_rule.from_agent, put_rule.to_agent]);
  saw_each_other := mesh.see_each_other(put_rule.from_agent, put_rule.to_agent);
  select r.active into was_active
  from mesh.rules r
  where r.from_agent = put_rule.from_agent
    and r.to_agent = put_rule.to_agent
    and r.proto = put_rule.proto
    and r.port = put_rule.port;
  created := not found;

  insert into mesh.rules as r (from_agent, to_agent, proto, port, from_agreed_at, to_agreed_at)
  values (
    put_rule.from_agent,
    put_rule.to_agent,
    put_rule.proto,
    put_rule.port,
    -- The operator, whose caller_agent is null, agrees for both.
    case when caller_agent is distinct from put_rule.to_agent then clock_timestamp() end,
    case when caller_agent is distinct from put_rule.from_agent then clock_timestamp() end
  )
  on conflict on constraint a_rule_is_put_once do update
  set from_agreed_at = coalesce(r.from_agreed_at, excluded.from_agreed_at),
      to_agreed_at = coalesce(r.to_agreed_at, excluded.to_agreed_at)
  returning r.* into rule;

  if created or rule.active is distinct from was_active then
    perform mesh.refuse_beyond_limits(rule, caller_agent, put_rule.max_rules, put_rule.max_requests);
  end if;

  if rule.active and was_active is not true then
    if mesh.both_registered(rule.from_agent, rule.to_agent) then
      if not saw_each_other then
        insert into mesh.pairs (low_agent, high_agent)
        values (least(rule.from_agent, rule.to_agent), greatest(rule.from_agent, rule.to_agent))
        on conflict do nothing;
        perform mesh.raise_config_versions(array[rule.from_agent]);
      end if;
      -- The text of from_agent does not say what it may reach. So only the first rule between the
      -- two changes it.
      perform mesh.raise_config_versions(array[rule.to_agent]);
    end if;
    perform mesh.record_rule_event(put_rule.caller, caller_agent, 'rule.activated', rule);
  elsif created then
    perform mesh.record_rule_event(put_rule.caller, caller_agent, 'rule.requested', rule);
  end if;

  return json_build_object(
    'from_agent', rule.from_agent,
    'to_agent', rule.to_agent,
    'port', rule.port,
    'proto', rule.proto,
    'created', created,
    'active', rule.active,
    'waiting_for', mesh.waiting_for(rule)
  );
end
$$;
comment on function public.put_rule(jsonb, text, text, integer, text, integer, integer) is
  'Agrees to a rule, for the calling agent or, as the operator, for both. It is active once both '
  'have agreed. Raises forbidden, limit_exceeded.';

create function public.revoke_rule(caller jsonb, from_agent text, to_agent text, port integer, proto text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate_as_one_of(revoke_rule.caller, revoke_rule.from_agent, revoke_rule.to_agent);
  revoked boolean;
  rule mesh.rules;
begin
  perform mesh.lock_agents(array[revoke_rule.from_agent, revoke_rule.to_agent]);
  perform mesh.lock_config_versions(array[revoke_rule.from_agent, revoke_rule.to_agent]);

  delete from mesh.rules r
  where r.from_agent = revoke_rule.from_agent
    and r.to_agent = revoke_rule.to_agent
    and r.proto = revoke_rule.proto
    and r.port = revoke_rule.port
  returning r.* into rule;
  revoked := found;

  if revoked then
    if rule.active and mesh.both_registered(rule.from_agent, rule.to_agent) then
      perform mesh.raise_config_versions(array[rule.to_agent]);
      if not mesh.see_each_other(rule.from_agent, rule.to_agent) then
        perform mesh.raise_config_versions(array[rule.from_agent]);
      end if;
    end if;
    perform mesh.record_rule_event(revoke_rule.caller, caller_agent, 'rule.revoked', rule);
  end if;

  return json_build_object(
    'from_agent', revoke_rule.from_agent,
    'to_agent', revoke_rule.to_agent,
    'port', revoke_rule.port,
    'proto', revoke_rule.proto,
    'revoked', revoked
  );
end
$$;
comment on function public.revoke_rule(jsonb, text, text, integer, text) is
  'Ends a rule, or a request for one, for both of its agents. Idempotent. Raises forbidden.';

-- schemas/mesh/pairs.sql --------------------------------------------------------------------------

-- Pairs of peers, and the PSK of each.

create table mesh.pairs (
  low_agent agents.agent_id not null,
  high_agent agents.agent_id not null,
  psk_version integer not null default 1,
  encrypted_psk text collate "C",
  encryption_key_id text collate "C" generated always as (split_part(encrypted_psk, '.', 2)) stored,
  made_at timestamptz,
  rotated_at timestamptz,

  constraint a_pair_has_one_psk primary key (low_agent, high_agent),
  constraint a_pair_is_in_canonical_order check (low_agent < high_agent),
  constraint low_agent_is_registered foreign key (low_agent) references mesh.peers (agent_id),
  constraint high_agent_is_registered foreign key (high_agent) references mesh.peers (agent_id),
  constraint psk_is_encrypted check (encrypted_psk ~ '^v1\.[0-9a-f]{16}\.[A-Za-z0-9+/=]+$'),
  constraint made_at_is_set_when_made check (encrypted_psk is null or made_at is not null)
);
comment on table mesh.pairs is
  'One row per two peers that have seen each other since both registered. The row stays when they '
  'lose sight of each other, and is deleted with either peer.';
comment on column mesh.pairs.psk_version is
  'Which PSK of the pair this is: 1 for the first. To replace a PSK that was made, the version '
  'rises and encrypted_psk becomes null. While it is null, nobody was given a PSK of this version, '
  'and the version stays.';
comment on column mesh.pairs.encrypted_psk is
  'v1.<id of the encryption key>.<base64>, encrypted by the function: the database never sees a '
  'PSK. Null until the next configuration of either side makes it.';
comment on column mesh.pairs.made_at is 'When the newest PSK was made; null before the first.';
comment on column mesh.pairs.rotated_at is 'When psk_version last rose.';

create index pairs_by_high_agent on mesh.pairs (high_agent);
create index pairs_by_encryption_key on mesh.pairs (encryption_key_id) where encrypted_psk is not null;

create function mesh.lock_pairs(agent_id text, other_agents text[] default null) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform from mesh.pairs p
  where (p.low_agent = lock_pairs.agent_id or p.high_agent = lock_pairs.agent_id)
    and (
      lock_pairs.other_agents is null
      or p.low_agent = any (lock_pairs.other_agents)
      or p.high_agent = any (lock_pairs.other_agents)
    )
  order by p.low_agent, p.high_agent
  for update;
end
$$;
comment on function mesh.lock_pairs(text, text[]) is
  'Step 4 of the lock order: the pairs that an agent makes with the others given, or with anybody.';

create function mesh.pair_of(one_agent text, other_agent text) returns setof mesh.pairs
language sql
stable
begin atomic
  select p.*
  from mesh.pairs p
  where p.low_agent = least(pair_of.one_agent collate "C", pair_of.other_agent collate "C")
    and p.high_agent = greatest(pair_of.one_agent collate "C", pair_of.other_agent collate "C")
  limit 1;
end;
comment on function mesh.pair_of(text, text) is
  'The pair that two agents make, if they have one: one look into its index.';

create function public.store_psks(caller jsonb, agent_id text, psks jsonb) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  subject text := agents.subject_of(store_psks.caller, store_psks.agent_id);
begin
  perform mesh.lock_pairs(
    subject,
    array(select m.agent_id from jsonb_to_recordset(store_psks.psks) as m (agent_id text))
  );

  with missing as materialized (
    select p.ctid as row_id, m.encrypted_psk
    from jsonb_to_recordset(store_psks.psks)
      as m (agent_id text, psk_version integer, encrypted_psk text)
    -- One look into the index per PSK. The planner, which knows nothing of the list, might pair all
    -- with all otherwise.
    cross join lateral (
      select p.ctid
      from mesh.pairs p
      where p.low_agent = least(m.agent_id collate "C", subject collate "C")
        and p.high_agent = greatest(m.agent_id collate "C", subject collate "C")
        and p.psk_version = m.psk_version
        and p.encrypted_psk is null
      limit 1
    ) p
  )
  update mesh.pairs p
  set encrypted_psk = m.encrypted_psk, made_at = clock_timestamp()
  from missing m
  -- Locked above, so that no row has moved since.
  where p.ctid = m.row_id;

  return public.read_wg_config(store_psks.caller, store_psks.agent_id);
end
$$;
comment on function public.store_psks(jsonb, text, jsonb) is
  'Stores PSKs that pairs of an agent lack: psks is [{agent_id, psk_version, encrypted_psk}], '
  'several versions of one pair if need be; each is stored only if the pair is at that version and '
  'has none of it yet. One that is not stored was given to nobody, so it does not matter whether a '
  'peer changed meanwhile. Returns what read_wg_config returns, afterwards. Raises as that does.';

create function mesh.missing_for_psk(one_agent text, other_agent text) returns text
language sql
stable
set search_path = ''
as $$
  select case
    when count(*) = 0 then 'The two share no active rule. Each side agrees to one with /acl/put.'
    else 'Not registered: ' || string_agg(m.agent_id, ', ' order by m.agent_id)
      || '. An agent joins with /peer/register.'
  end
  from unnest(array[missing_for_psk.one_agent, missing_for_psk.other_agent]) as m (agent_id)
  where not exists (select from mesh.peers p where p.agent_id = m.agent_id)
$$;
comment on function mesh.missing_for_psk(text, text) is
  'Why two agents have no PSK to rotate, as a sentence for the operator.';

create function public.rotate_psk(caller jsonb, a text, b text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate_as_one_of(rotate_psk.caller, rotate_psk.a, rotate_psk.b);
  pair mesh.pairs;
  asked_at timestamptz;
begin
  perform mesh.lock_agents(array[rotate_psk.a, rotate_psk.b]);
  perform mesh.lock_config_versions(array[rotate_psk.a, rotate_psk.b]);

  -- A pair has a row only while both are registered.
  select p.* into pair
  from mesh.pairs p
  where p.low_agent = least(rotate_psk.a collate "C", rotate_psk.b collate "C")
    and p.high_agent = greatest(rotate_psk.a collate "C", rotate_psk.b collate "C")
    and mesh.see_each_other(rotate_psk.a, rotate_psk.b)
  for update;
  if not found then
    if caller_agent is null then
      raise sqlstate 'PT404' using
        message = 'peer_not_found',
        hint = mesh.missing_for_psk(rotate_psk.a, rotate_psk.b);
    end if;
    -- An agent gets no reason: it is not to learn whether the other one is registered.
    raise sqlstate 'PT404' using message = 'peer_not_found';
  end if;

  asked_at := clock_timestamp();
  -- While the newest PSK is still to be made, nobody was given it, and nobody gets the one before
  -- it. So there is nothing to replace. If the version rose all the same, an agent that rotates
  -- again and again could keep the other from ever getting a PSK.
  if pair.encrypted_psk is not null then
    update mesh.pairs p
    set psk_version = p.psk_version + 1, encrypted_psk = null, rotated_at = asked_at
    where p.low_agent = pair.low_agent and p.high_agent = pair.high_agent
    returning p.* into pair;
    perform mesh.raise_config_versions(array[pair.low_agent, pair.high_agent]);
    perform agents.record_event(
      rotate_psk.caller, caller_agent, 'psk.rotated', pair.low_agent, null,
      jsonb_build_object('high_agent', pair.high_agent, 'psk_version', pair.psk_version)
    );
  end if;
  return json_build_object(
    'a', rotate_psk.a,
    'b', rotate_psk.b,
    'psk_version', pair.psk_version,
    'rotated_at', agents.iso_timestamp(asked_at)
  );
end
$$;
comment on function public.rotate_psk(jsonb, text, text) is
  'Replaces the PSK of a pair. The next configuration of either side makes the new one. While the '
  'newest is still to be made, nothing changes, and the answer names it. rotated_at is the time of '
  'this call in either case: no PSK that anybody was given before holds after it. Raises '
  'forbidden, and peer_not_found where the two do not see each other, whatever the reason.';

create function public.list_psks_to_reencrypt(newest_key_id text, max_entries integer) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select coalesce(json_agg(encrypted), '[]')
  from (
    select p.low_agent, p.high_agent, p.psk_version, p.encrypted_psk
    from mesh.pairs p
    where p.encrypted_psk is not null
      and p.encryption_key_id <> list_psks_to_reencrypt.newest_key_id
    limit list_psks_to_reencrypt.max_entries
  ) encrypted
$$;
comment on function public.list_psks_to_reencrypt(text, integer) is
  'Some of the PSKs that are encrypted under another key than the newest: [{low_agent, high_agent, '
  'psk_version, encrypted_psk}].';

create function public.reencrypt_psks(psks jsonb) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  reencrypted_count integer;
begin
  -- In the order in which everybody locks pairs.
  perform from mesh.pairs p
  join jsonb_to_recordset(reencrypt_psks.psks) as named (low_agent text, high_agent text)
    on named.low_agent = p.low_agent and named.high_agent = p.high_agent
  order by p.low_agent, p.high_agent
  for update of p;

  update mesh.pairs p
  set encrypted_psk = reencrypted.reencrypted_psk
  from jsonb_to_recordset(reencrypt_psks.psks)
    as reencrypted (low_agent text, high_agent text, encrypted_psk text, reencrypted_psk text)
  where p.low_agent = reencrypted.low_agent
    and p.high_agent = reencrypted.high_agent
    -- It may have been replaced in between.
    and p.encrypted_psk = reencrypted.encrypted_psk;
  get diagnostics reencrypted_count = row_count;

  return json_build_object('reencrypted', reencrypted_count);
end
$$;
comment on function public.reencrypt_psks(jsonb) is
  'Exchanges encrypted PSKs: psks is [{low_agent, high_agent, encrypted_psk, reencrypted_psk}], '
  'the same PSK encrypted twice. Returns how many: {reencrypted}.';

-- schemas/mesh/config_versions.sql ----------------------------------------------------------------

-- The version of each agent's configuration, and the locks under which it rises.
--
-- A config_version rises exactly when the text of the agent's configuration would change. So a
-- function that changes peers, rules or PSK versions has to know for certain who sees whom. It
-- takes its locks in this order:
--   1. the agents that it names (lock_agents). Only their holder changes their peers and adds rules
--      that name them.
--   2. the config_versions of all whose text it may change, in one statement
--      (lock_config_versions). Two changes that meet in one text take turns here, so that the
--      second sees what the first did. Neighbours count whether they are registered or not: two
--      that register at once would miss each other otherwise.
--   3. the addresses (lock_addresses), where it hands some out.
--   4. the pairs whose PSK it touches, in one statement (lock_pairs).
-- Within each step the order is the same for everybody (byte order of the identifiers, but for 1),
-- so no two can wait for each other. What it decides by is read after step 2.

create table mesh.config_versions (
  agent_id agents.agent_id primary key,
  version bigint not null default 0
)
with (fillfactor = 50);

comment on table mesh.config_versions is
  'How often the configuration of each agent has changed. A row outlives its peer, so that a '
  'version never goes back.';

create function mesh.lock_agents(agent_ids text[]) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  lock_key bigint;
begin
  -- In the order of the lock keys, not of the identifiers: two identifiers may share a key, and
  -- then only the keys have one order for everybody.
  for lock_key in
    select distinct hashtextextended('mesh agent ' || named.agent_id, 0)
    from unnest(lock_agents.agent_ids) as named (agent_id)
    order by 1
  loop
    perform pg_advisory_xact_lock(lock_key);
  end loop;
end
$$;
comment on function mesh.lock_agents(text[]) is
  'Step 1 of the lock order, for agents that need not be registered.';

create function mesh.lock_config_versions(agent_ids text[]) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform from mesh.config_versions v
  where v.agent_id = any (lock_config_versions.agent_ids)
  order by v.agent_id
  for update;
end
$$;
comment on function mesh.lock_config_versions(text[]) is 'Step 2 of the lock order.';

create function mesh.start_config_versions(agent_ids text[]) returns void
language sql
volatile
set search_path = ''
as $$
  insert into mesh.config_versions (agent_id)
  select unnest(start_config_versions.agent_ids)
  on conflict do nothing
$$;
comment on function mesh.start_config_versions(text[]) is
  'Gives agents that get their first peer or rule a version to raise and to lock. Between steps 1 '
  'and 2, so that step 2 finds every row.';

create function mesh.lock_versions_around(agent_id text) returns text[]
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform mesh.lock_config_versions(
    mesh.neighbours(lock_versions_around.agent_id) || lock_versions_around.agent_id
  );
  return mesh.visible_peers(lock_versions_around.agent_id);
end
$$;
comment on function mesh.lock_versions_around(text) is
  'Step 2 for a change of one agent''s peer, which its neighbours'' texts may name. Returns who '
  'sees it, if it is registered.';

create function mesh.raise_config_versions(agent_ids text[]) returns void
language sql
volatile
set search_path = ''
as $$
  update mesh.config_versions v
  set version = v.version + 1
  where v.agent_id = any (raise_config_versions.agent_ids)
$$;
comment on function mesh.raise_config_versions(text[]) is
  'Says that the configurations of these agents have changed. To be called under '
  'lock_config_versions.';

-- schemas/mesh/registrations.sql ------------------------------------------------------------------

-- Registering peers: the first time, and again with other values.

create function mesh.refuse_endpoint_inside_the_mesh(endpoint_ip inet) returns void
language plpgsql
stable
set search_path = ''
as $$
declare
  -- An IPv4 address that is spelled as IPv6 counts as IPv4 (RFC 4291, 2.5.5.2).
  host inet := case
    when refuse_endpoint_inside_the_mesh.endpoint_ip <<= inet '::ffff:0:0/96'
      then inet '0.0.0.0' + (refuse_endpoint_inside_the_mesh.endpoint_ip - inet '::ffff:0.0.0.0')
    else refuse_endpoint_inside_the_mesh.endpoint_ip
  end;
begin
  if exists (select from mesh.settings s where host <<= s.ipv4_network or host <<= s.ipv6_network) then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "endpoint", "message": "Must be reachable from other hosts: it lies inside the mesh, which cannot carry itself."}]}';
  end if;
end
$$;
comment on function mesh.refuse_endpoint_inside_the_mesh(inet) is
  'Raises invalid_request for an endpoint in the mesh''s own networks: every neighbour would '
  'encrypt its own ciphertext in a loop. A DNS name passes: its endpoint_ip is null.';

create function mesh.add_peer(agent_id text, pubkey text, endpoint text, listen_port integer, visible_peers text[])
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform mesh.lease_addresses(add_peer.agent_id);
  insert into mesh.peers (agent_id, pubkey, endpoint, listen_port)
  values (add_peer.agent_id, add_peer.pubkey, add_peer.endpoint, add_peer.listen_port);
  insert into mesh.liveness (agent_id) values (add_peer.agent_id);

  insert into mesh.pairs (low_agent, high_agent)
  select least(add_peer.agent_id, v.agent_id collate "C"), greatest(add_peer.agent_id, v.agent_id collate "C")
  from unnest(add_peer.visible_peers) as v (agent_id);

  -- The agent's own text is new, and every visible peer's has one peer more.
  perform mesh.raise_config_versions(add_peer.visible_peers || add_peer.agent_id);
end
$$;
comment on function mesh.add_peer(text, text, text, integer, text[]) is
  'The first registration of an agent, or the first after a removal. Raises network_full.';

create function mesh.update_peer(
  before mesh.peers,
  pubkey text,
  endpoint text,
  listen_port integer,
  visible_peers text[]
) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  after mesh.peers;
  changed_texts text[] := array[]::text[];
  own_text_changed boolean;
begin
  update mesh.peers p
  set pubkey = update_peer.pubkey,
      endpoint = update_peer.endpoint,
      listen_port = update_peer.listen_port,
      updated_at = clock_timestamp()
  where p.agent_id = (update_peer.before).agent_id
  returning p.* into after;

  if after.pubkey <> (update_peer.before).pubkey then
    -- Somebody may know the old private key, and must not know the PSKs of the new one. So all
    -- pairs get new ones, also those that do not see each other now.
    perform mesh.lock_pairs(after.agent_id);
    -- A PSK that is still to be made was given to nobody. If it were replaced too, an agent that
    -- changes its pubkey again and again could keep its neighbours from ever getting one.
    with replaced as (
      update mesh.pairs p
      set psk_version = p.psk_version + 1, encrypted_psk = null, rotated_at = clock_timestamp()
      where (p.low_agent = after.agent_id or p.high_agent = after.agent_id) and p.encrypted_psk is not null
      returning p.*
    )
    select coalesce(bool_or(array[r.low_agent::text, r.high_agent::text] && update_peer.visible_peers), false)
    into own_text_changed
    from replaced r;
    changed_texts := update_peer.visible_peers;
    -- The agent's own text names its PSKs, not its pubkey.
    if own_text_changed then
      changed_texts := changed_texts || after.agent_id::text;
    end if;
  end if;
  if after.endpoint is distinct from (update_peer.before).endpoint then
    changed_texts := changed_texts || update_peer.visible_peers;
  end if;
  if after.effective_listen_port is distinct from (update_peer.before).effective_listen_port then
    changed_texts := changed_texts || after.agent_id::text;
  end if;
  perform mesh.raise_config_versions(changed_texts);
end
$$;
comment on function mesh.update_peer(mesh.peers, text, text, integer, text[]) is
  'A later registration, with other values than the one before.';

create function public.register_peer(
  caller jsonb,
  agent_id text,
  pubkey text,
  endpoint text,
  endpoint_ip inet,
  listen_port integer,
  online_seconds integer
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate_as(register_peer.caller, register_peer.agent_id);
  visible_peers text[];
  before mesh.peers;
  action text;
  violated text;
  answer json;
begin
  perform mesh.lock_agents(array[register_peer.agent_id]);
  perform mesh.start_config_versions(array[register_peer.agent_id]);
  visible_peers := mesh.lock_versions_around(register_peer.agent_id);

  select p.* into before from mesh.peers p where p.agent_id = register_peer.agent_id;
  if not found then
    -- Before the networks are read: they may be about to change, as long as there is no peer.
    perform mesh.lock_addresses();
    action := 'peer.registered';
  elsif (before.pubkey, before.endpoint, before.listen_port)
    is distinct from (register_peer.pubkey, register_peer.endpoint, register_peer.listen_port)
  then
    action := 'peer.updated';
  end if;

  perform mesh.refuse_endpoint_inside_the_mesh(register_peer.endpoint_ip);
  -- Asked before anything is written, so that two agents that want each other's pubkey do not wait
  -- for each other.
  if exists (
    select from mesh.peers p
    where p.pubkey = register_peer.pubkey and p.agent_id <> register_peer.agent_id
  ) then
    raise sqlstate 'PT409' using message = 'pubkey_in_use';
  end if;

  begin
    if action = 'peer.registered' then
      perform mesh.add_peer(
        register_peer.agent_id, register_peer.pubkey, register_peer.endpoint, register_peer.listen_port, visible_peers
      );
    elsif action = 'peer.updated' then
      perform mesh.update_peer(
        before, register_peer.pubkey, register_peer.endpoint, register_peer.listen_port, visible_peers
      );
    end if;
  exception when unique_violation then
    get stacked diagnostics violated = constraint_name;
    if violated <> 'pubkey_is_unique' then
      raise;
    end if;
    -- Another registration with this pubkey, at the same time, came first.
    raise sqlstate 'PT409' using message = 'pubkey_in_use';
  end;

  if action is not null then
    perform agents.record_event(
      register_peer.caller, caller_agent, action, register_peer.agent_id, null,
      jsonb_build_object('pubkey', register_peer.pubkey, 'endpoint', register_peer.endpoint)
    );
  end if;

  select mesh.map_entry_json(p, a, l, register_peer.online_seconds, null, null)::jsonb
    - array['self', 'psk_version', 'config_version_applied']
  into answer
  from mesh.peers p
  join mesh.address_leases a on a.agent_id = p.agent_id
  join mesh.liveness l on l.agent_id = p.agent_id
  where p.agent_id = register_peer.agent_id;
  return answer;
end
$$;
comment on function public.register_peer(jsonb, text, text, text, inet, integer, integer) is
  'Registers an agent''s peer, or updates it, and returns the peer object. endpoint is in '
  'canonical form; endpoint_ip is its host, null for a DNS name. Raises forbidden, '
  'invalid_request, pubkey_in_use, network_full.';

-- schemas/mesh/configuration.sql ------------------------------------------------------------------

-- What agents read of the mesh: the map, and the state that a configuration is rendered from. The
-- function that answers /wg_config renders one such state and nothing else, so that version and
-- text always belong together. Where a PSK is still to be made, it calls store_psks with one and
-- renders what that returns: whichever side was first, both get the same.

create function mesh.rule_json(rule mesh.rules) returns json
language sql
-- As stable as what it calls, or it would not be inlined.
stable
return json_build_object(
  'from_agent', rule.from_agent,
  'to_agent', rule.to_agent,
  'port', rule.port,
  'proto', rule.proto
);
comment on function mesh.rule_json(mesh.rules) is 'An entry of `acls`.';

create function mesh.rules_that_name(agent_id text, active boolean) returns setof mesh.rules
language sql
stable
begin atomic
  -- No rule names the same agent twice, so none comes twice.
  select r.* from mesh.rules r
  where r.from_agent = rules_that_name.agent_id and r.active = rules_that_name.active
  union all
  select r.* from mesh.rules r
  where r.to_agent = rules_that_name.agent_id and r.active = rules_that_name.active;
end;
comment on function mesh.rules_that_name(text, boolean) is
  'The active rules that an agent is a side of, or the requests.';

create function public.read_netmap(
  caller jsonb, agent_id text, online_seconds integer, rendering_revision integer default 0
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  subject text collate "C" := agents.subject_of(read_netmap.caller, read_netmap.agent_id);
  -- Not in the statement itself, where the planner would call it once more.
  named text[] := mesh.neighbours(subject) || subject;
  answer json;
begin
  with entries as (
    select row(p.*)::mesh.peers as p, row(a.*)::mesh.address_leases as a,
      row(l.*)::mesh.liveness as l, pair.psk_version, pair.made_at
    from unnest(named) as n (agent_id)
    -- One look into each index per peer on the map. The planner might read all of a table
    -- otherwise, for a map of some hundreds.
    cross join lateral (select * from mesh.peers p where p.agent_id = n.agent_id limit 1) p
    cross join lateral (select * from mesh.address_leases a where a.agent_id = n.agent_id limit 1) a
    cross join lateral (select * from mesh.liveness l where l.agent_id = n.agent_id limit 1) l
    left join lateral mesh.pair_of(subject, n.agent_id) pair on true
  )
  select json_build_object(
    'agent_id', subject,
    'config_version', (
      select v.version + read_netmap.rendering_revision
      from mesh.config_versions v
      where v.agent_id = subject
    ),
    'peers', (
      select json_agg(
        mesh.map_entry_json(
          e.p, e.a, e.l, read_netmap.online_seconds, subject,
          case when e.made_at is not null then e.psk_version end
        )
        order by (e.p).agent_id
      )
      from entries e
    ),
    'acls', (
      select coalesce(
        json_agg(mesh.rule_json(r) order by r.from_agent, r.to_agent, r.proto, r.port), '[]'
      )
      from mesh.rules_that_name(subject, active => true) r
    ),
    'acl_requests', (
      select coalesce(
        json_agg(
          json_build_object(
            'from_agent', r.from_agent, 'to_agent', r.to_agent, 'port', r.port, 'proto', r.proto,
            'waiting_for', mesh.waiting_for(r)
          )
          order by r.from_agent, r.to_agent, r.proto, r.port
        ),
        '[]'
      )
      from mesh.rules_that_name(subject, active => false) r
    )
  ) into answer
  from mesh.peers own
  where own.agent_id = subject;

  if not found then
    raise sqlstate 'PT404' using message = 'peer_not_found';
  end if;
  return answer;
end
$$;
comment on function public.read_netmap(jsonb, text, integer, integer) is
  'What an agent sees: itself and the peers that share an active rule with it, the active rules '
  'that name it, and the requests that do. rendering_revision is added to its config_version: the '
  'functions pass their own, and the answer on as it stands. Raises forbidden, invalid_request, '
  'peer_not_found.';

create function mesh.configuration_state(agent_id text) returns json
language sql
stable
set search_path = ''
as $$
  with visible as (
    select json_agg(
      json_build_object(
        'agent_id', p.agent_id,
        'pubkey', p.pubkey,
        'endpoint', p.endpoint,
        'addresses', json_build_array(host(a.ipv4), host(a.ipv6)),
        'inbound_rules', (
          select coalesce(
            json_agg(json_build_object('proto', r.proto, 'port', r.port) order by r.proto, r.port),
            '[]'
          )
          from mesh.rules r
          where r.active and r.to_agent = configuration_state.agent_id and r.from_agent = n.agent_id
        ),
        'psk_version', pair.psk_version,
        'encrypted_psk', pair.encrypted_psk
      )
      order by p.agent_id
    ) as peers
    from unnest(mesh.neighbours(configuration_state.agent_id)) as n (agent_id)
    -- One look into each index per peer, as in read_netmap.
    cross join lateral (select * from mesh.peers p where p.agent_id = n.agent_id limit 1) p
    cross join lateral (select * from mesh.address_leases a where a.agent_id = n.agent_id limit 1) a
    -- Every visible peer has its pair. If one had none, the request must fail: a shorter text would
    -- cut a tunnel.
    left join lateral mesh.pair_of(configuration_state.agent_id, n.agent_id) pair on true
  )
  select json_build_object(
    'agent_id', own.agent_id,
    'config_version', version.version,
    'listen_port', own.effective_listen_port,
    'addresses', json_build_array(host(lease.ipv4), host(lease.ipv6)),
    'networks', json_build_array(networks.ipv4_network, networks.ipv6_network),
    'peers', coalesce(visible.peers, '[]')
  )
  from mesh.peers own
  join mesh.config_versions version on version.agent_id = own.agent_id
  join mesh.address_leases lease on lease.agent_id = own.agent_id
  cross join mesh.settings networks
  cross join visible
  where own.agent_id = configuration_state.agent_id
$$;
comment on function mesh.configuration_state(text) is
  'All that an agent''s configuration depends on, and its config_version, in one snapshot. PSKs '
  'are encrypted, and null where one is still to be made. Null for an agent without a peer.';

create function public.read_wg_config(caller jsonb, agent_id text) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  state json := mesh.configuration_state(agents.subject_of(read_wg_config.caller, read_wg_config.agent_id));
begin
  if state is null then
    raise sqlstate 'PT404' using message = 'peer_not_found';
  end if;
  return state;
end
$$;
comment on function public.read_wg_config(jsonb, text) is
  'What an agent''s configuration is rendered from. Raises forbidden, invalid_request, '
  'peer_not_found.';

-- schemas/privileges.sql --------------------------------------------------------------------------

-- Who may use what: service_role, and nobody else. Projects differ in what they grant by default,
-- so every privilege is stated here. Row level security is on everywhere, with no policy.

revoke all on schema agents, artifacts, mesh from public, anon, authenticated;
grant usage on schema agents, artifacts, mesh to service_role;

revoke all on all tables in schema agents, artifacts, mesh from public, anon, authenticated, service_role;
grant select, insert, update on agents.keys to service_role;
grant select, insert on agents.events to service_role;
grant select, insert, update, delete on artifacts.artifacts to service_role;
grant select, insert, update, delete on artifacts.verifications to service_role;
grant select, insert, update, delete on artifacts.grants to service_role;
grant select, insert, update on artifacts.totals to service_role;
grant select, insert, update on artifacts.walks to service_role;
grant select on mesh.settings to service_role;
grant select, insert, update on mesh.address_leases to service_role;
grant select, insert, update, delete on mesh.peers to service_role;
grant select, insert, update on mesh.liveness to service_role;
grant select, insert, update, delete on mesh.rules to service_role;
grant select, insert, update, delete on mesh.pairs to service_role;
grant select, insert, update on mesh.config_versions to service_role;

alter table agents.keys enable row level security;
alter table agents.events enable row level security;
alter table artifacts.artifacts enable row level security;
alter table artifacts.verifications enable row level security;
alter table artifacts.grants enable row level security;
alter table artifacts.totals enable row level security;
alter table artifacts.walks enable row level security;
alter table mesh.settings enable row level security;
alter table mesh.address_leases enable row level security;
alter table mesh.peers enable row level security;
alter table mesh.liveness enable row level security;
alter table mesh.rules enable row level security;
alter table mesh.pairs enable row level security;
alter table mesh.config_versions enable row level security;

revoke all on all sequences in schema agents from public, anon, authenticated, service_role;
revoke all on all functions in schema agents, artifacts, mesh from public, anon, authenticated;
grant execute on all functions in schema agents, artifacts, mesh to service_role;

-- `public` may hold functions of others: these are ours.
revoke all on function
  public.create_agent_key(text, text, timestamptz, integer),
  public.revoke_agent_key(text),
  public.revoke_agent_keys(text),
  public.check_operator(jsonb),
  public.check_health(),
  public.list_artifacts(jsonb, text, text, integer, text),
  public.delete_artifact(jsonb, text),
  public.register_artifact(jsonb, text, text, text, text, bigint, integer, bigint, integer),
  public.discard_registration(jsonb, text),
  public.begin_commit(jsonb, text, text, integer),
  public.save_commit_progress(text, uuid, uuid, text, bigint, text),
  public.finish_commit(jsonb, text, uuid, text, bigint, text),
  public.release_commit(text, uuid),
  public.grant_artifact(jsonb, text, text, timestamptz, text, text, integer),
  public.revoke_grants(jsonb, text, text, text),
  public.list_inbox(jsonb, text, integer, text),
  public.redeem_grant_token(jsonb, text, integer),
  public.open_artifact(jsonb, text, integer),
  public.end_artifacts(jsonb, integer, integer),
  public.find_dead_objects(jsonb, integer, boolean),
  public.forget_ended(jsonb, integer),
  public.schedule_sweep(text, text, text),
  public.list_artifacts_without_bytes(integer, text),
  public.list_objects_without_artifact(integer, text),
  public.list_wrong_totals(integer, text),
  public.record_heartbeat(jsonb, text, bigint),
  public.remove_peer(jsonb, text),
  public.put_rule(jsonb, text, text, integer, text, integer, integer),
  public.revoke_rule(jsonb, text, text, integer, text),
  public.store_psks(jsonb, text, jsonb),
  public.rotate_psk(jsonb, text, text),
  public.list_psks_to_reencrypt(text, integer),
  public.reencrypt_psks(jsonb),
  public.register_peer(jsonb, text, text, text, inet, integer, integer),
  public.read_netmap(jsonb, text, integer, integer),
  public.read_wg_config(jsonb, text)
from public, anon, authenticated;

grant execute on function
  public.create_agent_key(text, text, timestamptz, integer),
  public.revoke_agent_key(text),
  public.revoke_agent_keys(text),
  public.check_operator(jsonb),
  public.check_health(),
  public.list_artifacts(jsonb, text, text, integer, text),
  public.delete_artifact(jsonb, text),
  public.register_artifact(jsonb, text, text, text, text, bigint, integer, bigint, integer),
  public.discard_registration(jsonb, text),
  public.begin_commit(jsonb, text, text, integer),
  public.save_commit_progress(text, uuid, uuid, text, bigint, text),
  public.finish_commit(jsonb, text, uuid, text, bigint, text),
  public.release_commit(text, uuid),
  public.grant_artifact(jsonb, text, text, timestamptz, text, text, integer),
  public.revoke_grants(jsonb, text, text, text),
  public.list_inbox(jsonb, text, integer, text),
  public.redeem_grant_token(jsonb, text, integer),
  public.open_artifact(jsonb, text, integer),
  public.end_artifacts(jsonb, integer, integer),
  public.find_dead_objects(jsonb, integer, boolean),
  public.forget_ended(jsonb, integer),
  public.schedule_sweep(text, text, text),
  public.list_artifacts_without_bytes(integer, text),
  public.list_objects_without_artifact(integer, text),
  public.list_wrong_totals(integer, text),
  public.record_heartbeat(jsonb, text, bigint),
  public.remove_peer(jsonb, text),
  public.put_rule(jsonb, text, text, integer, text, integer, integer),
  public.revoke_rule(jsonb, text, text, integer, text),
  public.store_psks(jsonb, text, jsonb),
  public.rotate_psk(jsonb, text, text),
  public.list_psks_to_reencrypt(text, integer),
  public.reencrypt_psks(jsonb),
  public.register_peer(jsonb, text, text, text, inet, integer, integer),
  public.read_netmap(jsonb, text, integer, integer),
  public.read_wg_config(jsonb, text)
to service_role;
