-- Made of supabase/schemas/artifacts/verifications.sql by `deno task schema:squash`.

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
