-- What `deno task fsck` shows: where the rows and the bucket contradict each other, which only a restore of one
-- without the other, or a hand in the bucket, can bring about. What the sweep has yet to remove is no contradiction.

create function public.list_artifacts_without_bytes(max_entries integer, after_artifact_id text default '')
returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select coalesce(
    json_agg(json_build_object('artifact_id', f.artifact_id, 'path', f.sealed_path) order by f.artifact_id), '[]'
  )
  from (
    select a.artifact_id, a.sealed_path
    from artifacts.artifacts a
    where a.state in ('committed', 'superseded')
      and a.ended_at is null
      and a.artifact_id > list_artifacts_without_bytes.after_artifact_id
      and not exists (
        select from storage.objects o where o.bucket_id = 'agent-artifacts' and o.name = a.sealed_path
      )
    order by a.artifact_id
    limit list_artifacts_without_bytes.max_entries
  ) f
$$;
comment on function public.list_artifacts_without_bytes(integer, text) is
  'Committed artifacts whose object is gone: [{artifact_id, path}], in order of artifact_id, after the given one.';

create function public.list_objects_without_artifact(max_entries integer, after_path text default '')
returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select coalesce(json_agg(json_build_object('path', f.object_name) order by f.object_name collate "C"), '[]')
  from (
    select j.object_name
    from artifacts.judge_objects() j
    where j.standing = 'unknown' and j.object_name collate "C" > list_objects_without_artifact.after_path
    order by j.object_name collate "C"
    limit list_objects_without_artifact.max_entries
  ) f
$$;
comment on function public.list_objects_without_artifact(integer, text) is
  'Objects that no row accounts for, whatever their age: [{path}], in byte order of path, after the given one.';

revoke all on function
  public.list_artifacts_without_bytes(integer, text),
  public.list_objects_without_artifact(integer, text)
from public, anon, authenticated;

grant execute on function
  public.list_artifacts_without_bytes(integer, text),
  public.list_objects_without_artifact(integer, text)
to service_role;
