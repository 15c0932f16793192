-- What agents read of the mesh: the map, and the state that a configuration is rendered from. The
-- function that answers /wg_config renders one such state and nothing else, so that version and
-- text always belong together. Where a PSK is still to be made, it calls store_psks with one and
-- renders what that returns: whichever side was first, both get the same.

create function mesh.rule_json(rule mesh.rules) returns json
language sql
-- As stable as what it calls, or it would not be inlined.
stable
return json_build_object(
  'from_agent', rule.from_agent,
  'to_agent', rule.to_agent,
  'port', rule.port,
  'proto', rule.proto
);
comment on function mesh.rule_json(mesh.rules) is 'An entry of `acls`.';

create function mesh.rules_that_name(agent_id text, active boolean) returns setof mesh.rules
language sql
stable
begin atomic
  -- No rule names the same agent twice, so none comes twice.
  select r.* from mesh.rules r
  where r.from_agent = rules_that_name.agent_id and r.active = rules_that_name.active
  union all
  select r.* from mesh.rules r
  where r.to_agent = rules_that_name.agent_id and r.active = rules_that_name.active;
end;
comment on function mesh.rules_that_name(text, boolean) is
  'The active rules that an agent is a side of, or the requests.';

create function public.read_netmap(
  caller jsonb, agent_id text, online_seconds integer, rendering_revision integer default 0
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  subject text collate "C" := agents.subject_of(read_netmap.caller, read_netmap.agent_id);
  -- Not in the statement itself, where the planner would call it once more.
  named text[] := mesh.neighbours(subject) || subject;
  answer json;
begin
  with entries as (
    select row(p.*)::mesh.peers as p, row(a.*)::mesh.address_leases as a,
      row(l.*)::mesh.liveness as l, pair.psk_version, pair.made_at
    from unnest(named) as n (agent_id)
    -- One look into each index per peer on the map. The planner might read all of a table
    -- otherwise, for a map of some hundreds.
    cross join lateral (select * from mesh.peers p where p.agent_id = n.agent_id limit 1) p
    cross join lateral (select * from mesh.address_leases a where a.agent_id = n.agent_id limit 1) a
    cross join lateral (select * from mesh.liveness l where l.agent_id = n.agent_id limit 1) l
    left join lateral mesh.pair_of(subject, n.agent_id) pair on true
  )
  select json_build_object(
    'agent_id', subject,
    'config_version', (
      select v.version + read_netmap.rendering_revision
      from mesh.config_versions v
      where v.agent_id = subject
    ),
    'peers', (
      select json_agg(
        mesh.map_entry_json(
          e.p, e.a, e.l, read_netmap.online_seconds, subject,
          case when e.made_at is not null then e.psk_version end
        )
        order by (e.p).agent_id
      )
      from entries e
    ),
    'acls', (
      select coalesce(
        json_agg(mesh.rule_json(r) order by r.from_agent, r.to_agent, r.proto, r.port), '[]'
      )
      from mesh.rules_that_name(subject, active => true) r
    ),
    'acl_requests', (
      select coalesce(
        json_agg(
          json_build_object(
            'from_agent', r.from_agent, 'to_agent', r.to_agent, 'port', r.port, 'proto', r.proto,
            'waiting_for', mesh.waiting_for(r)
          )
          order by r.from_agent, r.to_agent, r.proto, r.port
        ),
        '[]'
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
comment on function public.read_netmap(jsonb, text, integer, integer) is
  'What an agent sees: itself and the peers that share an active rule with it, the active rules '
  'that name it, and the requests that do. rendering_revision is added to its config_version: the '
  'functions pass their own, and the answer on as it stands. Raises forbidden, invalid_request, '
  'peer_not_found.';

create function mesh.configuration_state(agent_id text) returns json
language sql
stable
set search_path = ''
as $$
  with visible as (
    select json_agg(
      json_build_object(
        'agent_id', p.agent_id,
        'pubkey', p.pubkey,
        'endpoint', p.endpoint,
        'addresses', json_build_array(host(a.ipv4), host(a.ipv6)),
        'inbound_rules', (
          select coalesce(
            json_agg(json_build_object('proto', r.proto, 'port', r.port) order by r.proto, r.port),
            '[]'
          )
          from mesh.rules r
          where r.active and r.to_agent = configuration_state.agent_id and r.from_agent = n.agent_id
        ),
        'psk_version', pair.psk_version,
        'encrypted_version', coalesce(pair.encrypted_version, pair.psk_version),
        'encrypted_psk', pair.encrypted_psk
      )
      order by p.agent_id
    ) as peers
    from unnest(mesh.neighbours(configuration_state.agent_id)) as n (agent_id)
    -- One look into each index per peer, as in read_netmap.
    cross join lateral (select * from mesh.peers p where p.agent_id = n.agent_id limit 1) p
    cross join lateral (select * from mesh.address_leases a where a.agent_id = n.agent_id limit 1) a
    -- Every visible peer has its pair. If one had none, the request must fail: a shorter text would
    -- cut a tunnel.
    left join lateral mesh.pair_of(configuration_state.agent_id, n.agent_id) pair on true
  )
  select json_build_object(
    'agent_id', own.agent_id,
    'config_version', version.version,
    'listen_port', own.effective_listen_port,
    'addresses', json_build_array(host(lease.ipv4), host(lease.ipv6)),
    'networks', json_build_array(networks.ipv4_network, networks.ipv6_network),
    'peers', coalesce(visible.peers, '[]')
  )
  from mesh.peers own
  join mesh.config_versions version on version.agent_id = own.agent_id
  join mesh.address_leases lease on lease.agent_id = own.agent_id
  cross join mesh.settings networks
  cross join visible
  where own.agent_id = configuration_state.agent_id
$$;
comment on function mesh.configuration_state(text) is
  'All that an agent''s configuration depends on, and its config_version, in one snapshot. PSKs '
  'are encrypted, and null where one is still to be made. Null for an agent without a peer.';

create function public.read_wg_config(caller jsonb, agent_id text) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  state json := mesh.configuration_state(agents.subject_of(read_wg_config.caller, read_wg_config.agent_id));
begin
  if state is null then
    raise sqlstate 'PT404' using message = 'peer_not_found';
  end if;
  return state;
end
$$;
comment on function public.read_wg_config(jsonb, text) is
  'What an agent''s configuration is rendered from. Raises forbidden, invalid_request, '
  'peer_not_found.';
