-- Peers, their names, and when each was last seen.

create function mesh.name_of(agent_id text) returns text
language plpgsql
immutable
set search_path = ''
as $$
begin
  return (
    select case
      -- Most identifiers are names already.
      when r.reduced = name_of.agent_id and not r.is_taken then r.reduced
      -- 64 bits: even an agent that can choose its identifier finds none that gets another agent's
      -- name.
      else rtrim(left(r.reduced, 46), '-') || '-'
        || left(encode(sha256(name_of.agent_id::bytea), 'hex'), 16)
    end
    from (
      select n.reduced,
        length(n.reduced) > 63
          -- Programs take these names for an address (RFC 6943, 3.1.1), or look them up on their
          -- own. With such a name, a neighbour would receive their traffic.
          or n.reduced ~ '^([0-9]+|0x[0-9a-f]*)$'
          or n.reduced ~ '^(localhost|localdomain|broadcasthost|wpad|isatap|metadata|ip6-.*)$'
          -- A name that looks as if it had such a suffix: another identifier may get that name.
          or n.reduced ~ '-[0-9a-f]{16}$' as is_taken
      from (
        -- A single hyphen for several characters: `xn--` begins an encoded name (RFC 5890).
        select rtrim(
          regexp_replace(lower(name_of.agent_id collate "C"), '[^a-z0-9]+', '-', 'g'), '-'
        ) as reduced
      ) n
    ) r
  );
end
$$;
comment on function mesh.name_of(text) is
  'The name of an agent in the mesh: a DNS label (RFC 1123). It is the identifier, if that is a '
  'usable label. Otherwise it is the part of the identifier that fits into a label, with a suffix '
  'of its hash. So two agents never have the same name, and an agent''s name never changes.';

create table mesh.peers (
  agent_id agents.agent_id primary key,
  dns_label text collate "C" not null generated always as (mesh.name_of(agent_id)) stored,
  pubkey text collate "C" not null,
  endpoint mesh.endpoint,
  further_endpoints mesh.endpoint[] not null default '{}',
  listen_port integer,
  effective_listen_port integer generated always as (
    coalesce(listen_port, substring(endpoint from '[0-9]+$')::integer)
  ) stored,
  registered_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),

  constraint a_peer_has_addresses foreign key (agent_id) references mesh.address_leases (agent_id),
  constraint pubkey_is_canonical_base64_of_32_bytes check (
    length(pubkey) = 44 and pubkey ~ '^[A-Za-z0-9+/]*[AEIMQUYcgkosw048]=$'
  ),
  constraint pubkey_is_unique unique (pubkey),
  constraint name_is_unique unique (dns_label),
  constraint name_is_a_dns_label check (dns_label ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  constraint a_peer_has_at_most_four_endpoints check (cardinality(further_endpoints) <= 3),
  constraint further_endpoints_follow_the_first check (endpoint is not null or further_endpoints = '{}'),
  constraint listen_port_is_a_port check (listen_port between 1 and 65535)
);
comment on table mesh.peers is 'An agent''s registration in the mesh.';
comment on column mesh.peers.dns_label is
  'The peer''s name, under which its neighbours reach it.';
comment on column mesh.peers.endpoint is
  'Where the peer listens; null: not reachable from outside.';
comment on column mesh.peers.further_endpoints is
  'Where else the peer listens, in the order in which others should try these.';
comment on column mesh.peers.effective_listen_port is
  'The port that the agent''s own configuration listens on; null: any port.';

-- Finds peers that registered the same endpoint.
create index peers_by_endpoint on mesh.peers (endpoint, agent_id);

create function mesh.endpoints_of(peer mesh.peers) returns text[]
language sql
immutable
return array_remove((endpoints_of.peer).endpoint::text || (endpoints_of.peer).further_endpoints::text[], null);
comment on function mesh.endpoints_of(mesh.peers) is 'Where a peer listens, the first one first.';

create table mesh.liveness (
  agent_id agents.agent_id primary key,
  last_seen timestamptz,
  config_version_applied bigint,
  config_version_highest bigint,
  rendering_revision_highest integer,
  waits_until timestamptz,
  paths_reported_at timestamptz,
  problem text collate "C",
  problem_network cidr,

  constraint problem_is_a_known_one check (problem in ('network_taken')),
  constraint problem_network_is_of_a_problem check (problem_network is null or problem is not null),
  constraint liveness_is_of_a_peer foreign key (agent_id) references mesh.peers (agent_id) on delete cascade
)
-- fillfactor leaves room for HOT updates: no index covers the columns that change, so a heartbeat
-- writes only the row.
with (fillfactor = 50);

comment on table mesh.liveness is
  'What heartbeats write. Separate from peers, so that a heartbeat is as cheap as possible.';
