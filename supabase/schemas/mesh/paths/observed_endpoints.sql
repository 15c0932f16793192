-- Where reachable neighbours last saw an agent: a hint for other neighbours, which can use it to
-- reach an agent behind NAT. It is not part of a configuration's text, so it raises no version.

create function mesh.ip_of(endpoint text) returns inet
language sql
immutable
return case
  when ip_of.endpoint like '[%' then substring(ip_of.endpoint from '^\[([0-9a-f:]+)\]')::inet
  -- A DNS name does not match, because its last label has a letter.
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
  'Whether an address is private, so that it means a different host in every network (RFC 1918, '
  'RFC 6598, RFC 4193).';

create function mesh.observed_endpoints(viewer text, agent_ids text[], online_seconds integer)
returns table (agent_id text, endpoint text)
language plpgsql
stable
set search_path = ''
-- The caller may have switched nested loops off, but here they are right: there are few rows per
-- agent.
set enable_nestloop = on
-- Planning this takes longer than running it for a few agents.
set plan_cache_mode = force_generic_plan
as $$
begin
  if observed_endpoints.online_seconds is null then
    return;
  end if;
  return query
  -- The endpoint that most observers report, so that one that lies is outvoted: each has one vote,
  -- however often it reports. Where they are as many, the one whose path the agent itself has
  -- reported for longest, which no report of an observer changes.
  select distinct on (seen.agent_id) seen.agent_id, seen.endpoint
  from (
    select own.agent_id::text, heard.endpoint::text, count(*) as observers, min(own.since) as known_since
    from unnest(observed_endpoints.agent_ids) as named (agent_id)
    join mesh.path_reports own on own.agent_id = named.agent_id
    join mesh.liveness own_liveness on own_liveness.agent_id = own.agent_id
    join mesh.path_reports heard
      on heard.agent_id = own.other_agent and heard.other_agent = own.agent_id
    join mesh.liveness observer_liveness on observer_liveness.agent_id = own.other_agent
    join mesh.peers observer on observer.agent_id = own.other_agent
    cross join lateral (
      select mesh.time_of_report(
          own.left_out_at, own_liveness, observed_endpoints.online_seconds
        ) as own_at,
        mesh.time_of_report(
          heard.left_out_at, observer_liveness, observed_endpoints.online_seconds
        ) as heard_at
    ) t
    where own.agent_id <> observed_endpoints.viewer
      and own.other_agent <> observed_endpoints.viewer
      and heard.endpoint is not null
      and observer.endpoint is not null
      -- Both sides must report a direct path. So a neighbour cannot send others to a wrong place by
      -- reporting an agent that it has no connection with.
      and mesh.way_at(own.via, own.handshake_at, t.own_at) = 'direct'
      and mesh.way_at(heard.via, heard.handshake_at, t.heard_at) = 'direct'
      -- Same as mesh.see_each_other, written out because that would be called for each row.
      and (
        exists (
          select from mesh.rules r
          where r.active and r.from_agent = own.agent_id and r.to_agent = own.other_agent
        )
        or exists (
          select from mesh.rules r
          where r.active and r.from_agent = own.other_agent and r.to_agent = own.agent_id
        )
      )
      -- A private address is of use only to hosts in the same network, where the observer itself is
      -- reached.
      and (
        not mesh.is_private(mesh.ip_of(heard.endpoint))
        or exists (
          select from unnest(observer.endpoint || observer.further_endpoints) as o (endpoint)
          where mesh.is_private(mesh.ip_of(o.endpoint))
        )
      )
    group by own.agent_id, heard.endpoint
  ) seen
  order by seen.agent_id, seen.observers desc, seen.known_since, seen.endpoint;
end
$$;
comment on function mesh.observed_endpoints(text, text[], integer) is
  'Where each of these agents, except the viewer, was last seen by its reachable neighbours, over '
  'a direct path that both sides report. No row: nobody saw the agent. Without online_seconds, it '
  'returns no rows. Where observers differ, the endpoint that most report counts, then that of the '
  'path that the agent has reported for longest.';
