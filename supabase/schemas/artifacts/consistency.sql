-- What `deno task fsck` shows: where the rows and the bucket contradict each other, which only a
-- restore of one without the other, or a hand in the bucket, can bring about. What the sweep has
-- yet to remove is no contradiction.

create function public.list_artifacts_without_bytes(max_entries integer, after text default '') returns json
language sql
stable
security invoker
set search_path = ''
as $$
  with examined as (
    select a.artifact_id, artifacts.sealed_path(a.artifact_id, a.sealed_attempt) as path,
      a.state in ('committed', 'superseded') and a.ended_at is null
      and not artifacts.has_object(artifacts.sealed_path(a.artifact_id, a.sealed_attempt))
        as is_without_bytes
    from artifacts.artifacts a
    where a.artifact_id > list_artifacts_without_bytes.after
    order by a.artifact_id
    limit list_artifacts_without_bytes.max_entries
  )
  select json_build_object(
    'found', coalesce(
      json_agg(json_build_object('artifact_id', e.artifact_id, 'path', e.path) order by e.artifact_id)
        filter (where e.is_without_bytes),
      '[]'
    ),
    'next', case when count(*) = list_artifacts_without_bytes.max_entries then max(e.artifact_id) end
  )
  from examined e
$$;
comment on function public.list_artifacts_without_bytes(integer, text) is
  'Committed artifacts whose object is gone, among the max_entries artifacts after the given id: '
  '{found: [{artifact_id, path}], next: where the next page begins | null}.';

create function public.list_objects_without_artifact(max_entries integer, after text default '') returns json
language sql
stable
security invoker
set search_path = ''
as $$
  with unknown as (
    select j.object_name collate "C" as path
    from artifacts.judge_objects() j
    where j.standing = 'unknown' and j.object_name collate "C" > list_objects_without_artifact.after
    order by 1
    limit list_objects_without_artifact.max_entries
  )
  select json_build_object(
    'found', coalesce(json_agg(json_build_object('path', u.path) order by u.path), '[]'),
    'next', case when count(*) = list_objects_without_artifact.max_entries then max(u.path) end
  )
  from unknown u
$$;
comment on function public.list_objects_without_artifact(integer, text) is
  'The first max_entries objects after the given path that no row accounts for, whatever their '
  'age: {found: [{path}], next: where the next page begins | null}.';
