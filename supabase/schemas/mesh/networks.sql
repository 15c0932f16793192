-- The mesh (private tunnels between agents), and the networks that provide their tunnel addresses.

create schema mesh;
comment on schema mesh is 'Peers, access rules and encrypted PSKs. Not exposed by the API.';

create table mesh.settings (
  only_row boolean primary key default true,
  ipv4_network cidr not null,
  ipv6_network cidr not null,

  constraint there_is_only_one_row check (only_row),
  constraint ipv4_network_has_room_for_peers check (
    family(ipv4_network) = 4 and masklen(ipv4_network) between 8 and 29
  ),
  -- Unspecified, loopback, link-local, multicast and reserved addresses: hosts cannot reach each
  -- other at these. `agentfiles mesh up` refuses such a mesh.
  constraint ipv4_network_has_no_special_address check (
    not ipv4_network && any (
      '{0.0.0.0/8, 127.0.0.0/8, 169.254.0.0/16, 224.0.0.0/4, 240.0.0.0/4}'::cidr[]
    )
  ),
  constraint ipv6_network_is_a_unique_local_64 check (
    ipv6_network <<= 'fd00::/8'::inet and masklen(ipv6_network) = 64
  )
);
comment on table mesh.settings is
  'One row: the networks of the mesh. `agentops mesh network` changes the IPv4 network while no peer '
  'exists; SQL can change both.';

create function mesh.draw_ipv4_network() returns cidr
language sql
volatile
set search_path = ''
as $$
  -- The last 12 digits of a version 4 UUID are random. No extension is needed.
  select format('10.%s.0.0/16', case when r.drawn < 32 then 48 + r.drawn else 80 + r.drawn end)::cidr
  from (select ('x' || right(gen_random_uuid()::text, 7))::bit(28)::integer % 48 as drawn) r
$$;
comment on function mesh.draw_ipv4_network() is
  'One of 48 networks, so that a host can be in two meshes: 10.48.0.0/16 to 10.79.0.0/16, and '
  '10.112.0.0/16 to 10.127.0.0/16. The ranges between and around them are the defaults of others: '
  'OpenVPN, k3s and VPCs use what is below, CRI-O, Podman and Kubernetes 10.85.0.0 to 10.111.0.0, '
  'and Google Cloud, MicroK8s and flannel what is above.';

-- RFC 4193, 3.2: the 40 bits after fd are random, so that two meshes do not use the same network. A
-- version 4 UUID begins with 48 random bits of the server's strong generator.
insert into mesh.settings (ipv4_network, ipv6_network)
select
  mesh.draw_ipv4_network(),
  format('fd%s:%s:%s::/64', substr(r.digits, 1, 2), substr(r.digits, 3, 4), substr(r.digits, 7, 4))::cidr
from (select replace(gen_random_uuid()::text, '-', '') as digits) r;

create table mesh.address_leases (
  agent_id agents.agent_id primary key,
  ipv4 inet not null,
  ipv6 inet not null,
  released_at timestamptz,
  resting_pubkey text collate "C",

  constraint ipv4_is_one_address check (family(ipv4) = 4 and masklen(ipv4) = 32),
  constraint ipv6_is_one_address check (family(ipv6) = 6 and masklen(ipv6) = 128),
  constraint ipv4_is_unique unique (ipv4),
  constraint ipv6_is_unique unique (ipv6),
  constraint a_pubkey_rests_with_its_addresses check (resting_pubkey is null or released_at is not null)
);
comment on table mesh.address_leases is
  'Which tunnel addresses belong to which agent. A lease outlives its peer by at least a day. So '
  'an agent that comes back gets the same addresses, and one that repeatedly registers and '
  'removes itself cannot use up the network.';
comment on column mesh.address_leases.released_at is
  'When the peer was removed; null while it is registered.';
comment on column mesh.address_leases.resting_pubkey is
  'The last public key of the removed peer. No other agent can register it for a day.';

create index resting_address_leases on mesh.address_leases (released_at) where released_at is not null;
create index resting_pubkeys on mesh.address_leases (resting_pubkey) where resting_pubkey is not null;

create function mesh.lock_addresses() returns void
language sql
volatile
set search_path = ''
as $$
  select pg_advisory_xact_lock(hashtextextended('mesh addresses', 0))
$$;
comment on function mesh.lock_addresses() is
  'Only one transaction at a time assigns addresses or changes the networks.';

create function mesh.keep_networks_that_are_in_use() returns trigger
language plpgsql
set search_path = ''
as $$
begin
  perform mesh.lock_addresses();
  if exists (select from mesh.address_leases l where l.released_at is null) then
    raise exception 'The networks of the mesh can only be changed while there is no peer.' using errcode = '55000';
  end if;
  -- The addresses of released leases belong to the old network. Endpoints were deleted with their
  -- peers.
  delete from mesh.address_leases l where l.released_at is not null;
  return null;
end
$$;
comment on function mesh.keep_networks_that_are_in_use() is
  'Refuses to change mesh.settings while a peer exists.';

create trigger networks_change_only_without_peers
  before insert or update or delete or truncate on mesh.settings
  for each statement execute function mesh.keep_networks_that_are_in_use();

create function mesh.lease_addresses(agent_id text) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  ipv4_network inet;
  ipv6_network inet;
  next_ipv4 inet;
begin
  update mesh.address_leases l
  set released_at = null, resting_pubkey = null
  where l.agent_id = lease_addresses.agent_id;
  if found then
    return;
  end if;

  select s.ipv4_network, s.ipv6_network into ipv4_network, ipv6_network from mesh.settings s;
  -- The first lease gets the address after the network's own. max() reads one index entry.
  select set_masklen(coalesce(max(l.ipv4), ipv4_network), 32) + 1 into next_ipv4 from mesh.address_leases l;

  if next_ipv4 < set_masklen(broadcast(ipv4_network), 32) then
    insert into mesh.address_leases (agent_id, ipv4, ipv6)
    values (
      lease_addresses.agent_id,
      next_ipv4,
      set_masklen(ipv6_network, 128) + (next_ipv4 - set_masklen(ipv4_network, 32))
    );
    return;
  end if;

  update mesh.address_leases l
  set agent_id = lease_addresses.agent_id, released_at = null, resting_pubkey = null
  where l.agent_id = (
    select rested.agent_id
    from mesh.address_leases rested
    where rested.released_at < clock_timestamp() - interval '1 day'
    order by rested.released_at
    limit 1
  );
  if not found then
    raise sqlstate 'PT409' using message = 'network_full';
  end if;
end
$$;
comment on function mesh.lease_addresses(text) is
  'Gives an agent its addresses: its previous ones; otherwise new ones; otherwise those unused '
  'for the longest time. The caller holds lock_addresses. Raises network_full.';
