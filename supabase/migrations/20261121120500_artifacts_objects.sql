-- Made of supabase/schemas/artifacts/objects.sql by `deno task schema:squash`.

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

create function artifacts.require_bucket() returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  if not exists (select from storage.buckets b where b.id = artifacts.bucket()) then
    raise sqlstate 'PT503' using
      message = 'misconfigured',
      hint = 'The project has no bucket ' || artifacts.bucket() || '. Make a private bucket of this name.';
  end if;
end
$$;
comment on function artifacts.require_bucket() is 'Raises misconfigured where the bucket is missing.';

create function artifacts.object_at(path text) returns table (id uuid, version text, size bigint)
language sql
stable
begin atomic
  select o.id, o.version, (o.metadata ->> 'size')::bigint
  from storage.objects o
  where o.bucket_id = artifacts.bucket() and o.name = object_at.path
  limit 1;
end;
comment on function artifacts.object_at(text) is
  'What lies at a path of the bucket, if anything: its Storage id, its version, and its size in '
  'bytes, which may be null.';

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
