-- Peers, and when each was last seen.

create table mesh.peers (
  agent_id agents.agent_id primary key,
  pubkey text collate "C" not null,
  endpoint text collate "C",
  listen_port integer,
  effective_listen_port integer generated always as (
    coalesce(listen_port, substring(endpoint from '[0-9]+$')::integer)
  ) stored,
  registered_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),

  constraint a_peer_has_addresses foreign key (agent_id) references mesh.address_leases (agent_id),
  constraint pubkey_is_canonical_base64_of_32_bytes check (pubkey ~ '^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$'),
  constraint pubkey_is_unique unique (pubkey),
  constraint endpoint_is_a_host_and_a_port check (
    endpoint ~ '^(\[[0-9a-f:]+\]|[0-9a-z.-]{1,253}):[1-9][0-9]{0,4}$'
  ),
  constraint listen_port_is_a_port check (listen_port between 1 and 65535)
);
comment on table mesh.peers is 'An agent''s registration in the mesh.';
comment on column mesh.peers.endpoint is 'host:port, in the form that the function''s parser gives it; null: not reachable from outside.';
comment on column mesh.peers.effective_listen_port is 'What the agent''s own configuration listens on; null: any port.';

create table mesh.liveness (
  agent_id agents.agent_id primary key,
  last_seen timestamptz,
  config_version_applied bigint,

  constraint liveness_is_of_a_peer foreign key (agent_id) references mesh.peers (agent_id) on delete cascade
)
-- Room for the new version of each row beside the old one: with no index on what changes, a heartbeat writes the row
-- and nothing else (a heap-only tuple).
with (fillfactor = 50);
comment on table mesh.liveness is 'What heartbeats write. Apart from peers, so that a heartbeat is as small as can be.';
comment on column mesh.liveness.config_version_applied is 'The config_version that the agent last said it runs.';

alter table mesh.peers enable row level security;
alter table mesh.liveness enable row level security;

revoke all on mesh.peers, mesh.liveness from public, anon, authenticated;
grant select, insert, update, delete on mesh.peers to service_role;
grant select, insert, update on mesh.liveness to service_role;

create function mesh.peer_objects(agent_ids text[], online_seconds integer)
returns table (
  agent_id text,
  pubkey text,
  endpoint text,
  addresses text[],
  last_seen text,
  online boolean,
  registered_at text,
  updated_at text
)
language sql
stable
set search_path = ''
as $$
  select
    p.agent_id,
    p.pubkey,
    p.endpoint,
    array[host(a.ipv4), host(a.ipv6)],
    agents.iso_timestamp(l.last_seen),
    coalesce(l.last_seen > now() - make_interval(secs => peer_objects.online_seconds), false),
    agents.iso_timestamp(p.registered_at),
    agents.iso_timestamp(p.updated_at)
  from mesh.peers p
  join mesh.address_leases a on a.agent_id = p.agent_id
  join mesh.liveness l on l.agent_id = p.agent_id
  where p.agent_id = any (peer_objects.agent_ids)
$$;
comment on function mesh.peer_objects(text[], integer) is
  'The peer objects of the wire contract, one a row, for those of the given agents that are registered.';

revoke all on function mesh.peer_objects(text[], integer) from public, anon, authenticated;
grant execute on function mesh.peer_objects(text[], integer) to service_role;
