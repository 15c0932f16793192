-- Where peers listen.

create domain mesh.endpoint as text collate "C"
  constraint endpoint_is_a_host_and_a_port check (
    value ~ '^(\[[0-9a-f:]+\]|[0-9a-z.-]{1,253}):[1-9][0-9]{0,4}$'
  );
comment on domain mesh.endpoint is 'host:port, as normalized by the function''s parser.';

create function mesh.is_inside_the_mesh(endpoint_ip inet) returns boolean
language plpgsql
stable
set search_path = ''
as $$
declare
  -- An address with one of these prefixes has an IPv4 address in its last 32 bits: mapped (RFC
  -- 4291, 2.5.5.2), compatible (2.5.5.1), or for a translator (RFC 6052).
  prefix inet := (
    select p.prefix
    from unnest(array['::ffff:0.0.0.0', '::', '64:ff9b::']::inet[]) as p (prefix)
    where is_inside_the_mesh.endpoint_ip <<= set_masklen(p.prefix, 96)
  );
  host inet := case
    when prefix is not null then inet '0.0.0.0' + (is_inside_the_mesh.endpoint_ip - prefix)
    else is_inside_the_mesh.endpoint_ip
  end;
begin
  return exists (select from mesh.settings s where host <<= s.ipv4_network or host <<= s.ipv6_network);
end
$$;
comment on function mesh.is_inside_the_mesh(inet) is
  'Whether an address, or the IPv4 address in it, is in the mesh''s own networks; false for null.';

create function mesh.refuse_endpoints_inside_the_mesh(endpoint_ip inet, further_endpoint_ips inet[]) returns void
language plpgsql
stable
set search_path = ''
as $$
declare
  field text := case
    when mesh.is_inside_the_mesh(refuse_endpoints_inside_the_mesh.endpoint_ip) then 'endpoint'
    when exists (
      select from unnest(refuse_endpoints_inside_the_mesh.further_endpoint_ips) as f (ip)
      where mesh.is_inside_the_mesh(f.ip)
    ) then 'endpoints'
  end;
begin
  if field is not null then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = json_build_object('issues', json_build_array(json_build_object(
        'path', field,
        'message', 'Must be reachable from other hosts: it lies inside the mesh.'
      )));
  end if;
end
$$;
comment on function mesh.refuse_endpoints_inside_the_mesh(inet, inet[]) is
  'Raises invalid_request for an endpoint in the mesh''s own networks: every neighbour would '
  'encrypt its own ciphertext in a loop. DNS names are allowed: their address is null.';
