-- Artifacts. An artifact is one immutable content; `key` is a name that can move from one to
-- another.

create schema artifacts;
comment on schema artifacts is
  'Artifacts, their verification, grants and retention. Not exposed by the API.';

create table artifacts.artifacts (
  artifact_id text collate "C",
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
  lost_at timestamptz,
  metadata jsonb,
  version bigint,
  keep_versions integer,
  end_grants boolean not null default false,

  commit_attempts integer not null default 0,
  rejected_attempts integer not null default 0,
  sealed_attempt integer,

  surplus_bytes bigint,
  surplus_seen_at timestamptz,

  -- For nearly every artifact, the sweep and fsck need only these columns: an index-only scan reads
  -- no row.
  primary key (artifact_id) include (sealed_attempt, ended_at),
  constraint artifact_id_is_well_formed check (
    length(artifact_id) = 36 and artifact_id ~ '^art_[0-9a-f]*$'
  ),
  constraint key_has_1_to_1024_bytes check (octet_length(key) between 1 and 1024),
  constraint mime_has_at_most_255_characters check (length(mime) <= 255),
  constraint metadata_is_an_object_of_strings check (
    jsonb_typeof(metadata) = 'object'
    and not jsonb_path_exists(metadata, '$.* ? (@.type() != "string")')
  ),
  constraint versions_are_given_by_commits check (
    version is null or version >= 1 and committed_at is not null
  ),
  constraint keep_versions_is_1_to_1000 check (keep_versions between 1 and 1000),
  constraint size_is_not_negative check (size_bytes >= 0),
  constraint ttl_is_positive check (ttl_days > 0),
  constraint state_is_known check (state in ('pending', 'committed', 'superseded', 'deleted')),
  constraint sha256_is_64_lower_case_hex_digits check (
    length(sha256) = 64 and sha256 ~ '^[0-9a-f]*$'
  ),
  constraint commit_sets_digest_times_and_attempt_together check (
    (sha256 is null or committed_at is not null)
    and (committed_at is null) = (expires_at is null)
    and (committed_at is null) = (sealed_attempt is null)
  ),
  constraint only_what_has_ended_loses_its_digest check (
    sha256 is not null or committed_at is null or deleted_at is not null or ended_at is not null
  ),
  constraint pending_artifacts_are_not_committed check (state <> 'pending' or committed_at is null),
  constraint committed_artifacts_are_committed check (
    state not in ('committed', 'superseded') or committed_at is not null
  ),
  constraint deleted_at_is_set_when_deleted check ((state = 'deleted') = (deleted_at is not null)),
  constraint committed_artifacts_end_after_they_expire check (
    ended_at is null or state not in ('committed', 'superseded') or ended_at > expires_at
  ),
  constraint only_committed_bytes_are_lost check (lost_at is null or committed_at is not null),
  constraint bytes_are_removed_after_the_end check (removed_at is null or ended_at is not null),
  constraint attempts_are_counted_upwards check (
    0 <= rejected_attempts and rejected_attempts <= commit_attempts
    and (sealed_attempt is null or sealed_attempt between 1 and commit_attempts)
  ),
  constraint surplus_is_positive check (surplus_bytes > 0),
  constraint a_surplus_was_seen check ((surplus_bytes is null) = (surplus_seen_at is null))
);
comment on table artifacts.artifacts is
  'One row per artifact. Its state is pending, then committed, then superseded. From each of these '
  'it can become deleted.';
comment on column artifacts.artifacts.sha256 is
  'Null until the commit, and again once the owner was erased.';
comment on column artifacts.artifacts.ended_at is
  'Set by the sweep, permanently, before it removes the bytes: from then on, every operation '
  'refuses the artifact. The row stays as a tombstone.';
comment on column artifacts.artifacts.removed_at is
  'When the sweep found that the bucket has no more objects of an ended artifact.';
comment on column artifacts.artifacts.lost_at is
  'When fsck found that Storage has lost the bytes, or has other bytes; null: neither.';
