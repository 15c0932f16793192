-- An upload that is verified over several calls can be replaced by another before it is verified. What was sealed before
-- stayed for 14 days, however much it was, and outside of every quota.

create or replace function public.save_commit_progress(
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
      progress_at = clock_timestamp(),
      -- Of several sealed uploads only the newest is ever taken up: those before it are dead.
      rejected_attempts = greatest(a.rejected_attempts, split_part(a.sealed_path, '/', 3)::integer - 1)
  where a.artifact_id = save_commit_progress.artifact_id
    and a.lease_token = save_commit_progress.lease_token
  returning a.* into artifact;

  if not found then
    raise sqlstate 'PT409' using message = 'commit_in_progress';
  end if;
  return artifacts.artifact_json(artifact);
end
$$;
