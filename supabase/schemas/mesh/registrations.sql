-- Registering peers, for the first time or again with other values.

create function mesh.has_another_holder(pubkey text, agent_id text) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  -- One statement, so that it sees a peer that is removed concurrently either here or in
  -- address_leases.
  return exists (
      select from mesh.peers p
      where p.pubkey = has_another_holder.pubkey and p.agent_id <> has_another_holder.agent_id
    )
    or exists (
      select from mesh.address_leases l
      where l.resting_pubkey = has_another_holder.pubkey
        and l.agent_id <> has_another_holder.agent_id
        and l.released_at > clock_timestamp() - interval '1 day'
    );
end
$$;
comment on function mesh.has_another_holder(text, text) is
  'Whether a public key belongs to another agent, or did until its peer was removed within the '
  'last day. So neighbours, which know the public key, cannot keep its agent from coming back with '
  'it.';

create function mesh.add_peer(
  agent_id text,
  pubkey text,
  endpoint text,
  further_endpoints text[],
  listen_port integer,
  visible_peers text[]
) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform mesh.lease_addresses(add_peer.agent_id);
  insert into mesh.peers (agent_id, pubkey, endpoint, further_endpoints, listen_port)
  values (
    add_peer.agent_id, add_peer.pubkey, add_peer.endpoint, add_peer.further_endpoints, add_peer.listen_port
  );
  insert into mesh.liveness (agent_id) values (add_peer.agent_id);

  insert into mesh.pairs (low_agent, high_agent)
  select least(add_peer.agent_id, v.agent_id collate "C"), greatest(add_peer.agent_id, v.agent_id collate "C")
  from unnest(add_peer.visible_peers) as v (agent_id);

  -- The agent's own text is new, and every visible peer's has one peer more.
  perform mesh.raise_config_versions(add_peer.visible_peers || add_peer.agent_id);
end
$$;
comment on function mesh.add_peer(text, text, text, text[], integer, text[]) is
  'The first registration of an agent, or its first after a removal. Raises network_full.';

create function mesh.update_peer(
  before mesh.peers,
  pubkey text,
  endpoint text,
  further_endpoints text[],
  listen_port integer,
  visible_peers text[]
) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  after mesh.peers;
  changed_texts text[] := array[]::text[];
  own_text_changed boolean;
begin
  update mesh.peers p
  set pubkey = update_peer.pubkey,
      endpoint = update_peer.endpoint,
      further_endpoints = update_peer.further_endpoints,
      listen_port = update_peer.listen_port,
      updated_at = clock_timestamp()
  where p.agent_id = (update_peer.before).agent_id
  returning p.* into after;

  if after.pubkey <> (update_peer.before).pubkey then
    -- Whoever knows the old private key must not know the PSKs that are used with the new one. So
    -- all pairs get new PSKs, even those that do not see each other now.
    perform mesh.lock_pairs(after.agent_id);
    -- A PSK that is not made yet was given to nobody. If it were replaced too, an agent that keeps
    -- changing its pubkey could keep its neighbours from ever getting a PSK.
    with replaced as (
      update mesh.pairs p
      set psk_version = p.psk_version + 1, encrypted_psk = null, rotated_at = clock_timestamp()
      where (p.low_agent = after.agent_id or p.high_agent = after.agent_id) and p.encrypted_psk is not null
      returning p.*
    )
    select coalesce(bool_or(array[r.low_agent::text, r.high_agent::text] && update_peer.visible_peers), false)
    into own_text_changed
    from replaced r;
    changed_texts := update_peer.visible_peers;
    -- The agent's own text names its PSKs, not its pubkey.
    if own_text_changed then
      changed_texts := changed_texts || after.agent_id::text;
    end if;
  end if;
  if mesh.endpoints_of(after) <> mesh.endpoints_of(update_peer.before) then
    changed_texts := changed_texts || update_peer.visible_peers;
  end if;
  if after.effective_listen_port is distinct from (update_peer.before).effective_listen_port then
    changed_texts := changed_texts || after.agent_id::text;
  end if;
  perform mesh.raise_config_versions(changed_texts);
end
$$;
comment on function mesh.update_peer(mesh.peers, text, text, text[], integer, text[]) is
  'A later registration, with values that differ from the previous one.';

