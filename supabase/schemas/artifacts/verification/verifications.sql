-- Verifying the bytes of an artifact. /commit takes several steps, so that no transaction stays
-- open while bytes are read:
--   agent_api_begin_commit          takes a lease and says which object to verify, and where to
--                                   start
--   agent_api_leave_move            keeps the lease of a move that may outlast the commit that
--                                   began it
--   agent_api_save_commit_progress  saves how much of a large object was hashed, and gives the
--                                   lease back; the next call continues there
--   agent_api_finish_commit         takes what was observed and decides, if the lease is still held
--   agent_api_release_commit        gives the lease back if no verdict was possible
-- If a commit crashes in between, it leaves a lease that expires and at most one sealed object,
-- which the next commit uses.
--
-- Storage moves an object by copying it. For gigabytes this takes minutes, and it continues when
-- nobody waits for it any more. Two moves of one upload at once would leave a copy on the disk that
-- no row names. So a lease under which a move begins lasts until Storage must have finished the
-- move. If the commit that began it has gone, the next ones wait for the sealed object to appear.
--
-- Code that changes both an artifact and its verification locks the artifact first.

create table artifacts.verifications (
  artifact_id text collate "C" primary key
    references artifacts.artifacts (artifact_id) on delete cascade,
  attempt integer not null,
  lease_token uuid,
  lease_expires_at timestamptz,
  move_awaited_until timestamptz,
  verified_bytes bigint not null default 0,
  hash_state bytea,
  object_id uuid,
  object_version text,
  progress_at timestamptz,

  constraint attempts_begin_at_1 check (attempt >= 1),
  constraint a_lease_has_an_end check ((lease_token is null) = (lease_expires_at is null)),
  constraint a_move_is_made_under_a_lease check (move_awaited_until is null or lease_token is not null),
  constraint a_hash_state_is_of_one_object check (
    (hash_state is null) = (verified_bytes = 0)
    and (hash_state is null) = (object_id is null)
    and (hash_state is null) = (object_version is null)
    and (hash_state is null) = (progress_at is null)
  )
);
comment on table artifacts.verifications is
  'One row per attempt to commit without a verdict, at most one per artifact. A verdict, a '
  'deletion or the end of the artifact deletes it.';
comment on column artifacts.verifications.lease_token is
  'Held by the only commit that verifies this artifact now; a verdict without it changes nothing. '
  'Null: given back.';
comment on column artifacts.verifications.move_awaited_until is
  'Until when the commit that took the lease to move the upload waits for the move. After that, '
  'the lease covers only the move: it ends when the sealed object appears or the lease expires. '
  'Null: the lease was taken for an object that is already sealed.';
comment on column artifacts.verifications.hash_state is
  'The SHA-256 state of the first verified_bytes of one object: only the one with this Storage id '
  'and version. Otherwise the bytes of one upload could certify those of another.';
comment on column artifacts.verifications.progress_at is
  'When a verification over several calls last progressed.';

create function artifacts.longest_move(size_bytes bigint) returns interval
language sql
immutable
-- The slowest moves that were seen ran at 8 MiB per second.
return make_interval(secs => 10 + (size_bytes / 1048576)::double precision);
comment on function artifacts.longest_move(bigint) is
  'How long Storage may take to move an object after nobody waits for the answer any more, before '
  'the move counts as failed: 10 seconds plus one second per MiB.';

