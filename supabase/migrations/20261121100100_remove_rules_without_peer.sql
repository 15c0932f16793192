-- Rules may name an agent before it registers. Removing an agent that has no peer now ends its rules too, so that it
-- does not come back with them.

create or replace function public.remove_peer(caller jsonb, agent_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate_as(remove_peer.caller, remove_peer.agent_id);
  visible_peers text[] := mesh.lock_neighbourhood(remove_peer.agent_id);
  has_peer boolean := exists (select from mesh.peers p where p.agent_id = remove_peer.agent_id);
  has_rules boolean;
begin
  delete from mesh.rules r where r.from_agent = remove_peer.agent_id or r.to_agent = remove_peer.agent_id;
  has_rules := found;
  if has_peer then
    perform mesh.lock_pairs(remove_peer.agent_id);
    delete from mesh.pairs p where p.low_agent = remove_peer.agent_id or p.high_agent = remove_peer.agent_id;
    delete from mesh.peers p where p.agent_id = remove_peer.agent_id;
    update mesh.address_leases l set released_at = clock_timestamp() where l.agent_id = remove_peer.agent_id;
    perform mesh.raise_config_versions(visible_peers);
  end if;

  if has_peer or has_rules then
    perform agents.record_event(remove_peer.caller, caller_agent, 'peer.removed', remove_peer.agent_id);
  end if;
  return json_build_object('agent_id', remove_peer.agent_id, 'removed', has_peer);
end
$$;
comment on function public.remove_peer(jsonb, text) is
  'Removes an agent''s peer, every rule that names the agent, with or without a peer, and its PSKs; its addresses rest. Idempotent. Raises forbidden.';
