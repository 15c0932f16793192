-- Made of supabase/schemas/artifacts/consistency.sql by `deno task schema:squash`.

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
  with judged as (
    select j.object_name, j.standing
    from artifacts.judge_objects(
      list_objects_without_artifact.after, U&'\+10FFFF', list_objects_without_artifact.max_entries
    ) j
  )
  select json_build_object(
    'found', coalesce(
      json_agg(json_build_object('path', j.object_name) order by j.object_name)
        filter (where j.standing = 'unknown'),
      '[]'
    ),
    'next', case when count(*) = list_objects_without_artifact.max_entries then max(j.object_name) end
  )
  from judged j
$$;
comment on function public.list_objects_without_artifact(integer, text) is
  'The objects that no row accounts for, whatever their age, among the max_entries objects after '
  'the given path: {found: [{path}], next: where the next page begins | null}.';

create function public.list_wrong_totals(max_entries integer, after text default '') returns json
language sql
stable
security invoker
set search_path = ''
as $$
  with examined as (
    select t.agent_id, to_jsonb(t) as kept, to_jsonb(c) as counted
    from artifacts.totals t
    cross join lateral artifacts.count_totals(t.agent_id) c
    where t.agent_id > list_wrong_totals.after
    order by t.agent_id
    limit list_wrong_totals.max_entries
  )
  select json_build_object(
    'found', coalesce(
      json_agg(
        json_build_object('agent_id', e.agent_id, 'kept', e.kept, 'counted', e.counted)
        order by e.agent_id
      ) filter (where e.kept <> e.counted),
      '[]'
    ),
    'next', case when count(*) = list_wrong_totals.max_entries then max(e.agent_id) end
  )
  from examined e
$$;
comment on function public.list_wrong_totals(integer, text) is
  'Agents whose totals are not what their rows come to, among the max_entries agents after the '
  'given one: {found: [{agent_id, kept, counted}], next: where the next page begins | null}.';
