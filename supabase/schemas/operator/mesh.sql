-- The mesh as the operator sees it: every peer and every rule.

create function mesh.rule_counts_of(agent_id text, out active_rules bigint, out requests bigint)
language sql
stable
set search_path = ''
-- The planner expects few rules per agent, and would otherwise read and sort all of them.
set enable_bitmapscan = off
set enable_sort = off
as $$
  select count(*) filter (where r.active), count(*) filter (where not r.active)
  from (
    (
      select r.active from mesh.rules r
      where r.from_agent = rule_counts_of.agent_id
      order by r.from_agent, r.to_agent, r.proto, r.port
      limit 1000
    )
    union all
    (
      select r.active from mesh.rules r
      where r.to_agent = rule_counts_of.agent_id
      order by r.to_agent, r.from_agent, r.proto, r.port
      limit 1000
    )
  ) r
$$;
comment on function mesh.rule_counts_of(text) is
  'How many active rules name an agent, and how many requests do. Counts the first thousand from '
  'the agent and the first thousand to it.';

create function mesh.describe_peers(agent_ids text[], online_seconds integer, rendering_revision integer)
returns table (agent_id text, described jsonb)
language sql
stable
set search_path = ''
as $$
  select p.agent_id, jsonb_build_object(
    'agent_id', p.agent_id,
    'pubkey', p.pubkey,
    'endpoint', p.endpoint,
    'addresses', jsonb_build_array(host(a.ipv4), host(a.ipv6)),
    'registered_at', agents.iso_timestamp(p.registered_at),
    'last_seen', agents.iso_timestamp(l.last_seen),
    'online', mesh.is_online(l, describe_peers.online_seconds),
    'config_version', v.version + describe_peers.rendering_revision,
    'config_version_applied', l.config_version_applied,
    'lags', mesh.lags(l, v.version, describe_peers.rendering_revision),
    'active_rules', c.active_rules,
    'requests', c.requests
  )
  from unnest(describe_peers.agent_ids) as named (agent_id)
  -- One lookup in each index per peer.
  cross join lateral (select * from mesh.peers p where p.agent_id = named.agent_id limit 1) p
  cross join lateral (
    select a.ipv4, a.ipv6 from mesh.address_leases a where a.agent_id = p.agent_id limit 1
  ) a
  cross join lateral (select * from mesh.liveness l where l.agent_id = p.agent_id limit 1) l
  cross join lateral (
    select v.version from mesh.config_versions v where v.agent_id = p.agent_id limit 1
  ) v
  cross join lateral mesh.rule_counts_of(p.agent_id) c
$$;
comment on function mesh.describe_peers(text[], integer, integer) is
  'The peers of those agents that have one, in the form of agent_api_list_peers.';

