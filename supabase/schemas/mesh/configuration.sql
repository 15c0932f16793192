-- What agents read of the mesh: the network map, and the state that a configuration is rendered
-- from. /wg_config renders exactly one such state, so version and text always belong together. If a
-- PSK does not exist yet, the function calls agent_api_store_psks with a new one and renders what
-- that returns. Whichever side comes first, both get the same PSK.

create function mesh.rules_that_name(agent_id text, active boolean)
returns table (
  from_agent agents.agent_id,
  to_agent agents.agent_id,
  port integer,
  proto text,
  waiting_for text
)
language sql
stable
begin atomic
  -- No rule names the same agent twice, so no rule is returned twice.
  select r.from_agent, r.to_agent, r.port, r.proto, mesh.waiting_for(r)
  from mesh.rules r
  where r.from_agent = rules_that_name.agent_id and r.active = rules_that_name.active
  union all
  select r.from_agent, r.to_agent, r.port, r.proto, mesh.waiting_for(r)
  from mesh.rules r
  where r.to_agent = rules_that_name.agent_id and r.active = rules_that_name.active;
end;
comment on function mesh.rules_that_name(text, boolean) is
  'The active rules that name an agent, or the requests.';

create function mesh.with_neighbours(agent_id text) returns text[]
language plpgsql
stable
set search_path = ''
as $$
begin
  return (
    select array_agg(n.agent_id order by n.agent_id collate "C")
    from unnest(
      mesh.neighbours(with_neighbours.agent_id) || with_neighbours.agent_id
    ) as n (agent_id)
  );
end
$$;
comment on function mesh.with_neighbours(text) is
  'An agent and its neighbours (mesh.neighbours), in byte order: an index lookup of many names '
  'sorts them first, which takes no time if they are sorted already.';

create function public.agent_api_read_netmap(
  caller jsonb, agent_id text, online_seconds integer, rendering_revision integer default 0
) returns json
language plpgsql
stable
security invoker
set search_path = ''
-- This reads the rows of all peers at once from each table, and merges them. The planner does not
-- know how many peers there are, and would otherwise look up each peer in each table.
set enable_nestloop = off
-- Planning for the names of one large map takes longer than reading it.
set plan_cache_mode = force_generic_plan
as $$
declare
  subject text collate "C" := agents.subject_of(agent_api_read_netmap.caller, agent_api_read_netmap.agent_id);
  named text[] := mesh.with_neighbours(subject);
  own_liveness mesh.liveness;
  answer json;
begin
  select l.* into own_liveness from mesh.liveness l where l.agent_id = subject;
  select json_build_object(
    'agent_id', subject,
    'config_version', (
      select v.version + agent_api_read_netmap.rendering_revision
      from mesh.config_versions v
      where v.agent_id = subject
    ),
    'peers', (
      select json_agg(e order by p.agent_id)
      from mesh.peers p
      join mesh.address_leases a on a.agent_id = p.agent_id and a.agent_id = any (named)
      join mesh.liveness l on l.agent_id = p.agent_id and l.agent_id = any (named)
      left join mesh.pairs_of(subject, named) pair on pair.other_agent = p.agent_id
      left join mesh.path_reports own on own.agent_id = subject and own.other_agent = p.agent_id
      left join mesh.path_reports others
        on others.other_agent = subject and others.agent_id = p.agent_id
      cross join lateral mesh.map_entry(
        p, a, l, agent_api_read_netmap.online_seconds, subject,
        case when pair.made_at is not null then pair.psk_version end,
        case
          when p.agent_id = subject then null
          when own.agent_id is null and others.agent_id is null
            then '{"reported_by_self": null, "reported_by_peer": null}'
          else json_build_object(
            'reported_by_self', mesh.path_json(
              own,
              mesh.time_of_report(own.left_out_at, own_liveness, agent_api_read_netmap.online_seconds)
            ),
            'reported_by_peer', mesh.path_json(
              others, mesh.time_of_report(others.left_out_at, l, agent_api_read_netmap.online_seconds)
            )
          )
        end
      ) e
      where p.agent_id = any (named)
    ),
    'acls', (
      select coalesce(
        json_agg(r order by r.from_agent, r.to_agent, r.proto collate "C", r.port), '[]'
      )
      from (
        select i.from_agent, i.to_agent, i.port, i.proto
        from mesh.rules_that_name(subject, active => true) i
      ) r
    ),
    'acl_requests', (
      select coalesce(
        json_agg(r order by r.from_agent, r.to_agent, r.proto collate "C", r.port), '[]'
      )
      from mesh.rules_that_name(subject, active => false) r
    )
  ) into answer
  from mesh.peers own
  where own.agent_id = subject;

  if not found then
    raise sqlstate 'PT404' using message = 'peer_not_found';
  end if;
  return answer;