create function public.agent_api_begin_commit(
  caller jsonb, artifact_id text, sha256 text, lease_seconds integer
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  artifact artifacts.artifacts;
  verification artifacts.verifications;
  stored record;
  incoming_path text;
  attempt_to_verify integer;
  call_ends_at timestamptz;
begin
  caller_agent := agents.admit(agent_api_begin_commit.caller);
  artifact := artifacts.lock_owned_artifact(caller_agent, agent_api_begin_commit.artifact_id);
  perform artifacts.refuse_ended(artifact);

  if artifact.state <> 'pending' then
    if artifact.sha256 <> agent_api_begin_commit.sha256 then
      raise sqlstate 'PT409' using message = 'already_committed';
    end if;
    return json_build_object('step', 'done', 'artifact', artifacts.artifact_json(artifact));
  end if;

  select v.* into verification
  from artifacts.verifications v
  where v.artifact_id = artifact.artifact_id;
  if verification.lease_expires_at > clock_timestamp()
    and coalesce(verification.move_awaited_until, 'infinity') > clock_timestamp()
  then
    raise sqlstate 'PT409' using message = 'commit_in_progress';
  end if;

  -- A lease that may still be valid here is that of a move. Another PUT may have replaced the
  -- upload between the lease and the move: then the size of the present upload counts. One
  -- statement checks both ends of the move, so that a move that completes meanwhile does not look
  -- like a failed one.
  select
    u.id, u.version, u.size,
    -- The sealed object is looked up only while the lease is valid.
    coalesce(
      greatest(
        verification.lease_expires_at, verification.move_awaited_until + artifacts.longest_move(u.size)
      ) > clock_timestamp(),
      false
    ) and not artifacts.has_object(
      artifacts.sealed_path(artifact.artifact_id, verification.attempt)
    ) as is_being_moved
  into stored
  from artifacts.object_at(artifacts.incoming_path(artifact.artifact_id)) u;
  if stored.is_being_moved then
    return json_build_object('step', 'moving', 'artifact', artifacts.artifact_json(artifact));
  elsif stored.id is not null then
    incoming_path := artifacts.incoming_path(artifact.artifact_id);
    update artifacts.artifacts a
    set commit_attempts = a.commit_attempts + 1
    where a.artifact_id = artifact.artifact_id
    returning a.commit_attempts into attempt_to_verify;
    if verification.artifact_id is not null then
      -- This upload is a different object from the one that was partly hashed, so discard the
      -- progress.
      delete from artifacts.verifications v where v.artifact_id = artifact.artifact_id;
    end if;
  else
    attempt_to_verify := artifacts.newest_sealed_attempt(artifact);
    if attempt_to_verify is null then
      perform artifacts.require_bucket();
      raise sqlstate 'PT409' using message = 'upload_missing';
    end if;
    select o.id, o.version, o.size into stored
    from artifacts.object_at(artifacts.sealed_path(artifact.artifact_id, attempt_to_verify)) o;
  end if;

  call_ends_at := clock_timestamp() + make_interval(secs => agent_api_begin_commit.lease_seconds);
  insert into artifacts.verifications as v (
    artifact_id, attempt, lease_token, lease_expires_at, move_awaited_until
  )
  select
    artifact.artifact_id, attempt_to_verify, gen_random_uuid(),
    case
      when incoming_path is null then call_ends_at
      else call_ends_at + artifacts.longest_move(coalesce(stored.size, artifact.size_bytes))
    end,
    case when incoming_path is not null then call_ends_at end
  on conflict on constraint verifications_pkey do update
  set attempt = excluded.attempt, lease_token = excluded.lease_token,
      lease_expires_at = excluded.lease_expires_at, move_awaited_until = excluded.move_awaited_until
  returning v.* into verification;

  return json_build_object(
    'step', 'verify',
    'lease_token', verification.lease_token,
    'incoming_path', incoming_path,
    'sealed_path', artifacts.sealed_path(artifact.artifact_id, verification.attempt),
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
comment on function public.agent_api_begin_commit(jsonb, text, text, integer) is
  'Takes the lease of a commit. Returns {step: "done", artifact} if nothing is left to do; {step: '
  '"moving", artifact} while an earlier commit''s move may be under way; otherwise {step: '
  '"verify", lease_token, incoming_path | null, sealed_path, size, object: {id, version, size | '
  'null}, progress: {verified_bytes, hash_state (base64)} | null}: move incoming_path, if there is '
  'one, to sealed_path and verify that, starting at progress. object is what is now at '
  'incoming_path or, if that is null, at sealed_path; a move gives it another version. Raises '
  'artifact_not_found, artifact_expired, already_committed, commit_in_progress, upload_missing, '
  'misconfigured.';

create function public.agent_api_leave_move(artifact_id text, lease_token uuid) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  artifact artifacts.artifacts;
  left_at timestamptz := clock_timestamp();
begin
  update artifacts.verifications v
  set move_awaited_until = left_at,
      -- Keep the time that the lease lasts beyond move_awaited_until: the longest move.
      lease_expires_at = left_at + (v.lease_expires_at - v.move_awaited_until)
  where v.artifact_id = agent_api_leave_move.artifact_id
    and v.lease_token = agent_api_leave_move.lease_token
    and v.move_awaited_until is not null;
  if not found then
    raise sqlstate 'PT409' using message = 'commit_in_progress';
  end if;
  select a.* into artifact from artifacts.artifacts a where a.artifact_id = agent_api_leave_move.artifact_id;
  return artifacts.artifact_json(artifact);
end
$$;
comment on function public.agent_api_leave_move(text, uuid) is
  'Records that the commit that began a move no longer waits for it. The lease stays, for the '
  'move, and lasts from now for longest_move. Returns the artifact. Raises commit_in_progress if '
  'the lease was lost.';

create function public.agent_api_save_commit_progress(
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
  where a.artifact_id = agent_api_save_commit_progress.artifact_id
  for update;

  update artifacts.verifications v
  set lease_token = null,
      lease_expires_at = null,
      move_awaited_until = null,
      verified_bytes = agent_api_save_commit_progress.verified_bytes,
      hash_state = decode(agent_api_save_commit_progress.hash_state, 'base64'),
      object_id = agent_api_save_commit_progress.object_id,
      object_version = agent_api_save_commit_progress.object_version,
      progress_at = clock_timestamp()
  where v.artifact_id = agent_api_save_commit_progress.artifact_id
    and v.lease_token = agent_api_save_commit_progress.lease_token
  returning v.attempt into verified_attempt;
  if not found then
    raise sqlstate 'PT409' using message = 'commit_in_progress';
  end if;

  -- Of several sealed uploads, only the newest is ever used: the earlier ones are dead.
  update artifacts.artifacts a
  set rejected_attempts = greatest(a.rejected_attempts, verified_attempt - 1)
  where a.artifact_id = artifact.artifact_id;
  return artifacts.artifact_json(artifact);
end
$$;
comment on function public.agent_api_save_commit_progress(text, uuid, uuid, text, bigint, text) is
  'Saves the SHA-256 state (base64) of the first verified_bytes of one object, and gives the '
  'lease back. Returns the artifact. Raises commit_in_progress if the lease was lost: then '
  'nothing is saved.';

create function public.agent_api_release_commit(artifact_id text, lease_token uuid) returns json
language sql
volatile
security invoker
set search_path = ''
as $$
  with released as (
    update artifacts.verifications v
    set lease_token = null, lease_expires_at = null, move_awaited_until = null
    where v.artifact_id = agent_api_release_commit.artifact_id and v.lease_token = agent_api_release_commit.lease_token
    returning 1
  )
  select json_build_object(
    'released', exists (select from released),
    'upload_version', (
      select o.version
      from artifacts.object_at(artifacts.incoming_path(agent_api_release_commit.artifact_id)) o
      where exists (select from released)
    )
  )
$$;
comment on function public.agent_api_release_commit(text, uuid) is
  'Gives back the lease of a commit that could not be decided, so that the next commit need not '
  'wait until the lease expires. Returns {released, upload_version: the upload''s version in '
  'Storage, null if there is no upload or the lease was lost}.';
