-- The artifacts' objects in Storage: their paths, which are live, and which bytes exceed what is
-- allowed. A user's `key` is never part of a path.

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
  'The common prefix of an artifact''s sealed paths.';

create function artifacts.sealed_path(artifact_id text, attempt integer) returns text
language sql
immutable
return artifacts.sealed_folder(artifact_id) || attempt::text;
comment on function artifacts.sealed_path(text, integer) is
  'Where an attempt to commit puts the bytes out of reach: no upload URL is ever signed for this '
  'path.';

create function artifacts.end_of_folder(folder text) returns text
language sql
immutable
-- '0' is the character after '/'.
return left(folder, -1) || '0';
comment on function artifacts.end_of_folder(text) is
  'The first name in byte order after all names in a folder, whose name ends in "/".';

create function artifacts.object_at(path text) returns table (id uuid, version text, size bigint)
language sql
stable
begin atomic
  select o.id, o.version, (o.metadata ->> 'size')::bigint
  from artifacts.current_objects o
  where o.name collate "C" = object_at.path
  limit 1;
end;
comment on function artifacts.object_at(text) is
  'The object at a path of the bucket, if any: its Storage id, its version, and its size in '
  'bytes, which may be null.';

create function artifacts.has_object(path text) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return exists (
    select from artifacts.current_objects o where o.name collate "C" = has_object.path
  );
end
$$;
comment on function artifacts.has_object(text) is
  'Whether an object exists at a path of the bucket.';

create function artifacts.has_objects(artifact_id text) returns boolean
language sql
stable
set search_path = ''
as $$
  select artifacts.has_object(artifacts.incoming_path(has_objects.artifact_id))
    or exists (
      select from artifacts.current_objects o
      where o.name collate "C" > artifacts.sealed_folder(has_objects.artifact_id)
        and o.name collate "C" < artifacts.end_of_folder(artifacts.sealed_folder(has_objects.artifact_id))
    )
$$;
comment on function artifacts.has_objects(text) is
  'Whether the bucket has any object of this artifact.';

create function artifacts.newest_sealed_attempt(artifact artifacts.artifacts) returns integer
language plpgsql
stable
set search_path = ''
as $$
begin
  -- Only attempts after the last verdict can have an object, so there are few. Each needs one
  -- lookup in an index.
  return (
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
  );
end
$$;
comment on function artifacts.newest_sealed_attempt(artifacts.artifacts) is
  'The newest attempt that crashed and left a sealed object that can still be used; null: none.';

-- Decides which of the bucket's objects are live, from the rows in the database. No other code
-- decides this: the sweep and fsck call this function.

create function artifacts.judge_objects(after text, up_to text, max_entries integer)
returns table (object_name text, standing text, is_pending boolean, stored_at timestamptz)
language sql
stable
set search_path = ''
as $$
  with named as materialized (
    -- For nearly all objects, the name is enough.
    select o.name
    from artifacts.current_names(
      judge_objects.after, judge_objects.up_to, judge_objects.max_entries
    ) o
  ), placed as materialized (
    select n.name, a.committed_at, a.ended_at, a.rejected_attempts,
      a.state = 'pending' and a.ended_at is null as is_pending,
      held.is_content,
      -- 0: the upload itself. Null: an attempt that the row does not have yet, because a restored
      -- database is older than the bucket.
      case
        when n.name = artifacts.incoming_path(a.artifact_id) then 0
        else (
          select attempt
          from generate_series(1, a.commit_attempts) as attempt
          where n.name = artifacts.sealed_path(a.artifact_id, attempt)
        )
      end as attempt
    from named n
    -- One index lookup per object, however many artifacts there are.
    left join lateral (
      select i.ended_at is null
        and n.name = artifacts.sealed_path(i.artifact_id, i.sealed_attempt) as is_content
      from artifacts.artifacts i
      where i.artifact_id = split_part(n.name, '/', 2)
      limit 1
    ) held on true
    -- For nearly all objects, no row is read.
    left join lateral (
      select i.*
      from artifacts.artifacts i
      where held.is_content is not true and i.artifact_id = split_part(n.name, '/', 2)
      limit 1
    ) a on true
  )
  select p.name,
    case
      when p.is_content then 'live'
      when p.attempt is null then 'unknown'
      when p.committed_at is not null or p.ended_at is not null then 'dead'
      -- A commit may be using the other objects. Not even deleting the artifact makes them dead:
      -- only the sweep does, when it ends the artifact.
      when p.attempt between 1 and p.rejected_attempts then 'dead'
      else 'live'
    end,
    coalesce(p.is_pending, false),
    case
      when p.is_content is not true then (
        select o.created_at
        from artifacts.current_objects o
        where o.name collate "C" = p.name
        limit 1
      )
    end
  from placed p
$$;
comment on function artifacts.judge_objects(text, text, integer) is
  'The first max_entries objects between two names, in byte order. standing: "live"; "dead" (its '
  'row says so, permanently); or "unknown" (it has no row). is_pending: a later commit may still '
  'use the path. stored_at is null for the content of an artifact.';