create function public.agent_api_list_peers(
  max_entries integer,
  after text default '',
  agent_id text default null,
  online_seconds integer default 90,
  rendering_revision integer default 0,
  tag text default null
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  names text[];
begin
  if agent_api_list_peers.tag is not null then
    -- A page of agents with the tag. Perhaps few of them have a peer, so the page may be short.
    names := array(
      select t.agent_id
      from agents.agent_tags t
      where t.tag = agent_api_list_peers.tag and t.agent_id > agent_api_list_peers.after
      order by t.agent_id
      limit agent_api_list_peers.max_entries
    );
  elsif agent_api_list_peers.agent_id is null then
    names := array(
      select p.agent_id
      from mesh.peers p
      where p.agent_id > agent_api_list_peers.after
      order by p.agent_id
      limit agent_api_list_peers.max_entries
    );
  else
    -- A neighbour may have no peer.
    names := array(
      select n.agent_id
      from unnest(mesh.with_neighbours(agent_api_list_peers.agent_id)) as n (agent_id)
      where n.agent_id collate "C" > agent_api_list_peers.after
      order by n.agent_id collate "C"
      limit agent_api_list_peers.max_entries
    );
  end if;
  return json_build_object(
    'found', (
      select coalesce(json_agg(d.described order by d.agent_id collate "C"), '[]')
      from mesh.describe_peers(names, agent_api_list_peers.online_seconds, agent_api_list_peers.rendering_revision) d
    ),
    'next',
    case when cardinality(names) = agent_api_list_peers.max_entries then names[cardinality(names)] end
  );
end
$$;
comment on function public.agent_api_list_peers(integer, text, text, integer, integer, text) is
  'The peers after the given agent, in byte order: {found: [{agent_id, pubkey, endpoint | null, '
  'addresses, registered_at, last_seen | null, online, config_version, config_version_applied | '
  'null, lags | null, active_rules, requests}], next: where the next page begins | null}. '
  'config_version is the current one; lags is null if the peer never reported what it runs. '
  'agent_id: this agent and those that share an active rule with it. tag: only peers whose agents '
  'have it; a page may be short or empty before the last. rendering_revision is that of the '
  'functions, as in agent_api_read_netmap. Rules are counted up to a thousand per side.';

create function mesh.rule_position(rule mesh.rules) returns text
language sql
stable
return rule.from_agent || ' ' || rule.to_agent || ' ' || rule.proto || ' ' || rule.port;
comment on function mesh.rule_position(mesh.rules) is 'Where the page after this rule begins.';

create function public.agent_api_list_mesh_rules(
  max_entries integer,
  after text default '',
  agent_id text default null
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  after_from constant text collate "C" := split_part(agent_api_list_mesh_rules.after, ' ', 1);
  after_to constant text collate "C" := split_part(agent_api_list_mesh_rules.after, ' ', 2);
  after_proto constant text collate "C" := split_part(agent_api_list_mesh_rules.after, ' ', 3);
  after_port constant integer := coalesce(nullif(split_part(agent_api_list_mesh_rules.after, ' ', 4), ''), '0')::integer;
  subject constant text collate "C" := agent_api_list_mesh_rules.agent_id;
  page mesh.rules[];
begin
  if subject is null then
    page := array(
      select r
      from mesh.rules r
      where (r.from_agent, r.to_agent, r.proto, r.port) > (after_from, after_to, after_proto, after_port)
      order by r.from_agent, r.to_agent, r.proto, r.port
      limit agent_api_list_mesh_rules.max_entries
    );
  else
    page := array(
      select r
      from (
        (
          select r
          from mesh.rules r
          where r.from_agent = subject
            and (r.from_agent, r.to_agent, r.proto, r.port) > (after_from, after_to, after_proto, after_port)
          order by r.from_agent, r.to_agent, r.proto, r.port
          limit agent_api_list_mesh_rules.max_entries
        )
        union all
        (
          select r
          from mesh.rules r
          where r.to_agent = subject
            -- The same condition, for the index by to_agent. The rules from after_from to subject
            -- are before the position if subject < after_to, and after it if subject > after_to. If
            -- these are equal, proto and port decide.
            and (r.from_agent, r.proto, r.port) > (
              after_from,
              case when subject < after_to then '~' when subject = after_to then after_proto else '' end,
              after_port
            )
          order by r.to_agent, r.from_agent, r.proto, r.port
          limit agent_api_list_mesh_rules.max_entries
        )
      ) as of_subject (r)
      order by (r).from_agent, (r).to_agent, (r).proto, (r).port
      limit agent_api_list_mesh_rules.max_entries
    );
  end if;
  return json_build_object(
    'found', (
      select coalesce(
        json_agg(
          json_build_object(
            'from_agent', r.from_agent, 'to_agent', r.to_agent, 'port', r.port, 'proto', r.proto,
            'active', r.active, 'waiting_for', mesh.waiting_for(r), 'origin', r.origin
          )
          order by r.from_agent, r.to_agent, r.proto, r.port
        ),
        '[]'
      )
      from unnest(page) r
    ),
    'next', case
      when cardinality(page) = agent_api_list_mesh_rules.max_entries
        then mesh.rule_position(page[cardinality(page)])
    end
  );
end
$$;
comment on function public.agent_api_list_mesh_rules(integer, text, text) is
  'The rules and requests of the mesh, or those that name one agent, in byte order of from_agent, '
  'to_agent and proto, then by port: {found: [{from_agent, to_agent, port, proto, active, '
  'waiting_for | null, origin: policy | agents}], next: where the next page begins | null}.';
