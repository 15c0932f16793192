-- For the operator: whether the peers that see each other also reach each other.

create function mesh.describe_side(
  agent_id text, other_agent text, online_seconds integer, rendering_revision integer
) returns jsonb
language sql
stable
set search_path = ''
as $$
  select jsonb_build_object(
    'agent_id', p.agent_id,
    'online', mesh.is_online(l, describe_side.online_seconds),
    'lags', mesh.lags(l, v.version, describe_side.rendering_revision),
    'endpoints', to_jsonb(mesh.endpoints_of(p)),
    'problem', mesh.problem_json(l),
    'report', (
      select mesh.path_json(r, mesh.time_of_report(r.left_out_at, l, describe_side.online_seconds))
      from mesh.path_reports r
      where r.agent_id = p.agent_id and r.other_agent = describe_side.other_agent
      limit 1
    )
  )
  -- One lookup in each index.
  from (select p.* from mesh.peers p where p.agent_id = describe_side.agent_id limit 1) p
  cross join lateral (select * from mesh.liveness l where l.agent_id = p.agent_id limit 1) l
  cross join lateral (
    select v.version from mesh.config_versions v where v.agent_id = p.agent_id limit 1
  ) v
$$;
comment on function mesh.describe_side(text, text, integer, integer) is
  'One side of a pair, in the form of agent_api_list_paths; null without a peer.';

create function public.agent_api_list_paths(
  max_entries integer,
  after text default '',
  agent_id text default null,
  online_seconds integer default 90,
  rendering_revision integer default 0
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  after_low constant text collate "C" := split_part(agent_api_list_paths.after, ' ', 1);
  after_high constant text collate "C" := split_part(agent_api_list_paths.after, ' ', 2);
  low_agents text[];
  high_agents text[];
begin
  if agent_api_list_paths.agent_id is null then
    select coalesce(array_agg(n.low_agent::text order by n.low_agent, n.high_agent), '{}'),
      coalesce(array_agg(n.high_agent::text order by n.low_agent, n.high_agent), '{}')
    into low_agents, high_agents
    from (
      select p.low_agent, p.high_agent
      from mesh.pairs p
      where (p.low_agent, p.high_agent) > (after_low, after_high)
      order by p.low_agent, p.high_agent
      limit agent_api_list_paths.max_entries
    ) n;
  else
    select coalesce(array_agg(n.low_agent order by n.low_agent, n.high_agent), '{}'),
      coalesce(array_agg(n.high_agent order by n.low_agent, n.high_agent), '{}')
    into low_agents, high_agents
    from (
      select p.low_agent, p.high_agent
      from unnest(mesh.neighbours(agent_api_list_paths.agent_id)) as o (agent_id)
      cross join lateral (
        select least(o.agent_id collate "C", agent_api_list_paths.agent_id collate "C") as low_agent,
          greatest(o.agent_id collate "C", agent_api_list_paths.agent_id collate "C") as high_agent
      ) p
      where (p.low_agent, p.high_agent) > (after_low, after_high)
      order by p.low_agent, p.high_agent
      limit agent_api_list_paths.max_entries
    ) n;
  end if;
  return json_build_object(
    'found', (
      select coalesce(json_agg(jsonb_build_array(s.low, s.high) order by n.number), '[]')
      from unnest(low_agents, high_agents) with ordinality as n (low_agent, high_agent, number)
      cross join lateral (
        select mesh.describe_side(
            n.low_agent, n.high_agent, agent_api_list_paths.online_seconds,
            agent_api_list_paths.rendering_revision
          ) as low,
          mesh.describe_side(
            n.high_agent, n.low_agent, agent_api_list_paths.online_seconds,
            agent_api_list_paths.rendering_revision
          ) as high
        where mesh.see_each_other(n.low_agent, n.high_agent)
      ) s
      -- A neighbour may have no peer.
      where s.low is not null and s.high is not null
    ),
    'next', case
      when cardinality(low_agents) = agent_api_list_paths.max_entries
        then low_agents[agent_api_list_paths.max_entries] || ' ' || high_agents[agent_api_list_paths.max_entries]
    end
  );
end
$$;
comment on function public.agent_api_list_paths(integer, text, text, integer, integer) is
  'The pairs of peers that share an active rule, and what both report about the path between them, '
  'in byte order: {found: [[side, side]], next: where the next page begins | null}. A side is '
  '{agent_id, online, lags | null, endpoints, problem and report: as in agent_api_read_netmap, or '
  'null}. '
  'agent_id: its pairs only. A page may be short or empty before the last.';

create function public.agent_api_read_mesh_pair(
  from_agent text,
  to_agent text,
  port integer,
  proto text default 'tcp',
  online_seconds integer default 90,
  rendering_revision integer default 0
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  wanted constant text[] := array[agent_api_read_mesh_pair.from_agent, agent_api_read_mesh_pair.to_agent];
  sides jsonb[];
begin
  sides := array(
    select mesh.describe_side(
        w.agent_id, w.other_agent, agent_api_read_mesh_pair.online_seconds,
        agent_api_read_mesh_pair.rendering_revision
      ) || (
        select jsonb_build_object('last_seen', agents.iso_timestamp(l.last_seen))
        from mesh.liveness l
        where l.agent_id = w.agent_id
        limit 1
      )
    from (values (1, wanted[1], wanted[2]), (2, wanted[2], wanted[1])) w (number, agent_id, other_agent)
    order by w.number
  );
  return json_build_object(
    'from', sides[1],
    'to', sides[2],
    'rule', (
      select json_build_object(
        'active', r.active, 'waiting_for', mesh.waiting_for(r), 'origin', r.origin
      )
      from mesh.rules r
      where r.from_agent = wanted[1] and r.to_agent = wanted[2]
        and r.proto = agent_api_read_mesh_pair.proto and r.port = agent_api_read_mesh_pair.port
    ),
    'other_ports', array(
      select o.port || '/' || o.proto
      from (
        select r.port, r.proto
        from mesh.rules r
        where r.from_agent = wanted[1] and r.to_agent = wanted[2] and r.active
          and (r.proto, r.port) <> (agent_api_read_mesh_pair.proto, agent_api_read_mesh_pair.port)
        order by r.from_agent, r.to_agent, r.proto, r.port
        limit 10
      ) o
    )
  );
end
$$;
comment on function public.agent_api_read_mesh_pair(text, text, integer, text, integer, integer) is
  'What decides whether one agent reaches a port of another: {from, to: as a side in '
  'agent_api_list_paths, and last_seen | null; null without a peer, rule: {active, waiting_for | '
  'null, origin} | null, other_ports: ["443/tcp"], at most ten that it may reach}.';
