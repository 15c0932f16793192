-- Artifacts whose bytes Storage has lost. `agentops fsck --bytes` asks Storage, because the rows
-- of storage.objects stay when their bytes are lost.

create function artifacts.holds_bytes(artifact artifacts.artifacts) returns boolean
language sql
immutable
return artifact.sealed_attempt is not null and artifact.ended_at is null and artifact.state <> 'deleted';
comment on function artifacts.holds_bytes(artifacts.artifacts) is
  'Whether the bucket should have this artifact''s bytes.';

create function public.agent_api_list_sealed_artifacts(
  max_entries integer,
  after text default ''
) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  with examined as (
    select a as artifact, a.artifact_id
    from artifacts.artifacts a
    where a.artifact_id > agent_api_list_sealed_artifacts.after
    order by a.artifact_id
    limit agent_api_list_sealed_artifacts.max_entries
  )
  select json_build_object(
    'found', coalesce(
      json_agg(
        json_build_object(
          'artifact_id', e.artifact_id,
          'path', artifacts.sealed_path(e.artifact_id, (e.artifact).sealed_attempt),
          'size', (e.artifact).size_bytes,
          'sha256', (e.artifact).sha256,
          'is_lost', (e.artifact).lost_at is not null
        )
        order by e.artifact_id
      ) filter (where artifacts.holds_bytes(e.artifact)),
      '[]'
    ),
    'next', case when count(*) = agent_api_list_sealed_artifacts.max_entries then max(e.artifact_id) end
  )
  from examined e
$$;
comment on function public.agent_api_list_sealed_artifacts(integer, text) is
  'The artifacts whose bytes the bucket should have, among the max_entries artifacts after the '
  'given id: {found: [{artifact_id, path, size, sha256, is_lost}], next: where the next page '
  'begins | null}.';

