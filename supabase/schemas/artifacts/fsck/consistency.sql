-- What `agentops fsck` shows: contradictions between the rows and the bucket. Only restoring one
-- without the other, or editing the bucket by hand, can cause them. What the sweep has not removed
-- yet is not a contradiction.

create function public.agent_api_list_artifacts_without_bytes(
  max_entries integer,
  after text default ''
) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  with examined as (
    select a.artifact_id, artifacts.sealed_path(a.artifact_id, a.sealed_attempt) as path,
      -- While sealed_attempt is null, there are no bytes yet.
      a.sealed_attempt is not null and a.ended_at is null as holds_bytes
    from artifacts.artifacts a
    where a.artifact_id > agent_api_list_artifacts_without_bytes.after
    order by a.artifact_id
    limit agent_api_list_artifacts_without_bytes.max_entries
  )
  select json_build_object(
    'found', coalesce(
      json_agg(json_build_object('artifact_id', e.artifact_id, 'path', e.path) order by e.artifact_id)
        filter (where e.holds_bytes and o.is_there is null and a.state <> 'deleted'),
      '[]'
    ),
    'next',
    case when count(*) = agent_api_list_artifacts_without_bytes.max_entries then max(e.artifact_id) end
  )
  from examined e
  -- One index lookup per object.
  left join lateral (
    select true as is_there
    from artifacts.current_objects o
    where o.name collate "C" = e.path
    limit 1
  ) o on e.holds_bytes
  -- The state is not in the index, so the row is read only if the object is missing.
  left join lateral (
    select i.state
    from artifacts.artifacts i
    where e.holds_bytes and o.is_there is null and i.artifact_id = e.artifact_id
    limit 1
  ) a on true
$$;
comment on function public.agent_api_list_artifacts_without_bytes(integer, text) is
  'Committed artifacts whose object is gone, among the max_entries artifacts after the given id: '
  '{found: [{artifact_id, path}], next: where the next page begins | null}.';

create function public.agent_api_list_objects_without_artifact(
  max_entries integer,
  after text default ''
) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  with judged as (
    select j.object_name, j.standing
    from artifacts.judge_objects(
      agent_api_list_objects_without_artifact.after, U&'\+10FFFF',
      agent_api_list_objects_without_artifact.max_entries
    ) j
  )
  select json_build_object(
    'found', coalesce(
      json_agg(json_build_object('path', j.object_name) order by j.object_name)
        filter (where j.standing = 'unknown'),
      '[]'
    ),
    'next',
    case when count(*) = agent_api_list_objects_without_artifact.max_entries then max(j.object_name) end
  )
  from judged j
$$;
comment on function public.agent_api_list_objects_without_artifact(integer, text) is
  'The objects without a row, whatever their age, among the max_entries objects after the given '
  'path: {found: [{path}], next: where the next page begins | null}.';

create function public.agent_api_count_archived_versions(
  max_entries integer,
  after text default ''
) returns json
language plpgsql
stable
security invoker
set search_path = ''
-- As in artifacts.current_names.
set enable_sort = off
as $$
begin
  return (
    with examined as (
      select v.name, v.metadata,
        v.archived_at is not null and v.is_delete_marker is not true as is_archived
      from artifacts.object_versions() v
      where v.name collate "C" > agent_api_count_archived_versions.after
      order by v.name collate "C"
      -- All versions of one name are on one page.
      fetch first agent_api_count_archived_versions.max_entries rows with ties
    )
    select json_build_object(
      'found', json_build_array(json_build_object(
        'versions', count(*) filter (where e.is_archived),
        'bytes', coalesce(sum((e.metadata ->> 'size')::bigint) filter (where e.is_archived), 0),
        'versioning', artifacts.versioning_status()
      )),
      'next', case
        when count(*) >= agent_api_count_archived_versions.max_entries then max(e.name collate "C")
      end
    )
    from examined e
  );
