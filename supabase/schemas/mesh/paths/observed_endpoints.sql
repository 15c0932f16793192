-- Where agents were last seen by neighbours that can be reached: a hint for other neighbours, which
-- can use it to reach an agent behind NAT. No configuration's text has it, so it raises no version.

create function mesh.ip_of(endpoint text) returns inet
language sql
immutable
return case
  when ip_of.endpoint like '[%' then substring(ip_of.endpoint from '^\[([0-9a-f:]+)\]')::inet
  -- The last label of a name has a letter.
  when ip_of.endpoint ~ '^[0-9.]+:' then split_part(ip_of.endpoint, ':', 1)::inet
end;
comment on function mesh.ip_of(text) is 'The address of an endpoint; null for a DNS name.';

create function mesh.is_private(ip inet) returns boolean
language sql
immutable
return coalesce(
  is_private.ip <<= '10.0.0.0/8' or is_private.ip <<= '172.16.0.0/12'
    or is_private.ip <<= '192.168.0.0/16' or is_private.ip <<= '100.64.0.0/10'
    or is_private.ip <<= 'fc00::/7',
  false
);
comment on function mesh.is_private(inet) is
  'Whether an address means another host in every network (RFC 1918, RFC 6598, RFC 4193).';

create function mesh.observations_of(agent_id text, viewer text, online_seconds integer)
returns table (endpoint text, seen_at timestamptz)
language sql
stable
set search_path = ''
as $$
  select seen.endpoint, t.seen_at
  from mesh.liveness own_liveness
  join mesh.path_reports own on own.agent_id = own_liveness.agent_id
  cross join lateral (
    select p.endpoint, p.further_endpoints
    from mesh.peers p
    where p.agent_id = own.other_agent and p.endpoint is not null
    limit 1
  ) observer
  cross join lateral (
    select s.* from mesh.path_reports s
    where s.agent_id = own.other_agent and s.other_agent = own.agent_id and s.endpoint is not null
    limit 1
  ) seen
  cross join lateral (
    select l.* from mesh.liveness l where l.agent_id = own.other_agent limit 1
  ) l
  cross join lateral (
    select mesh.time_of_report(own.left_out_at, own_liveness, observations_of.online_seconds) as own_at,
      mesh.time_of_report(seen.left_out_at, l, observations_of.online_seconds) as seen_at
  ) t
  where own_liveness.agent_id = observations_of.agent_id
    and own.other_agent <> observations_of.viewer
    -- Both must say that they hear each other. So a neighbour cannot send others anywhere by
    -- reporting an agent that it has no connection with.
    and mesh.way_at(own.via, own.handshake_at, t.own_at) = 'direct'
    and mesh.way_at(seen.via, seen.handshake_at, t.seen_at) = 'direct'
    and mesh.see_each_other(own.agent_id, own.other_agent)
    -- A private address means something only to hosts of the same network. The observer itself is
    -- reached there.
    and (
      not mesh.is_private(mesh.ip_of(seen.endpoint))
      or exists (
        select from unnest(observer.endpoint || observer.further_endpoints) as o (endpoint)
        where mesh.is_private(mesh.ip_of(o.endpoint))
      )
    )
$$;
comment on function mesh.observations_of(text, text, integer) is
  'Where others than the viewer see an agent, each a reachable neighbour of it with a direct path '
  'that both sides report.';

create function mesh.observed_endpoints(viewer text, agent_ids text[], online_seconds integer)
returns table (agent_id text, endpoint text)
language plpgsql
stable
set search_path = ''
-- Whoever calls this may have switched it off, and here are few rows per agent.
set enable_nestloop = on
as $$
begin
  if observed_endpoints.online_seconds is null then
    return;
  end if;
  return query
  select named.agent_id, seen.endpoint
  from unnest(observed_endpoints.agent_ids) as named (agent_id)
  cross join lateral (
    -- What most of them say: one that lies is outvoted. Then the newest.
    select o.endpoint
    from mesh.observations_of(
      named.agent_id, observed_endpoints.viewer, observed_endpoints.online_seconds
    ) o
    group by o.endpoint
    order by count(*) desc, max(o.seen_at) desc, o.endpoint
    limit 1
  ) seen;
end
$$;
comment on function mesh.observed_endpoints(text, text[], integer) is
  'Where each of these agents was last seen by others than the viewer; no row: by nobody. Without '
  'online_seconds, none.';
