-- An upload of another size than was registered can never be committed. It is removed once its upload URL takes no
-- other in its place, not a day later: until then it is what the quota does not count.

create function artifacts.has_unfit_upload(artifact artifacts.artifacts) returns boolean
language sql
stable
set search_path = ''
as $$
  select exists (
    select from storage.objects o
    where o.bucket_id = 'agent-artifacts'
      and o.name = 'incoming/' || (has_unfit_upload.artifact).artifact_id
      and (o.metadata ->> 'size')::bigint <> (has_unfit_upload.artifact).size_bytes
  )
$$;
comment on function artifacts.has_unfit_upload(artifacts.artifacts) is
  'Whether the upload that waits for its commit has another size than was registered.';

revoke all on function artifacts.has_unfit_upload(artifacts.artifacts) from public, anon, authenticated;
grant execute on function artifacts.has_unfit_upload(artifacts.artifacts) to service_role;

create or replace function artifacts.is_over(artifact artifacts.artifacts, window_seconds integer) returns boolean
language sql
stable
set search_path = ''
as $$
  select case (is_over.artifact).state
    when 'pending' then
      -- The upload URL, which lives two hours, has run out for a day, or for an hour where it brought nothing of use.
      (
        (is_over.artifact).created_at < now() - interval '26 hours'
        or (is_over.artifact).created_at < now() - interval '3 hours'
          and artifacts.has_unfit_upload(is_over.artifact)
      )
      -- And nobody is at work on it.
      and coalesce((is_over.artifact).progress_at < now() - interval '1 day', true)
      and coalesce((is_over.artifact).lease_expires_at <= now(), true)
      -- A sealed upload may have been committed by a later state of this database, before a backup was restored.
      and not artifacts.has_sealed_objects((is_over.artifact).artifact_id, since => now() - interval '14 days')
    else
      -- Download URLs work until their window ends; a minute more, because they are signed after the decision.
      coalesce((is_over.artifact).deleted_at, (is_over.artifact).expires_at)
        < now() - make_interval(secs => is_over.window_seconds + 60)
  end
$$;
