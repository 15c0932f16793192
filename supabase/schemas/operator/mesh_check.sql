-- Faults in the mesh, which `agentops mesh check` prints.

create function mesh.find_faults(
  agent_id text,
  version bigint,
  online_seconds integer,
  rendering_revision integer
) returns setof jsonb
language plpgsql
stable
set search_path = ''
as $$
declare
  peer mesh.peers;
  liveness mesh.liveness;
  other text;
  origin text;
begin
  select p.* into peer from mesh.peers p where p.agent_id = find_faults.agent_id;
  if not found then
    -- One active rule is enough to show that another agent waits for this peer.
    select r.other, r.origin into other, origin
    from (
      (
        select r.to_agent, r.origin from mesh.rules r
        where r.active and r.from_agent = find_faults.agent_id
        order by r.from_agent, r.to_agent
        limit 1
      )
      union all
      (
        select r.from_agent, r.origin from mesh.rules r
        where r.active and r.to_agent = find_faults.agent_id
        order by r.to_agent, r.from_agent
        limit 1
      )
    ) r (other, origin)
    limit 1;
    if found then
      return next jsonb_build_object(
        'fault', 'rule_without_peer', 'other_agent_id', other, 'origin', origin
      );
    end if;
    return;
  end if;

  select l.* into liveness from mesh.liveness l where l.agent_id = find_faults.agent_id;
  if liveness.last_seen is null then
    return next jsonb_build_object(
      'fault', 'never_seen', 'registered_at', agents.iso_timestamp(peer.registered_at)
    );
  elsif liveness.problem is not null then
    -- Whatever else such a host lacks, the problem is the reason.
    return next jsonb_build_object(
      'fault', liveness.problem,
      'network', liveness.problem_network,
      'last_seen', agents.iso_timestamp(liveness.last_seen)
    );
  elsif mesh.lags(liveness, find_faults.version, find_faults.rendering_revision) then
    return next jsonb_build_object(
      'fault', case
        when mesh.is_online(liveness, find_faults.online_seconds) then 'version_lags'
        else 'offline_lags'
      end,
      'config_version', find_faults.version + find_faults.rendering_revision,
      'config_version_applied', liveness.config_version_applied,
      'last_seen', agents.iso_timestamp(liveness.last_seen)
    );
  end if;

  select p.agent_id into other
  from mesh.peers p
  where p.endpoint = peer.endpoint and p.agent_id < peer.agent_id
  order by p.endpoint, p.agent_id
  limit 1;
  if found then
    return next jsonb_build_object(
      'fault', 'endpoint_shared', 'endpoint', peer.endpoint, 'other_agent_id', other
    );
  end if;
end
$$;
comment on function mesh.find_faults(text, bigint, integer, integer) is
  'The faults of one agent in the mesh, in the form of agent_api_check_mesh. version is the one in '
  'mesh.config_versions.';

create function public.agent_api_check_mesh(
  max_entries integer,
  after text default '',
  rendering_revision integer default 0,
  online_seconds integer default 90
) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  with examined as (
    select v.agent_id, v.version
    from mesh.config_versions v
    where v.agent_id > agent_api_check_mesh.after
    order by v.agent_id
    limit agent_api_check_mesh.max_entries
  )
  select json_build_object(
    'found', (
      select coalesce(
        json_agg(jsonb_build_object('agent_id', e.agent_id) || f.fault order by e.agent_id, f.number), '[]'
      )
      from examined e
      cross join lateral mesh.find_faults(
        e.agent_id, e.version, agent_api_check_mesh.online_seconds,
        agent_api_check_mesh.rendering_revision
      ) with ordinality as f (fault, number)
    ),
    'next', (
      select case when count(*) = agent_api_check_mesh.max_entries then max(e.agent_id) end from examined e
    )
  )
$$;
comment on function public.agent_api_check_mesh(integer, text, integer, integer) is
  'The faults of the max_entries agents of the mesh after the given one: {found: [{agent_id, '
  'fault, …}], next: where the next page begins | null}. fault is never_seen (registered_at; the '
  'peer never came up), version_lags (config_version, config_version_applied, last_seen; the peer '
  'is online, and agent_api_read_mesh_metrics counts it), offline_lags (the same for an offline '
  'peer), network_taken (network | null, last_seen; the host has no tunnel, because this network of '
  'its own has addresses of the mesh), rule_without_peer (other_agent_id, origin; an active rule, of the agents or of the '
  'policy, names the agent, and it has no peer), or endpoint_shared (endpoint, other_agent_id; '
  'another peer has the same endpoint).';
