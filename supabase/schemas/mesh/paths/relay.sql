-- The names by which a relay knows the agents that use it.

create function public.agent_api_read_relay_name(caller jsonb, agent_id text) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(agent_api_read_relay_name.caller);
  subject text;
  relay_name text;
begin
  if caller_agent is null and agent_api_read_relay_name.agent_id is null then
    return json_build_object('relay_name', 'operator');
  end if;
  subject := agents.require_self(caller_agent, agent_api_read_relay_name.agent_id);
  select host(l.ipv4) into relay_name
  from mesh.peers p
  join mesh.address_leases l on l.agent_id = p.agent_id
  where p.agent_id = subject;

  if not found then
    raise sqlstate 'PT404' using message = 'peer_not_found';
  end if;
  return json_build_object('relay_name', relay_name);
end
$$;
comment on function public.agent_api_read_relay_name(jsonb, text) is
  'The name by which a relay and its log know an agent that has a peer: its IPv4 address in the '
  'mesh. The operator can look it up, and after an erasure it leads to nobody. The operator, who '
  'may try a relay without an agent_id, is named operator. Raises forbidden, peer_not_found.';