end
$$;
comment on function public.agent_api_read_netmap(jsonb, text, integer, integer) is
  'What an agent sees: itself and the peers that share an active rule with it, the active rules '
  'that name it, and the requests that name it. rendering_revision is added to its '
  'config_version: the functions pass their own, and return the answer unchanged. Raises '
  'forbidden, invalid_request, peer_not_found.';

create function mesh.configuration_state(agent_id text, online_seconds integer) returns json
language plpgsql
stable
set search_path = ''
-- For the same reasons as in agent_api_read_netmap.
set enable_nestloop = off
set plan_cache_mode = force_generic_plan
as $$
declare
  named text[] := mesh.with_neighbours(configuration_state.agent_id);
  state json;
begin
  select json_build_object(
    'agent_id', own.agent_id,
    'config_version', (
      select v.version from mesh.config_versions v where v.agent_id = own.agent_id
    ),
    'listen_port', own.effective_listen_port,
    'addresses', (
      select json_build_array(host(a.ipv4), host(a.ipv6))
      from mesh.address_leases a
      where a.agent_id = own.agent_id
    ),
    'networks', (select json_build_array(s.ipv4_network, s.ipv6_network) from mesh.settings s),
    'peers', (
      select coalesce(
        json_agg(
          json_build_object(
            'agent_id', p.agent_id,
            'name', p.dns_label,
            'pubkey', p.pubkey,
            'endpoint', p.endpoint,
            'further_endpoints', p.further_endpoints,
            -- Only a hint: it is not part of the text, and raises no version. Outbound rules, too,
            -- are only in JSON.
            'observed_endpoint', seen.endpoint,
            'addresses', json_build_array(host(a.ipv4), host(a.ipv6)),
            'inbound_rules', coalesce(inbound.rules, '[]'),
            'outbound_rules', coalesce(outbound.rules, '[]'),
            'psk_version', pair.psk_version,
            'encrypted_version', coalesce(pair.encrypted_version, pair.psk_version),
            'encrypted_psk', pair.encrypted_psk
          )
          order by p.agent_id
        ),
        '[]'
      )
      from mesh.peers p
      join mesh.address_leases a on a.agent_id = p.agent_id and a.agent_id = any (named)
      -- Every visible peer has a pair. A left join, because a missing pair must make the request
      -- fail: a text without the peer would cut a tunnel.
      left join mesh.pairs_of(configuration_state.agent_id, named) pair
        on pair.other_agent = p.agent_id
      left join (
        select r.from_agent,
          json_agg(json_build_object('proto', r.proto, 'port', r.port) order by r.proto, r.port) as rules
        from mesh.rules r
        where r.active and r.to_agent = configuration_state.agent_id
        group by r.from_agent
      ) inbound on inbound.from_agent = p.agent_id
      left join (
        select r.to_agent,
          json_agg(json_build_object('proto', r.proto, 'port', r.port) order by r.proto, r.port) as rules
        from mesh.rules r
        where r.active and r.from_agent = configuration_state.agent_id
          and configuration_state.online_seconds is not null
        group by r.to_agent
      ) outbound on outbound.to_agent = p.agent_id
      left join mesh.observed_endpoints(
        configuration_state.agent_id, named, configuration_state.online_seconds
      ) seen on seen.agent_id = p.agent_id
      where p.agent_id = any (named) and p.agent_id <> configuration_state.agent_id
    )
  ) into state
  from mesh.peers own
  where own.agent_id = configuration_state.agent_id;
  return state;
end
$$;
comment on function mesh.configuration_state(text, integer) is
  'Everything that an agent''s configuration depends on, and its config_version, in one snapshot. '
  'PSKs are encrypted, and null if not made yet. Without online_seconds, it leaves out what is '
  'only in JSON: outbound rules and observed endpoints. Null for an agent without a peer.';

create function public.agent_api_read_wg_config(
  caller jsonb, agent_id text, online_seconds integer default 90
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  state json := mesh.configuration_state(
    agents.subject_of(agent_api_read_wg_config.caller, agent_api_read_wg_config.agent_id),
    agent_api_read_wg_config.online_seconds
  );
begin
  if state is null then
    raise sqlstate 'PT404' using message = 'peer_not_found';
  end if;
  return state;
end
$$;
comment on function public.agent_api_read_wg_config(jsonb, text, integer) is
  'What an agent''s configuration is rendered from. With online_seconds, also what is not part of '
  'the text: outbound rules, and where reachable neighbours see each peer (observed_endpoint | '
  'null). Raises forbidden, invalid_request, peer_not_found.';