end
$$;
comment on function public.agent_api_count_archived_versions(integer, text) is
  'How many older versions of objects Storage keeps, whose bytes no other function sees, among the '
  'max_entries rows after the given path: {found: [{versions, bytes, versioning: DISABLED, ENABLED, '
  'SUSPENDED or null if the bucket is missing}], next: where the next page begins | null}.';

-- The totals of agents. The caller adds up each agent's rows, over the pages of all artifacts and
-- of all grants: one agent may have more rows than one call can read.

create function public.agent_api_list_shares_of_artifacts(
  max_entries integer,
  after text default ''
) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  with examined as (
    select a.artifact_id, artifacts.share_in_totals(a, 1) as share
    from artifacts.artifacts a
    where a.artifact_id > agent_api_list_shares_of_artifacts.after
    order by a.artifact_id
    limit agent_api_list_shares_of_artifacts.max_entries
  )
  select json_build_object(
    'found', coalesce(json_agg(e.share), '[]'),
    'next',
    case when count(*) = agent_api_list_shares_of_artifacts.max_entries then max(e.artifact_id) end
  )
  from examined e
$$;
comment on function public.agent_api_list_shares_of_artifacts(integer, text) is
  'What each of the max_entries artifacts after the given id adds to its agent''s totals: {found: '
  '[{agent_id, pending, …}], next: where the next page begins | null}.';

create function public.agent_api_list_shares_of_grants(
  max_entries integer,
  after text default ''
) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  with examined as (
    select g.grant_id, g.from_agent
    from artifacts.grants g
    where g.grant_id > agent_api_list_shares_of_grants.after
    order by g.grant_id
    limit agent_api_list_shares_of_grants.max_entries
  )
  select json_build_object(
    'found', coalesce(json_agg(json_build_object('agent_id', e.from_agent, 'grants', 1)), '[]'),
    'next', case when count(*) = agent_api_list_shares_of_grants.max_entries then max(e.grant_id) end
  )
  from examined e
$$;
comment on function public.agent_api_list_shares_of_grants(integer, text) is
  'Like agent_api_list_shares_of_artifacts, for the max_entries grants after the given id.';

create function public.agent_api_list_totals(
  max_entries integer,
  after text default ''
) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  with examined as (
    select t.agent_id, artifacts.kept_share(t) as share
    from artifacts.totals t
    where t.agent_id > agent_api_list_totals.after
    order by t.agent_id
    limit agent_api_list_totals.max_entries
  )
  select json_build_object(
    'found', coalesce(json_agg(e.share order by e.agent_id), '[]'),
    'next', case when count(*) = agent_api_list_totals.max_entries then max(e.agent_id) end
  )
  from examined e
$$;
comment on function public.agent_api_list_totals(integer, text) is
  'The stored totals of the max_entries agents after the given one: {found: [{agent_id, pending, '
  '…}], next: where the next page begins | null}.';

create function public.agent_api_list_wrong_totals(agent_ids text[]) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  with examined as (
    select named.agent_id, to_jsonb(artifacts.kept_share(t)) as kept, to_jsonb(c) as counted
    from unnest(agent_api_list_wrong_totals.agent_ids) as named (agent_id)
    left join artifacts.totals t on t.agent_id = named.agent_id
    cross join lateral artifacts.count_totals(named.agent_id) c
  )
  select coalesce(
    json_agg(json_build_object('agent_id', e.agent_id, 'kept', e.kept, 'counted', e.counted))
      filter (where e.kept is distinct from e.counted),
    '[]'
  )
  from examined e
$$;
comment on function public.agent_api_list_wrong_totals(text[]) is
  'Those of these agents whose totals differ from the sum of their rows in one snapshot: '
  '[{agent_id, kept | null, counted}]. It reads all of their rows. Use it for agents whose sum '
  'over pages seems wrong: changes between pages are counted twice or not at all.';
