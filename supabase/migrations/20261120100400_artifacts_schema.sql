-- Artifacts and the grants of them. An artifact is one immutable content; `key` is the name that moves.

create schema artifacts;
comment on schema artifacts is 'Artifacts and grants. Not exposed by the API.';

revoke all on schema artifacts from public, anon, authenticated;
grant usage on schema artifacts to service_role;

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

  commit_attempts integer not null default 0,
  rejected_attempts integer not null default 0,
  sealed_path text collate "C",
  lease_token uuid,
  lease_expires_at timestamptz,
  verified_bytes bigint not null default 0,
  hash_state bytea,
  hashed_object_id uuid,
  hashed_object_version text,
  progress_at timestamptz,

  constraint artifact_id_is_well_formed check (artifact_id ~ '^art_[0-9a-f]{32}$'),
  constraint key_has_1_to_1024_bytes check (octet_length(key) between 1 and 1024),
  constraint mime_has_at_most_255_characters check (length(mime) <= 255),
  constraint size_is_not_negative check (size_bytes >= 0),
  constraint ttl_is_positive check (ttl_days > 0),
  constraint state_is_known check (state in ('pending', 'committed', 'superseded', 'deleted')),
  constraint sha256_is_64_lower_case_hex_digits check (sha256 ~ '^[0-9a-f]{64}$'),
  constraint commit_sets_digest_times_and_path_together check (
    (committed_at is null) = (sha256 is null)
    and (committed_at is null) = (expires_at is null)
    and (committed_at is null or sealed_path is not null)
  ),
  constraint pending_artifacts_are_not_committed check (state <> 'pending' or committed_at is null),
  constraint committed_artifacts_are_committed check (
    state not in ('committed', 'superseded') or committed_at is not null
  ),
  constraint deleted_at_is_set_when_deleted check ((state = 'deleted') = (deleted_at is not null)),
  constraint a_lease_has_an_end check ((lease_token is null) = (lease_expires_at is null)),
  constraint only_pending_artifacts_are_leased check (lease_token is null or state = 'pending'),
  constraint ended_artifacts_are_not_leased check (ended_at is null or lease_token is null),
  constraint committed_artifacts_end_after_they_expire check (
    ended_at is null or state not in ('committed', 'superseded') or ended_at > expires_at
  ),
  constraint a_hash_state_is_of_one_object check (
    (hash_state is null) = (verified_bytes = 0)
    and (hash_state is null) = (hashed_object_id is null)
    and (hash_state is null) = (hashed_object_version is null)
  )
);
comment on table artifacts.artifacts is 'One row an artifact: pending, then committed, then superseded; deleted ends either.';
comment on column artifacts.artifacts.ended_at is
  'Set by the sweep, once and for good, before it removes the bytes: every operation refuses the artifact from then on. The row stays as a tombstone.';
comment on column artifacts.artifacts.commit_attempts is
  'Attempts to commit so far. Attempt n seals the upload at sealed/<artifact_id>/<n>.';
comment on column artifacts.artifacts.rejected_attempts is
  'Sealed objects of attempts up to this one were found wrong: they are never taken up again, even while they still lie there, because their removal may be under way.';
comment on column artifacts.artifacts.sealed_path is
  'Where the bytes lie, or, while pending, where the attempt under way seals them. No upload URL was ever signed for such a path.';
comment on column artifacts.artifacts.lease_token is
  'Held by the one commit that verifies this artifact now; a verdict without it changes nothing.';

comment on column artifacts.artifacts.verified_bytes is
  'How far a verification over several calls has come. hash_state is the SHA-256 of as many bytes of one object: the one with this Storage id and version, and no other, or the bytes of one upload would certify those of another.';
comment on column artifacts.artifacts.progress_at is 'When a verification over several calls last came further.';

-- The current artifact of each key; also the index that /list walks.
create unique index one_committed_artifact_per_key on artifacts.artifacts (agent_id, key) where state = 'committed';

create table artifacts.grants (
  grant_id text collate "C" primary key,
  artifact_id text collate "C" not null references artifacts.artifacts (artifact_id) on delete cascade,
  to_agent agents.agent_id not null,
  token_hash text collate "C" not null,
  granted_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  revoked_at timestamptz,

  constraint grant_id_is_well_formed check (grant_id ~ '^grant_[0-9a-f]{32}$'),
  constraint token_hash_is_a_sha256 check (token_hash ~ '^[0-9a-f]{64}$'),
  constraint token_hash_is_unique unique (token_hash)
);
comment on table artifacts.grants is
  'Access of one agent to one artifact until expires_at. Only the SHA-256 of the grant token is kept.';

create index grants_by_artifact on artifacts.grants (artifact_id, to_agent);
-- The order of /inbox.
create index unrevoked_grants_by_grantee on artifacts.grants (to_agent, granted_at desc, grant_id desc)
  where revoked_at is null;

alter table artifacts.artifacts enable row level security;
alter table artifacts.grants enable row level security;

revoke all on artifacts.artifacts, artifacts.grants from public, anon, authenticated;
grant select, insert, update on artifacts.artifacts, artifacts.grants to service_role;

create function artifacts.artifact_json(artifact artifacts.artifacts) returns json
language sql
stable
set search_path = ''
as $$
  select json_build_object(
    'artifact_id', (artifact_json.artifact).artifact_id,
    'agent_id', (artifact_json.artifact).agent_id,
    'key', (artifact_json.artifact).key,
    'mime', (artifact_json.artifact).mime,
    'size', (artifact_json.artifact).size_bytes,
    'ttl_days', (artifact_json.artifact).ttl_days,
    'sha256', (artifact_json.artifact).sha256,
    'state', (artifact_json.artifact).state,
    'created_at', agents.iso_timestamp((artifact_json.artifact).created_at),
    'committed_at', agents.iso_timestamp((artifact_json.artifact).committed_at),
    'expires_at', agents.iso_timestamp((artifact_json.artifact).expires_at)
  )
$$;
comment on function artifacts.artifact_json(artifacts.artifacts) is 'The artifact object of the wire contract.';

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
comment on function artifacts.refuse_ended(artifacts.artifacts) is 'Raises artifact_expired for an artifact that is past its end, deleted, or ended by the sweep.';

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
  'The artifact, locked, if it belongs to the caller (null: the operator). Raises artifact_not_found, also when it is somebody else''s.';

revoke all on function
  artifacts.artifact_json(artifacts.artifacts),
  artifacts.refuse_ended(artifacts.artifacts),
  artifacts.lock_owned_artifact(text, text)
from public, anon, authenticated;

grant execute on function
  artifacts.artifact_json(artifacts.artifacts),
  artifacts.refuse_ended(artifacts.artifacts),
  artifacts.lock_owned_artifact(text, text)
to service_role;
