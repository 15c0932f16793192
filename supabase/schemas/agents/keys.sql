-- The table of agent keys. key_changes.sql creates and revokes them.

create table agents.keys (
  key_id text collate "C" primary key,
  agent_id agents.agent_id not null,
  key_hash text collate "C" not null,
  label text,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  revoked_at timestamptz,
  enrolment_id text collate "C",
  generation integer,
  instance text collate "C",
  first_used_at timestamptz,
  superseded_at timestamptz,

  constraint key_id_is_well_formed check (
    length(key_id) = 36 and key_id ~ '^key_[0-9a-f]*$'
  ),
  constraint key_hash_is_a_sha256 check (length(key_hash) = 64 and key_hash ~ '^[0-9a-f]*$'),
  constraint key_hash_is_unique unique (key_hash),
  constraint an_enrolled_key_has_an_end_and_a_generation check (
    (enrolment_id is null) = (generation is null)
    and (enrolment_id is null or expires_at is not null)
  ),
  constraint an_instance_has_a_short_name check (
    instance is null
    or enrolment_id is not null and length(instance) <= 64 and instance ~ '^[A-Za-z0-9_-]+$'
  ),
  constraint a_superseded_key_is_revoked check (superseded_at is null or revoked_at is not null)
);
comment on table agents.keys is
  'Agent keys. Only the SHA-256 of a key is stored; the key itself is shown once, when it is '
  'created.';
comment on column agents.keys.enrolment_id is
  'The enrolment that the key came from; null: the operator made it.';
comment on column agents.keys.generation is
  'Which enrolment of the agent, or of this instance, created the key: 1 for the first. Null: the '
  'key is not from an enrolment.';
comment on column agents.keys.instance is
  'Which of several instances of the agent enrolled, if the instance named itself.';
comment on column agents.keys.first_used_at is
  'When a key from an enrolment was first used. Until then, the key of the previous generation '
  'stays live.';
comment on column agents.keys.superseded_at is
  'When a newer generation ended the key. A caller that still uses it gets the error superseded, '
  'not unauthenticated.';

create index keys_by_agent on agents.keys (agent_id);
-- For the sweep, which deletes expired keys from enrolments: a fleet gets new keys as long as it
-- lives.
create index enrolled_keys_by_expiry on agents.keys (expires_at) where enrolment_id is not null;