comment on column mesh.liveness.config_version_applied is
  'The config_version that the agent last reported it runs.';
comment on column mesh.liveness.config_version_highest is
  'The highest config_version that the agent ever reported, until agent_api_after_restore. If it '
  'is higher than the current one, the database was restored: a host applies the older '
  'configuration within seconds, and then reports that.';
comment on column mesh.liveness.rendering_revision_highest is
  'The highest rendering_revision of the functions that received the heartbeats. Older functions '
  'have a lower one: after a rollback, hosts have run a higher config_version without any restore.';
comment on column mesh.liveness.paths_reported_at is
  'When the newest heartbeat that reported paths came.';
comment on column mesh.liveness.problem is
  'Why the host has no tunnel, as its heartbeats say: network_taken, if another network of '
  'the host has addresses of the mesh. Null: it reports no problem.';
comment on column mesh.liveness.problem_network is
  'The network of the host that the problem is about; null: not told.';
comment on column mesh.liveness.waits_until is
  'When the wait that the agent announced with its last heartbeat ends. Until then it need not '
  'send another.';

create function mesh.is_online(liveness mesh.liveness, online_seconds integer) returns boolean
language sql
stable
return coalesce(
  -- greatest ignores nulls: waits_until is null if the peer does not wait.
  greatest((is_online.liveness).last_seen, (is_online.liveness).waits_until)
    > now() - make_interval(secs => is_online.online_seconds),
  false
);
comment on function mesh.is_online(mesh.liveness, integer) is
  'Whether a peer was seen, or a wait that it announced was still running, within the given number '
  'of seconds.';

create function mesh.problem_json(liveness mesh.liveness) returns json
language sql
stable
return case
  when (problem_json.liveness).problem is not null then json_build_object(
    'code', (problem_json.liveness).problem,
    'network', (problem_json.liveness).problem_network
  )
end;
comment on function mesh.problem_json(mesh.liveness) is
  'What a host reports of itself, {code, network | null}; null: no problem.';

create function mesh.map_entry(
  peer mesh.peers,
  lease mesh.address_leases,
  liveness mesh.liveness,
  online_seconds integer,
  subject text,
  version_of_psk integer,
  path json
) returns table (
  agent_id text,
  name text,
  pubkey text,
  endpoint text,
  endpoints text[],
  addresses text[],
  last_seen text,
  online boolean,
  registered_at text,
  updated_at text,
  self boolean,
  psk_version integer,
  config_version_applied bigint,
  path json,
  problem json
)
language sql
stable
begin atomic
  select (map_entry.peer).agent_id,
    (map_entry.peer).dns_label,
    (map_entry.peer).pubkey,
    (map_entry.peer).endpoint,
    mesh.endpoints_of(map_entry.peer),
    array[host((map_entry.lease).ipv4), host((map_entry.lease).ipv6)],
    agents.iso_timestamp((map_entry.liveness).last_seen),
    -- Same as mesh.is_online, written out because a map may have thousands of rows.
    coalesce(
      greatest((map_entry.liveness).last_seen, (map_entry.liveness).waits_until)
        > now() - make_interval(secs => map_entry.online_seconds),
      false
    ),
    agents.iso_timestamp((map_entry.peer).registered_at),
    agents.iso_timestamp((map_entry.peer).updated_at),
    (map_entry.peer).agent_id = map_entry.subject,
    map_entry.version_of_psk,
    case
      when (map_entry.peer).agent_id <> map_entry.subject
        then (map_entry.liveness).config_version_applied
    end,
    map_entry.path,
    mesh.problem_json(map_entry.liveness);
end;
comment on function mesh.map_entry(
  mesh.peers, mesh.address_leases, mesh.liveness, integer, text, integer, json
) is
  'The peer object of the wire contract, and what subject sees of the peer. Returns one row: for '
  'thousands of rows, building JSON this way takes a third of the time of json_build_object.';

create function mesh.both_registered(one_agent text, other_agent text) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return (
    select count(*) = 2
    from mesh.peers p
    where p.agent_id in (both_registered.one_agent, both_registered.other_agent)
  );
end
$$;
comment on function mesh.both_registered(text, text) is
  'Whether two different agents both have a peer.';

create function mesh.record_sight(
  caller jsonb,
  caller_agent text,
  action text,
  agent_id text,
  other_agents text[]
) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform agents.record_change(
    record_sight.caller, record_sight.caller_agent, record_sight.action, record_sight.agent_id,
    other_agent_id => o.agent_id, max_things => null
  )
  from unnest(record_sight.other_agents) as o (agent_id);
end
$$;
comment on function mesh.record_sight(jsonb, text, text, text, text[]) is
  'Appends to agents.events that an agent and each of the others now see each other '
  '(peer.appeared), or no longer do (peer.vanished). One event is for both agents.';
