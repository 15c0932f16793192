-- Committing takes several steps, so that no transaction stays open while bytes are read:
--   begin_commit         takes a lease and says which object to verify, and from where on
--   save_commit_progress keeps how far a large object was hashed, and gives the lease back: the next call goes on there
--   finish_commit        takes what was observed, and decides, if the lease still holds
--   release_commit       gives the lease back when no verdict could be reached
-- A commit that dies in between leaves a lease that runs out and, at most, a sealed object that the next one takes up.

create function artifacts.sealed_prefix(artifact_id text) returns text
language sql
immutable
set search_path = ''
as $$
  select 'sealed/' || sealed_prefix.artifact_id || '/'
$$;
comment on function artifacts.sealed_prefix(text) is 'The folder that an artifact''s sealed objects lie in; the attempt''s number is the name.';

create function artifacts.newest_sealed_path(artifact artifacts.artifacts) returns text
language sql
stable
set search_path = ''
as $$
  -- Only the attempts since the last verdict can be there, so these are few; each is one look into the unique index.
  select artifacts.sealed_prefix((newest_sealed_path.artifact).artifact_id) || attempt
  from generate_series(
    (newest_sealed_path.artifact).commit_attempts,
    (newest_sealed_path.artifact).rejected_attempts + 1,
    -1
  ) as attempt
  where exists (
    select from storage.objects o
    where o.bucket_id = 'agent-artifacts'
      and o.name = artifacts.sealed_prefix((newest_sealed_path.artifact).artifact_id) || attempt
  )
  order by attempt desc
  limit 1
$$;
comment on function artifacts.newest_sealed_path(artifacts.artifacts) is
  'The sealed object that a crashed attempt left behind and that may still be taken up, or null.';

create function public.begin_commit(caller jsonb, artifact_id text, sha256 text, lease_seconds integer) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(begin_commit.caller);
  artifact artifacts.artifacts := artifacts.lock_owned_artifact(caller_agent, begin_commit.artifact_id);
  incoming_path text;
  left_behind text;
begin
  perform artifacts.refuse_ended(artifact);

  if artifact.state <> 'pending' then
    if artifact.sha256 <> begin_commit.sha256 then
      raise sqlstate 'PT409' using message = 'already_committed';
    end if;
    return json_build_object('step', 'done', 'artifact', artifacts.artifact_json(artifact));
  end if;

  if artifact.lease_expires_at > clock_timestamp() then
    raise sqlstate 'PT409' using message = 'commit_in_progress';
  end if;

  select o.name into incoming_path
  from storage.objects o
  where o.bucket_id = 'agent-artifacts' and o.name = 'incoming/' || artifact.artifact_id;

  if incoming_path is null then
    left_behind := artifacts.newest_sealed_path(artifact);
    if left_behind is null then
      raise sqlstate 'PT409' using message = 'upload_missing';
    end if;
  end if;

  if left_behind is null then
    -- Another object than any before it: what was hashed so far says nothing about it.
    update artifacts.artifacts a
    set commit_attempts = a.commit_attempts + 1,
        sealed_path = artifacts.sealed_prefix(a.artifact_id) || (a.commit_attempts + 1),
        lease_token = gen_random_uuid(),
        lease_expires_at = clock_timestamp() + make_interval(secs => begin_commit.lease_seconds),
        verified_bytes = 0,
        hash_state = null,
        hashed_object_id = null,
        hashed_object_version = null
    where a.artifact_id = artifact.artifact_id
    returning a.* into artifact;
  else
    update artifacts.artifacts a
    set sealed_path = left_behind,
        lease_token = gen_random_uuid(),
        lease_expires_at = clock_timestamp() + make_interval(secs => begin_commit.lease_seconds)
    where a.artifact_id = artifact.artifact_id
    returning a.* into artifact;
  end if;

  return json_build_object(
    'step', 'verify',
    'lease_token', artifact.lease_token,
    'incoming_path', incoming_path,
    'sealed_path', artifact.sealed_path,
    'size', artifact.size_bytes,
    'progress', (
      select json_build_object(
        'verified_bytes', artifact.verified_bytes,
        'hash_state', encode(artifact.hash_state, 'base64')
      )
      from storage.objects o
      where o.bucket_id = 'agent-artifacts'
        and o.name = left_behind
        and o.id = artifact.hashed_object_id
        and o.version = artifact.hashed_object_version
    )
  );
end
$$;
comment on function public.begin_commit(jsonb, text, text, integer) is
  'Takes the lease of a commit. Returns {step: "done", artifact} when there is nothing left to do, else {step: "verify", lease_token, incoming_path | null, sealed_path, size, progress: {verified_bytes, hash_state (base64)} | null}: move incoming_path, if there is one, to sealed_path and verify that, from progress on. Raises artifact_not_found, artifact_expired, already_committed, commit_in_progress, upload_missing.';

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
begin
  update artifacts.artifacts a
  set lease_token = null,
      lease_expires_at = null,
      verified_bytes = save_commit_progress.verified_bytes,
      hash_state = decode(save_commit_progress.hash_state, 'base64'),
      hashed_object_id = save_commit_progress.object_id,
      hashed_object_version = save_commit_progress.object_version,
      progress_at = clock_timestamp()
  where a.artifact_id = save_commit_progress.artifact_id
    and a.lease_token = save_commit_progress.lease_token
  returning a.* into artifact;

  if not found then
    raise sqlstate 'PT409' using message = 'commit_in_progress';
  end if;
  return artifacts.artifact_json(artifact);
