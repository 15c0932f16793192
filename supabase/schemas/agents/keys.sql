-- Agent keys: which there are. key_changes.sql creates and revokes them.

create table agents.keys (
  key_id text collate "C" primary key,
  agent_id agents.agent_id not null,
  key_hash text collate "C" not null,
  label text,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  revoked_at timestamptz,

  constraint key_id_is_well_formed check (
    length(key_id) = 36 and key_id ~ '^key_[0-9a-f]*$'
  ),
  constraint key_hash_is_a_sha256 check (length(key_hash) = 64 and key_hash ~ '^[0-9a-f]*$'),
  constraint key_hash_is_unique unique (key_hash)
);
comment on table agents.keys is
  'Agent keys. Only the SHA-256 of a key is stored; the key itself is shown once, when it is '
  'created.';

create index keys_by_agent on agents.keys (agent_id);
