-- The networks of the mesh, as the operator sees and sets them.

create function public.agent_api_read_mesh_network() returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select json_build_object(
    'ipv4_network', s.ipv4_network,
    'ipv6_network', s.ipv6_network,
    -- min() and max() read one index entry each.
    'has_peers', (select min(p.agent_id) from mesh.peers p) is not null,
    -- A lease gets the address after the highest one.
    'leased', coalesce((select max(l.ipv4) from mesh.address_leases l) - network(s.ipv4_network)::inet, 0),
    -- Without the network's first and last address.
    'size', (1::bigint << (32 - masklen(s.ipv4_network))) - 2
  )
  from mesh.settings s
$$;
comment on function public.agent_api_read_mesh_network() is
  'The networks of the mesh, whether a peer exists, and how many of its IPv4 addresses agents have '
  'or had.';

create function public.agent_api_set_mesh_network(ipv4_network text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  current_network cidr;
  wanted cidr;
begin
  perform mesh.lock_addresses();
  select s.ipv4_network into current_network from mesh.settings s;
  begin
    wanted := agent_api_set_mesh_network.ipv4_network::cidr;
    while wanted is null or agent_api_set_mesh_network.ipv4_network is null and wanted = current_network loop
      wanted := mesh.draw_ipv4_network();
    end loop;
    -- Without a change, the leases of removed peers stay.
    if wanted <> current_network then
      update mesh.settings s set ipv4_network = wanted where s.only_row;
    end if;
  exception
    when invalid_text_representation or check_violation then
      raise sqlstate 'PT422' using
        message = 'invalid_request',
        detail = '{"issues": [{"path": "ipv4_network", "message": "Must be an IPv4 network in CIDR notation, from /8 to /29, whose hosts can reach each other: 10.64.0.0/16."}]}';
  end;
  return public.agent_api_read_mesh_network();
end
$$;
comment on function public.agent_api_set_mesh_network(text) is
  'Sets the IPv4 network of the mesh, while no peer exists; null: another one, which is drawn. Returns what '
  'read_mesh_network does. Raises invalid_request, and 55000 if there is a peer.';