create function public.agent_api_register_peer(
  caller jsonb,
  agent_id text,
  pubkey text,
  endpoint text,
  endpoint_ip inet,
  listen_port integer,
  online_seconds integer,
  further_endpoints text[] default '{}',
  further_endpoint_ips inet[] default '{}'
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  visible_peers text[];
  before mesh.peers;
  action text;
  violated text;
  answer json;
begin
  caller_agent := agents.admit(agent_api_register_peer.caller);
  agent_api_register_peer.agent_id := agents.require_self(caller_agent, agent_api_register_peer.agent_id);
  perform agents.claim_for_operator(caller_agent, agent_api_register_peer.agent_id);
  perform mesh.take_turn(caller_agent);
  perform mesh.lock_agents(array[agent_api_register_peer.agent_id]);
  perform mesh.start_config_versions(array[agent_api_register_peer.agent_id]);
  visible_peers := mesh.lock_versions_around(agent_api_register_peer.agent_id);

  select p.* into before from mesh.peers p where p.agent_id = agent_api_register_peer.agent_id;
  if not found then
    -- Lock before the networks are read, because they may change while there is no peer.
    perform mesh.lock_addresses();
    action := 'peer.registered';
  elsif (before.pubkey, before.endpoint::text, before.further_endpoints::text[], before.listen_port)
    is distinct from (
      agent_api_register_peer.pubkey, agent_api_register_peer.endpoint,
      agent_api_register_peer.further_endpoints, agent_api_register_peer.listen_port
    )
  then
    action := 'peer.updated';
  end if;

  perform mesh.refuse_endpoints_inside_the_mesh(agent_api_register_peer.endpoint_ip, agent_api_register_peer.further_endpoint_ips);
  -- Check before anything is written, so that two agents that register each other's pubkey cannot
  -- deadlock.
  if mesh.has_another_holder(agent_api_register_peer.pubkey, agent_api_register_peer.agent_id) then
    raise sqlstate 'PT409' using message = 'pubkey_in_use';
  end if;

  begin
    if action = 'peer.registered' then
      perform mesh.add_peer(
        agent_api_register_peer.agent_id, agent_api_register_peer.pubkey,
        agent_api_register_peer.endpoint,
        agent_api_register_peer.further_endpoints, agent_api_register_peer.listen_port, visible_peers
      );
    elsif action = 'peer.updated' then
      perform mesh.update_peer(
        before, agent_api_register_peer.pubkey, agent_api_register_peer.endpoint,
        agent_api_register_peer.further_endpoints, agent_api_register_peer.listen_port, visible_peers
      );
    end if;
  exception when unique_violation then
    get stacked diagnostics violated = constraint_name;
    if violated <> 'pubkey_is_unique' then
      raise;
    end if;
    -- A concurrent registration with this pubkey came first.
    raise sqlstate 'PT409' using message = 'pubkey_in_use';
  end;

  if action is not null then
    perform agents.record_change(
      agent_api_register_peer.caller, caller_agent, action, agent_api_register_peer.agent_id,
      jsonb_build_object('pubkey', agent_api_register_peer.pubkey, 'endpoint', agent_api_register_peer.endpoint)
    );
  end if;
  if action = 'peer.registered' then
    perform mesh.record_sight(
      agent_api_register_peer.caller, caller_agent, 'peer.appeared',
      agent_api_register_peer.agent_id, visible_peers
    );
  end if;

  select to_jsonb(e) - array['self', 'psk_version', 'config_version_applied', 'path', 'problem'] into answer
  from mesh.peers p
  join mesh.address_leases a on a.agent_id = p.agent_id
  join mesh.liveness l on l.agent_id = p.agent_id
  cross join lateral mesh.map_entry(p, a, l, agent_api_register_peer.online_seconds, null, null, null) e
  where p.agent_id = agent_api_register_peer.agent_id;
  return answer;
end
$$;
comment on function public.agent_api_register_peer(jsonb, text, text, text, inet, integer, integer, text[], inet[]) is
  'Registers an agent''s peer, or updates it, and returns the peer object. Endpoints are in '
  'canonical form; endpoint_ip and further_endpoint_ips are their hosts, null for a DNS name. '
  'Raises forbidden, invalid_request, pubkey_in_use, network_full.';

create function public.agent_api_remove_peer(caller jsonb, agent_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  visible_peers text[];
  removed_pubkey text;
  has_peer boolean;
  revoked mesh.rules;
begin
  caller_agent := agents.admit(agent_api_remove_peer.caller);
  agent_api_remove_peer.agent_id := agents.require_self(caller_agent, agent_api_remove_peer.agent_id);
  perform mesh.take_turn(caller_agent);
  perform mesh.lock_agents(array[agent_api_remove_peer.agent_id]);
  visible_peers := mesh.lock_versions_around(agent_api_remove_peer.agent_id);
  select p.pubkey into removed_pubkey from mesh.peers p where p.agent_id = agent_api_remove_peer.agent_id;
  has_peer := found;

  for revoked in
    delete from mesh.rules r
    where (r.from_agent = agent_api_remove_peer.agent_id or r.to_agent = agent_api_remove_peer.agent_id)
      and r.policy_since is null
    returning r.*
  loop
    perform mesh.record_rule_event(agent_api_remove_peer.caller, caller_agent, 'rule.revoked', revoked);
  end loop;
  -- The rules of the policy stay, but lose the agents' own agreements.
  update mesh.rules r
  set from_agreed_at = null, to_agreed_at = null
  where (r.from_agent = agent_api_remove_peer.agent_id or r.to_agent = agent_api_remove_peer.agent_id)
    and r.policy_since is not null
    and (r.from_agreed_at is not null or r.to_agreed_at is not null);
  if has_peer then
    perform mesh.lock_pairs(agent_api_remove_peer.agent_id);
    delete from mesh.pairs p where p.low_agent = agent_api_remove_peer.agent_id or p.high_agent = agent_api_remove_peer.agent_id;
    delete from mesh.peers p where p.agent_id = agent_api_remove_peer.agent_id;
    update mesh.address_leases l
    set released_at = clock_timestamp(), resting_pubkey = removed_pubkey
    where l.agent_id = agent_api_remove_peer.agent_id;
    perform mesh.raise_config_versions(visible_peers);
    perform agents.record_change(agent_api_remove_peer.caller, caller_agent, 'peer.removed', agent_api_remove_peer.agent_id);
    perform mesh.record_sight(
      agent_api_remove_peer.caller, caller_agent, 'peer.vanished', agent_api_remove_peer.agent_id,
      visible_peers
    );
  end if;
  return json_build_object('agent_id', agent_api_remove_peer.agent_id, 'removed', has_peer);
end
$$;
comment on function public.agent_api_remove_peer(jsonb, text) is
  'Removes an agent''s peer, its PSKs, and every rule that names the agent, even if it has no '
  'peer, except for those of the policy. Its addresses and its public key are reserved for a time. '
  'Idempotent. Raises forbidden, invalid_request.';