create function public.agent_api_mark_lost_artifacts(
  lost_paths text[],
  found_paths text[]
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  verdict record;
  marked text[] := array[]::text[];
  unmarked text[] := array[]::text[];
begin
  perform artifacts.lock_sweep();
  for verdict in
    with judged as (
      select p.path, true as is_lost from unnest(agent_api_mark_lost_artifacts.lost_paths) as p (path)
      union all
      select p.path, false from unnest(agent_api_mark_lost_artifacts.found_paths) as p (path)
    )
    update artifacts.artifacts a
    set lost_at = case when j.is_lost then clock_timestamp() end
    from judged j
    where a.artifact_id = split_part(j.path, '/', 2)
      and artifacts.sealed_path(a.artifact_id, a.sealed_attempt) = j.path
      and artifacts.holds_bytes(a)
      and (a.lost_at is not null) <> j.is_lost
    returning a.artifact_id, a.agent_id, a.key, j.is_lost
  loop
    perform agents.record_event(
      '{"kind": "operator"}', null,
      case when verdict.is_lost then 'artifact.lost' else 'artifact.recovered' end,
      verdict.agent_id, verdict.artifact_id,
      jsonb_build_object('key', verdict.key)
    );
    if verdict.is_lost then
      marked := marked || verdict.artifact_id;
    else
      unmarked := unmarked || verdict.artifact_id;
    end if;
  end loop;
  return json_build_object('lost', marked, 'recovered', unmarked);
end
$$;
comment on function public.agent_api_mark_lost_artifacts(text[], text[]) is
  'Marks the artifacts at lost_paths as lost, and removes the mark from those at found_paths, '
  'which have their bytes again. An event tells the owner of each: artifact.lost or '
  'artifact.recovered. Returns {lost, recovered}: the artifact_ids whose mark changed.';

create function public.agent_api_repair_totals(agent_ids text[]) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  repaired_agent text;
  kept artifacts.totals;
  counted artifacts.share;
  repaired text[] := array[]::text[];
begin
  perform artifacts.lock_sweep();
  for repaired_agent in
    select distinct named.agent_id collate "C" as agent_id
    from unnest(agent_api_repair_totals.agent_ids) as named (agent_id)
    order by 1
  loop
    insert into artifacts.totals (agent_id) values (repaired_agent) on conflict do nothing;
    perform artifacts.count_for_enrolment(repaired_agent);
    -- Any other transaction that changes this agent's artifacts waits for this lock before it
    -- commits. So the next statement counts exactly the rows that the totals include.
    select t.* into kept from artifacts.totals t where t.agent_id = repaired_agent for update;
    counted := artifacts.count_totals(repaired_agent);
    continue when artifacts.kept_share(kept) is not distinct from counted;
    update artifacts.totals t
    set pending = counted.pending,
        committed = counted.committed,
        superseded = counted.superseded,
        pending_bytes = counted.pending_bytes,
        committed_bytes = counted.committed_bytes,
        superseded_bytes = counted.superseded_bytes,
        grants = counted.grants,
        surplus_bytes = counted.surplus_bytes
    where t.agent_id = repaired_agent;
    repaired := repaired || repaired_agent;
  end loop;
  return json_build_object('repaired', repaired);
end
$$;
comment on function public.agent_api_repair_totals(text[]) is
  'Sets the totals of these agents to the sum of their rows. Returns {repaired}: those whose '
  'totals were wrong. Call agent_api_repair_project_totals afterwards.';

create function artifacts.missing_in_project_totals() returns artifacts.share
language sql
stable
set search_path = ''
as $$
  select null::agents.agent_id, coalesce(sum(s.pending), 0)::bigint,
    coalesce(sum(s.committed), 0)::bigint, coalesce(sum(s.superseded), 0)::bigint,
    coalesce(sum(s.pending_bytes), 0)::bigint, coalesce(sum(s.committed_bytes), 0)::bigint,
    coalesce(sum(s.superseded_bytes), 0)::bigint, coalesce(sum(s.grants), 0)::bigint,
    coalesce(sum(s.surplus_bytes), 0)::bigint
  from (
    select t.pending, t.committed, t.superseded, t.pending_bytes, t.committed_bytes,
      t.superseded_bytes, t.grants, t.surplus_bytes
    from artifacts.totals t
    union all
    select -p.pending, -p.committed, -p.superseded, -p.pending_bytes, -p.committed_bytes,
      -p.superseded_bytes, -p.grants, -p.surplus_bytes
    from artifacts.project_totals p
  ) s
$$;
comment on function artifacts.missing_in_project_totals() is
  'The sum over all agents minus the totals of the project. It reads one row per agent: for fsck.';

create function artifacts.missing_in_enrolment_totals()
returns table (enrolment_id text, bytes bigint)
language sql
stable
set search_path = ''
as $$
  select s.enrolment_id, sum(s.bytes)::bigint
  from (
    select t.enrolment_id,
      t.pending_bytes + t.committed_bytes + t.superseded_bytes + t.surplus_bytes as bytes
    from artifacts.totals t
    where t.enrolment_id <> ''
    union all
    select e.enrolment_id, -e.bytes from artifacts.enrolment_totals e
  ) s
  group by s.enrolment_id
  having sum(s.bytes) <> 0
$$;
comment on function artifacts.missing_in_enrolment_totals() is
  'The sum over the agents of each enrolment minus its total, where they differ. It reads one row '
  'per agent: for fsck.';

create function public.agent_api_check_project_totals() returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select coalesce(json_object_agg(d.name, d.number) filter (where d.number <> '0'), '{}')
  from (
    select j.key as name, j.value as number
    from jsonb_each(to_jsonb(artifacts.missing_in_project_totals()) - 'agent_id') j
    union all
    select 'bytes of ' || m.enrolment_id, to_jsonb(m.bytes)
    from artifacts.missing_in_enrolment_totals() m
  ) d
$$;
comment on function public.agent_api_check_project_totals() is
  'The sum over all agents minus the totals of the project, by name and without zeros, and the same '
  'for the bytes of each enrolment; {} if they agree.';

create function public.agent_api_repair_project_totals() returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  missing artifacts.share;
begin
  perform artifacts.lock_sweep();
  -- The same order of locks as in every other transaction. These locks do not block reads.
  lock table artifacts.totals in share row exclusive mode;
  lock table artifacts.enrolment_totals in share row exclusive mode;
  lock table artifacts.project_totals in share row exclusive mode;
  perform artifacts.add_to_enrolment_totals(m.enrolment_id, m.bytes)
  from artifacts.missing_in_enrolment_totals() m;
  missing := artifacts.missing_in_project_totals();
  insert into artifacts.project_totals as p (
    shard, pending, committed, superseded, pending_bytes, committed_bytes, superseded_bytes, grants,
    surplus_bytes
  )
  values (
    artifacts.shard(), missing.pending, missing.committed, missing.superseded, missing.pending_bytes,
    missing.committed_bytes, missing.superseded_bytes, missing.grants, missing.surplus_bytes
  )
  on conflict on constraint project_totals_pkey do update
  set pending = p.pending + excluded.pending,
      committed = p.committed + excluded.committed,
      superseded = p.superseded + excluded.superseded,
      pending_bytes = p.pending_bytes + excluded.pending_bytes,
      committed_bytes = p.committed_bytes + excluded.committed_bytes,
      superseded_bytes = p.superseded_bytes + excluded.superseded_bytes,
      grants = p.grants + excluded.grants,
      surplus_bytes = p.surplus_bytes + excluded.surplus_bytes;
  return '{}'::json;
end
$$;
comment on function public.agent_api_repair_project_totals() is
  'Sets the totals of the project, and of each enrolment, to the sum over all agents. Returns {}.';