end
$$;
comment on function public.save_commit_progress(text, uuid, uuid, text, bigint, text) is
  'Keeps the SHA-256 state (base64) of the first verified_bytes of one object, and gives the lease back. Returns the artifact. Raises commit_in_progress when the lease was lost: then nothing is kept.';

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
  superseded_id text;
begin
  -- Not authenticated again: the request was, when it took the lease, and the lease is its proof. A key that was
  -- revoked since then must not leave the artifact half way.
  select a.* into artifact
  from artifacts.artifacts a
  where a.artifact_id = finish_commit.artifact_id;

  -- Commits of one key take turns, so that exactly one artifact is current; before any row lock, so that two of
  -- them cannot wait for each other.
  perform pg_advisory_xact_lock(hashtextextended('artifact key ' || artifact.agent_id || '/' || artifact.key, 0));

  select a.* into artifact
  from artifacts.artifacts a
  where a.artifact_id = finish_commit.artifact_id
  for update;

  if artifact.lease_token is distinct from finish_commit.lease_token then
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
    set rejected_attempts = split_part(a.sealed_path, '/', 3)::integer,
        sealed_path = null,
        lease_token = null,
        lease_expires_at = null,
        verified_bytes = 0,
        hash_state = null,
        hashed_object_id = null,
        hashed_object_version = null
    where a.artifact_id = artifact.artifact_id;

    if finish_commit.observed_size <> artifact.size_bytes then
      return json_build_object(
        'verdict', 'size_mismatch', 'expected', artifact.size_bytes, 'actual', finish_commit.observed_size
      );
    end if;
    return json_build_object(
      'verdict', 'checksum_mismatch',
      'expected', finish_commit.expected_sha256,
      'actual', finish_commit.observed_sha256
    );
  end if;

  update artifacts.artifacts a
  set state = 'superseded'
  where a.agent_id = artifact.agent_id and a.key = artifact.key and a.state = 'committed'
  returning a.artifact_id into superseded_id;

  update artifacts.artifacts a
  set state = 'committed',
      sha256 = finish_commit.observed_sha256,
      committed_at = committed.at,
      expires_at = committed.at + make_interval(hours => 24 * a.ttl_days),
      lease_token = null,
      lease_expires_at = null,
      verified_bytes = 0,
      hash_state = null,
      hashed_object_id = null,
      hashed_object_version = null
  from (select clock_timestamp() as at) committed
  where a.artifact_id = artifact.artifact_id
  returning a.* into artifact;

  perform agents.record_event(
    finish_commit.caller, agents.actor_of(finish_commit.caller), 'artifact.committed', artifact.agent_id, artifact.artifact_id,
    jsonb_build_object('sha256', artifact.sha256, 'superseded', superseded_id)
  );
  return json_build_object('verdict', 'committed', 'artifact', artifacts.artifact_json(artifact));
end
$$;
comment on function public.finish_commit(jsonb, text, uuid, text, bigint, text) is
  'Decides on what was observed at the leased sealed path: {verdict: "committed", artifact}, or {verdict: "size_mismatch" | "checksum_mismatch", expected, actual}, after which the object at that path is to be removed. Raises commit_in_progress when the lease was lost: then nothing may be removed.';

create function public.release_commit(artifact_id text, lease_token uuid) returns json
language sql
volatile
security invoker
set search_path = ''
as $$
  with released as (
    update artifacts.artifacts a
    set lease_token = null, lease_expires_at = null
    where a.artifact_id = release_commit.artifact_id and a.lease_token = release_commit.lease_token
    returning 1
  )
  select json_build_object('released', exists (select from released))
$$;
comment on function public.release_commit(text, uuid) is
  'Gives back the lease of a commit that could not be decided, so that the next need not wait for its end.';

revoke all on function
  artifacts.sealed_prefix(text),
  artifacts.newest_sealed_path(artifacts.artifacts),
  public.begin_commit(jsonb, text, text, integer),
  public.save_commit_progress(text, uuid, uuid, text, bigint, text),
  public.finish_commit(jsonb, text, uuid, text, bigint, text),
  public.release_commit(text, uuid)
from public, anon, authenticated;

grant execute on function
  artifacts.sealed_prefix(text),
  artifacts.newest_sealed_path(artifacts.artifacts),
  public.begin_commit(jsonb, text, text, integer),
  public.save_commit_progress(text, uuid, uuid, text, bigint, text),
  public.finish_commit(jsonb, text, uuid, text, bigint, text),
  public.release_commit(text, uuid)
to service_role;
