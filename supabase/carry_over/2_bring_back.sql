-- Brings the rows back that 1_set_aside.sql set aside, into the schema that `supabase db push`
-- made. All or nothing: where a table would end with another number of rows, it raises and changes
-- nothing. The old tables stay, in schemas that end in _before, until the operator drops them.

begin;

insert into agents.keys (
  key_id, agent_id, key_hash, label, created_at, expires_at, revoked_at
)
select key_id, agent_id, key_hash, label, created_at, expires_at, revoked_at
from agents_before.keys;

insert into agents.events (
  event_id, occurred_at, actor_kind, actor_agent_id, action, subject_agent_id, object_id, details,
  request_id
)
overriding system value
select event_id, occurred_at, actor_kind, actor_agent_id, action, subject_agent_id, object_id, details,
  request_id
from agents_before.events
order by event_id;
select setval(pg_get_serial_sequence('agents.events', 'event_id'), max(event_id))
from agents.events
having max(event_id) is not null;

-- The attempt of a sealed object was told by its path alone: this is the last time that one is read
-- out of it.
insert into artifacts.artifacts (
  artifact_id, agent_id, key, mime, size_bytes, ttl_days, state, sha256, created_at, committed_at,
  expires_at, deleted_at, ended_at, commit_attempts, rejected_attempts, sealed_attempt
)
select artifact_id, agent_id, key, mime, size_bytes, ttl_days, state, sha256, created_at, committed_at,
  expires_at, deleted_at, ended_at, commit_attempts, rejected_attempts,
  case when committed_at is not null then split_part(sealed_path, '/', 3)::integer end
from artifacts_before.artifacts;

insert into artifacts.verifications (
  artifact_id, attempt, lease_token, lease_expires_at, verified_bytes, hash_state, object_id,
  object_version, progress_at
)
select artifact_id, split_part(sealed_path, '/', 3)::integer, lease_token, lease_expires_at,
  verified_bytes, hash_state, hashed_object_id, hashed_object_version,
  case when hash_state is not null then progress_at end
from artifacts_before.artifacts
where state = 'pending' and ended_at is null and sealed_path is not null;

insert into artifacts.grants (
  grant_id, artifact_id, from_agent, to_agent, token_hash, granted_at, expires_at, revoked_at
)
select g.grant_id, g.artifact_id, a.agent_id, g.to_agent, g.token_hash, g.granted_at, g.expires_at,
  g.revoked_at
from artifacts_before.grants g
join artifacts_before.artifacts a on a.artifact_id = g.artifact_id;

-- Before any address is leased: the networks can change only while there is no peer.
update mesh.settings s
set ipv4_network = b.ipv4_network, ipv6_network = b.ipv6_network
from mesh_before.settings b;

insert into mesh.address_leases (agent_id, ipv4, ipv6, released_at)
select agent_id, ipv4, ipv6, released_at
from mesh_before.address_leases;

insert into mesh.peers (agent_id, pubkey, endpoint, listen_port, registered_at, updated_at)
select p.agent_id, p.pubkey,
  -- Nobody may register these any more, and no configuration would render with them. Their agents
  -- count as behind NAT until they register again.
  case
    when p.endpoint ~ '^([^:]*\.)?localhost:' or h.host <<= any (
      array['240.0.0.0/4', '::/96', '64:ff9b::/96', 'fec0::/10']::inet[]
    ) then null
    else p.endpoint
  end,
  p.listen_port, p.registered_at, p.updated_at
from mesh_before.peers p
cross join lateral (
  select coalesce(substring(p.endpoint from '^\[(.*)\]:'), substring(p.endpoint from '^([0-9.]+):'))::inet
) as h (host);

insert into mesh.liveness (agent_id, last_seen, config_version_applied)
select agent_id, last_seen, config_version_applied
from mesh_before.liveness;

insert into mesh.rules (from_agent, to_agent, proto, port, from_agreed_at, to_agreed_at)
select from_agent, to_agent, proto, port, from_agreed_at, to_agreed_at
from mesh_before.rules;

insert into mesh.pairs (low_agent, high_agent, psk_version, encrypted_psk, made_at, rotated_at)
select low_agent, high_agent, psk_version, sealed_psk, made_at, rotated_at
from mesh_before.pairs;

insert into mesh.config_versions (agent_id, version)
select agent_id, version
from mesh_before.config_versions;

do $$
declare
  carried text;
  rows_before bigint;
  rows_now bigint;
begin
  foreach carried in array array[
    'agents.keys', 'agents.events', 'artifacts.artifacts', 'artifacts.grants', 'mesh.settings',
    'mesh.address_leases', 'mesh.peers', 'mesh.liveness', 'mesh.rules', 'mesh.pairs',
    'mesh.config_versions'
  ] loop
    execute format('select count(*) from %s', replace(carried, '.', '_before.')) into rows_before;
    execute format('select count(*) from %s', carried) into rows_now;
    if rows_before <> rows_now then
      raise exception '% had % rows and would have %: nothing is changed.', carried, rows_before, rows_now;
    end if;
  end loop;
end
$$;

commit;