comment on column artifacts.artifacts.metadata is
  'What the owner registered beside the file, which never changes; null: nothing.';
comment on column artifacts.artifacts.version is
  'Counts the commits under the name, from 1. Null until the commit, and again once the owner was '
  'erased.';
comment on column artifacts.artifacts.keep_versions is
  'How many superseded versions of the name the commit keeps; null: all.';
comment on column artifacts.artifacts.end_grants is
  'Whether keep_versions also ends versions that are granted.';
comment on column artifacts.artifacts.commit_attempts is
  'Attempts to commit so far. Attempt n seals the upload at sealed_path(artifact_id, n).';
comment on column artifacts.artifacts.rejected_attempts is
  'Sealed objects of attempts up to this one were found wrong. They are never used again, even if '
  'they still exist: their removal may be under way.';
comment on column artifacts.artifacts.sealed_attempt is
  'The attempt whose object at sealed_path(artifact_id, sealed_attempt) holds the bytes. Null '
  'until the commit.';
comment on column artifacts.artifacts.surplus_bytes is
  'How many bytes its upload was seen to hold beyond what is allowed; null: none. They count '
  'against the agent. The first sweep that finds none an hour after surplus_seen_at clears the '
  'value. A removal alone does not clear it, because the upload URL accepts more bytes.';

-- The current artifact of each key; also the index that /list walks.
create unique index one_committed_artifact_per_key on artifacts.artifacts (agent_id, key)
  where state = 'committed' and ended_at is null;

create function artifacts.current_artifact(agent_id text, key text) returns artifacts.artifacts
language plpgsql
stable
set search_path = ''
as $$
begin
  return (
    select a
    from artifacts.artifacts a
    where a.agent_id = current_artifact.agent_id
      and a.key = current_artifact.key
      and a.state = 'committed'
      and a.ended_at is null
  );
end
$$;
comment on function artifacts.current_artifact(text, text) is
  'The artifact that an agent''s `key` names now, even if it has expired; null: none.';

create function artifacts.content_json(artifact artifacts.artifacts) returns jsonb
language sql
stable
return jsonb_build_object(
  'artifact_id', artifact.artifact_id,
  'key', artifact.key,
  'mime', artifact.mime,
  'size', artifact.size_bytes,
  'sha256', artifact.sha256,
  'version', artifact.version,
  'metadata', coalesce(artifact.metadata, '{}')
);
comment on function artifacts.content_json(artifacts.artifacts) is
  'What everybody who may have the bytes sees of an artifact: in the artifact object, in an inbox '
  'entry, and in the answer of /open and /fetch.';

create function artifacts.artifact_json(artifact artifacts.artifacts) returns json
language sql
stable
return (
  artifacts.content_json(artifact) || jsonb_build_object(
    'agent_id', artifact.agent_id,
    'ttl_days', artifact.ttl_days,
    'state', artifact.state,
    'created_at', agents.iso_timestamp(artifact.created_at),
    'committed_at', agents.iso_timestamp(artifact.committed_at),
    'expires_at', agents.iso_timestamp(artifact.expires_at)
  )
)::json;
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
  'Raises artifact_expired for an artifact that has expired, was deleted, or was ended by the '
  'sweep.';

create function artifacts.refuse_lost(artifact artifacts.artifacts) returns void
language plpgsql
immutable
set search_path = ''
as $$
begin
  if (refuse_lost.artifact).lost_at is not null then
    raise sqlstate 'PT410' using message = 'artifact_lost';
  end if;
end
$$;
comment on function artifacts.refuse_lost(artifacts.artifacts) is
  'Raises artifact_lost for an artifact whose bytes Storage has lost.';

create function artifacts.owner_of(artifact_id text) returns text
language plpgsql
stable
set search_path = ''
as $$
begin
  return (select a.agent_id from artifacts.artifacts a where a.artifact_id = owner_of.artifact_id);
end
$$;
comment on function artifacts.owner_of(text) is
  'The agent that an artifact belongs to, which never changes; null: there is no such artifact.';

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
  'artifact_not_found, also if the artifact belongs to somebody else.';
