-- What a configuration is rendered from. The function that answers /wg_config renders one such state and nothing else,
-- so that version and text always belong together. Where a PSK is still to be made it calls store_psks with one, and
-- renders what that returns: whichever side was first, both get the same.

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
          select coalesce(json_agg(json_build_object('proto', r.proto, 'port', r.port) order by r.proto, r.port), '[]')
          from mesh.rules r
          where r.active and r.to_agent = configuration_state.agent_id and r.from_agent = p.agent_id
        ),
        'psk_version', pair.psk_version,
        'encrypted_psk', pair.encrypted_psk
      )
      order by p.agent_id
    ) as peers
    from unnest(mesh.visible_peers(configuration_state.agent_id)) as v (agent_id)
    join mesh.peers p on p.agent_id = v.agent_id
    join mesh.address_leases a on a.agent_id = p.agent_id
    -- A peer without its pair cannot be; were it so, it must fail the request, not shorten the text.
    left join mesh.pairs pair
      on pair.low_agent = least(p.agent_id, configuration_state.agent_id collate "C")
      and pair.high_agent = greatest(p.agent_id, configuration_state.agent_id collate "C")
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
  'All that an agent''s configuration depends on, and its config_version, in one snapshot; PSKs as they are encrypted, null where one is still to be made. Null for an agent without a peer.';

create function public.read_wg_config(caller jsonb, agent_id text) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  state json := mesh.configuration_state(mesh.subject_of(read_wg_config.caller, read_wg_config.agent_id));
begin
  if state is null then
    raise sqlstate 'PT404' using message = 'peer_not_found';
  end if;
  return state;
end
$$;
comment on function public.read_wg_config(jsonb, text) is
  'What an agent''s configuration is rendered from. Raises forbidden, invalid_request, peer_not_found.';

create function public.store_psks(caller jsonb, agent_id text, psks jsonb) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  subject text := mesh.subject_of(store_psks.caller, store_psks.agent_id);
  made record;
begin
  perform mesh.lock_pairs(
    subject,
    array(select m.agent_id from jsonb_to_recordset(store_psks.psks) as m (agent_id text))
  );

  -- One by one: in a single update the planner, which knows nothing of the list, may pair all with all.
  for made in
    select m.* from jsonb_to_recordset(store_psks.psks) as m (agent_id text, psk_version integer, encrypted_psk text)
  loop
    update mesh.pairs p
    set encrypted_psk = made.encrypted_psk, made_at = clock_timestamp()
    where p.low_agent = least(made.agent_id collate "C", subject collate "C")
      and p.high_agent = greatest(made.agent_id collate "C", subject collate "C")
      and p.psk_version = made.psk_version
      and p.encrypted_psk is null;
  end loop;

  return public.read_wg_config(store_psks.caller, store_psks.agent_id);
end
$$;
comment on function public.store_psks(jsonb, text, jsonb) is
  'Stores PSKs that pairs of an agent lack: psks is [{agent_id, psk_version, encrypted_psk}], several versions of one pair if need be; each is stored only if the pair is at that version and has none of it yet. One that is not stored was given to nobody, so it does not matter whether a peer changed meanwhile. Returns what read_wg_config returns, afterwards. Raises as that does.';

revoke all on function
  mesh.configuration_state(text),
  public.read_wg_config(jsonb, text),
  public.store_psks(jsonb, text, jsonb)
from public, anon, authenticated;

grant execute on function
  mesh.configuration_state(text),
  public.read_wg_config(jsonb, text),
  public.store_psks(jsonb, text, jsonb)
to service_role;
