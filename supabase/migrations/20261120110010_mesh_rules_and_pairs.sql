-- Who may reach whom, and the PSK of each two that may.

create table mesh.rules (
  from_agent agents.agent_id not null,
  to_agent agents.agent_id not null,
  proto text collate "C" not null,
  port integer not null,
  from_agreed_at timestamptz,
  to_agreed_at timestamptz,
  active boolean not null generated always as (from_agreed_at is not null and to_agreed_at is not null) stored,

  constraint a_rule_is_put_once primary key (from_agent, to_agent, proto, port),
  constraint the_agents_of_a_rule_differ check (from_agent <> to_agent),
  constraint proto_is_tcp_or_udp check (proto in ('tcp', 'udp')),
  constraint port_is_a_port check (port between 1 and 65535),
  constraint somebody_agreed_to_a_rule check (from_agreed_at is not null or to_agreed_at is not null)
);
comment on table mesh.rules is
  'Access rules. A rule is active when both of its agents have agreed; before that it is a request, which gives nobody anything. May name agents that are not registered.';

create index rules_by_to_agent on mesh.rules (to_agent, from_agent, proto, port);
-- Apart from requests, which anybody can pile up: they must not slow down a configuration.
create index active_rules_by_from_agent on mesh.rules (from_agent, to_agent) where active;
create index active_rules_by_to_agent on mesh.rules (to_agent, from_agent, proto, port) where active;

create table mesh.pairs (
  low_agent agents.agent_id not null,
  high_agent agents.agent_id not null,
  psk_version integer not null default 1,
  encrypted_psk text collate "C",
  encryption_key_id text collate "C" generated always as (split_part(encrypted_psk, '.', 2)) stored,
  made_at timestamptz,
  rotated_at timestamptz,

  constraint a_pair_has_one_psk primary key (low_agent, high_agent),
  constraint a_pair_is_in_canonical_order check (low_agent < high_agent),
  constraint low_agent_is_registered foreign key (low_agent) references mesh.peers (agent_id),
  constraint high_agent_is_registered foreign key (high_agent) references mesh.peers (agent_id),
  constraint psk_is_encrypted check (encrypted_psk ~ '^v1\.[0-9a-f]{16}\.[A-Za-z0-9+/=]+$'),
  constraint made_at_is_set_when_made check (encrypted_psk is null or made_at is not null)
);
comment on table mesh.pairs is
  'One row for each two peers that have seen each other since both registered. It stays when they lose sight of each other, and goes with either peer.';
comment on column mesh.pairs.psk_version is
  'Which PSK of the pair this is: 1 for the first. Rises when a PSK that was made is to be replaced, at which encrypted_psk becomes null. While it is null the version stays: nobody was given a PSK of it.';
comment on column mesh.pairs.encrypted_psk is
  'v1.<id of the encryption key>.<base64>, encrypted by the function: the database never sees a PSK. Null until the next configuration of either side makes it.';
comment on column mesh.pairs.made_at is 'When the newest PSK was made; null before the first.';
comment on column mesh.pairs.rotated_at is 'When psk_version last rose.';

create index pairs_by_high_agent on mesh.pairs (high_agent);
create index pairs_by_encryption_key on mesh.pairs (encryption_key_id) where encrypted_psk is not null;

alter table mesh.rules enable row level security;
alter table mesh.pairs enable row level security;

revoke all on mesh.rules, mesh.pairs from public, anon, authenticated;
grant select, insert, update, delete on mesh.rules, mesh.pairs to service_role;
