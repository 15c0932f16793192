-- The objects of artifacts in Storage: where they lie, and which of them are live. The user's key
-- is never part of a path.

-- The private bucket. Its size limit is the project's own (Settings, Storage).
insert into storage.buckets (id, name, public)
values ('agent-artifacts', 'agent-artifacts', false)
on conflict (id) do update set public = false;

create function artifacts.bucket() returns text
language sql
immutable
return 'agent-artifacts';
comment on function artifacts.bucket() is 'The bucket that holds every artifact''s bytes.';

create function artifacts.incoming_path(artifact_id text) returns text
language sql
immutable
return 'incoming/' || artifact_id;
comment on function artifacts.incoming_path(text) is
  'Where the upload URL of an artifact puts its bytes.';

create function artifacts.sealed_path(artifact_id text, attempt integer) returns text
language sql
immutable
return 'sealed/' || artifact_id || '/' || attempt;
comment on function artifacts.sealed_path(text, integer) is
  'Where an attempt to commit puts the bytes out of reach: no upload URL is ever signed for such a '
  'path.';

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

create function artifacts.has_sealed_objects(artifact_id text, since timestamptz) returns boolean
language sql
stable
set search_path = ''
as $$
  select exists (
    select from storage.objects o
    where o.bucket_id = artifacts.bucket()
      -- The artifact's folder as a range of Storage's own index: '0' is the character after '/'.
      and o.name collate "C" >= 'sealed/' || has_sealed_objects.artifact_id || '/'
      and o.name collate "C" < 'sealed/' || has_sealed_objects.artifact_id || '0'
      and o.created_at > has_sealed_objects.since
  )
$$;
comment on function artifacts.has_sealed_objects(text, timestamptz) is
  'Whether the bucket has a sealed object of this artifact that was uploaded after since.';

create function artifacts.has_objects(artifact_id text) returns boolean
language sql
stable
return artifacts.has_sealed_objects(artifact_id, since => '-infinity')
  or artifacts.has_object(artifacts.incoming_path(artifact_id));
comment on function artifacts.has_objects(text) is
  'Whether the bucket has anything of this artifact.';

create function artifacts.has_unfit_upload(artifact artifacts.artifacts) returns boolean
language sql
stable
set search_path = ''
as $$
  select exists (
    select from storage.objects o
    where o.bucket_id = artifacts.bucket()
      and o.name = artifacts.incoming_path((has_unfit_upload.artifact).artifact_id)
      and (o.metadata ->> 'size')::bigint <> (has_unfit_upload.artifact).size_bytes
  )
$$;
comment on function artifacts.has_unfit_upload(artifacts.artifacts) is
  'Whether the upload that waits for its commit has another size than was registered.';

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

create function artifacts.judge_objects()
returns table (object_name text, standing text, is_pending boolean, stored_at timestamptz)
language sql
stable
set search_path = ''
as $$
  with placed as (
    select o.name, o.created_at, a.committed_at, a.ended_at, a.rejected_attempts,
      a.state = 'pending' and a.ended_at is null as is_pending,
      held.is_content,
      -- Of nearly all objects this is not asked. Null: none of the paths that the row has come to,
      -- as after a restore of the database beside a newer bucket. 0: the upload itself.
      case when held.is_content is not true then (
        select attempt
        from generate_series(0, a.commit_attempts) as attempt
        where o.name = case attempt
          when 0 then artifacts.incoming_path(a.artifact_id)
          else artifacts.sealed_path(a.artifact_id, attempt)
        end
      ) end as attempt
    from storage.objects o
    left join artifacts.artifacts a on a.artifact_id = split_part(o.name, '/', 2)
    cross join lateral (
      select a.ended_at is null
        and o.name = artifacts.sealed_path(a.artifact_id, a.sealed_attempt) as is_content
    ) held
    where o.bucket_id = artifacts.bucket()
  ), judged as (
    select p.name, p.created_at, p.is_pending,
      case
        when p.is_content then 'live'
        when p.attempt is null then 'unknown'
        when p.committed_at is not null or p.ended_at is not null then 'dead'
        -- Not even a delete makes what a commit may be at work on dead. Only the sweep does, when
        -- it ends the artifact.
        when p.attempt between 1 and p.rejected_attempts then 'dead'
        else 'live'
      end as standing
    from placed p
  )
  select j.name, j.standing, coalesce(j.is_pending, false), j.created_at
  from judged j
  where j.standing <> 'live'
$$;
comment on function artifacts.judge_objects() is
  'Every object of the bucket that is not live. standing: "dead", its row says so, and never takes '
  'that back; or "unknown", no row accounts for it. is_pending: a commit to come may still use the '
  'path.';
