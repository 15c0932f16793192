-- Enrolments. Each says which proof of origin gives an agent key, and to which agent. The operator
-- creates them. An enrolment changes only in these ways: its uses are counted, the keys of its
-- issuer are replaced, the operator changes how many agents or bytes it may have, it is revoked, or
-- an erasure replaces a name in it.

create table agents.enrolments (
  enrolment_id text collate "C" primary key,
  kind text not null,
  label text,
  key_hash text collate "C",
  issuer text collate "C",
  audience text collate "C",
  jwks jsonb,
  conditions jsonb,
  agent_id agents.agent_id,
  agent_template text,
  agent_prefix text collate "C",
  tags text[] not null default '{}',
  uses_left integer,
  session_seconds integer not null,
  ephemeral_seconds integer,
  single_use_tokens boolean not null default false,
  max_token_age_seconds integer,
  max_agents integer not null default 1000,
  max_instances integer not null default 1,
  quota_bytes bigint,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  revoked_at timestamptz,

  constraint enrolment_id_is_well_formed check (
    length(enrolment_id) = 36 and enrolment_id ~ '^enr_[0-9a-f]*$'
  ),
  constraint there_are_two_kinds check (
    case kind
      when 'key' then key_hash is not null
        and num_nulls(issuer, audience, jwks, conditions, max_token_age_seconds) = 5
        and num_nonnulls(agent_id, agent_template, agent_prefix) <= 1
        and not single_use_tokens
      when 'trust' then key_hash is null
        and num_nulls(issuer, audience, conditions) = 0
        and num_nonnulls(agent_id, agent_template) = 1
        and num_nulls(agent_prefix, uses_left) = 2
      else false
    end
  ),
  constraint enrolment_key_hash_is_a_sha256 check (
    length(key_hash) = 64 and key_hash ~ '^[0-9a-f]*$'
  ),
  constraint enrolment_key_hash_is_unique unique (key_hash),
  constraint a_trust_has_conditions check (
    jsonb_typeof(conditions) = 'array' and jsonb_array_length(conditions) > 0
  ),
  constraint a_session_lasts_a_minute_to_a_day check (session_seconds between 60 and 86400),
  constraint an_ephemeral_agent_lasts_five_minutes_to_thirty_days check (
    ephemeral_seconds between 300 and 2592000
  ),
  constraint uses_are_counted_down_to_none check (uses_left >= 0),
  -- Each enrolment of another agent counts up to this many.
  constraint an_enrolment_has_up_to_a_hundred_thousand_agents check (
    max_agents between 1 and 100000
  ),
  constraint an_agent_has_up_to_a_hundred_instances check (max_instances between 1 and 100),
  constraint quota_of_an_enrolment_is_not_negative check (quota_bytes >= 0),
  constraint tags_of_an_enrolment_are_few check (cardinality(tags) <= 32)
);
comment on table agents.enrolments is
  'Which proofs of origin give an agent key: an enrolment key (only its SHA-256 is stored), or '
  'tokens of a trusted issuer.';
comment on column agents.enrolments.conditions is
  'The conditions that a token''s claims must meet: [{claim, equals | prefix}].';
comment on column agents.enrolments.agent_template is
  'A template for the agent''s name, with claims in braces. Of an enrolment key: with {agent_name}, '
  'the name that the agent asks for.';
comment on column agents.enrolments.agent_prefix is
  'What the name that an agent asks for must begin with.';
comment on column agents.enrolments.uses_left is
  'How many more times the enrolment can be used; null: any number of times.';
comment on column agents.enrolments.ephemeral_seconds is
  'How long after its last contact the sweep removes an agent; null: never.';

comment on column agents.enrolments.max_agents is
  'How many of its agents may exist at a time. An agent that has ended does not count.';
comment on column agents.enrolments.max_instances is
  'How many instances of one agent may have live keys at a time. With 1, the newest key ends the '
  'others, whatever its instance is called.';
comment on column agents.enrolments.quota_bytes is
  'How many bytes its agents may hold together; 0: any number; null: a multiple of the project''s '
  'quota for one agent.';

create index live_trusts_by_issuer on agents.enrolments (issuer)
  where kind = 'trust' and revoked_at is null;
create index enrolments_by_age on agents.enrolments (created_at, enrolment_id);

create table agents.enrolled_agents (
  agent_id agents.agent_id primary key,
  enrolment_id text collate "C" not null,
  generation integer not null,
  enrolled_at timestamptz not null,
  due_at timestamptz,
  ended_at timestamptz,
  kept_until timestamptz,
  cut smallint not null default 0,

  constraint cut_is_nothing_access_or_grants check (cut between 0 and 2),
  constraint an_agent_came_by_an_enrolment
    foreign key (enrolment_id) references agents.enrolments (enrolment_id)
);
comment on table agents.enrolled_agents is
  'Which agent enrolled with which enrolment. The row stays after the agent has ended, so that the '
  'agent can come back under its name and nobody else gets that name.';
comment on column agents.enrolled_agents.generation is
  'How often the agent has enrolled. If its enrolment allows several instances: how often without '
  'naming one.';
comment on column agents.enrolled_agents.due_at is
  'When the sweep checks whether an ephemeral agent is still in contact; null: not ephemeral.';
comment on column agents.enrolled_agents.ended_at is
  'When its keys last ended because it left, was removed, or its enrolment was revoked; null: the '
  'agent has not ended.';

comment on column agents.enrolled_agents.kept_until is
  'The sweep found that the ended agent had left something. It looks again 30 days after this; '
  'null: it has not looked.';
comment on column agents.enrolled_agents.cut is
  'What a revocation of the enrolment has ended: 0: nothing; 1: peer, rules and tags; 2: the grants '
  'that the agent gave, too, or there were none.';

create index enrolled_agents_by_enrolment on agents.enrolled_agents (enrolment_id, cut, ended_at, agent_id);
create index ephemeral_agents_by_due_time on agents.enrolled_agents (due_at)
  where due_at is not null and ended_at is null;
create index enrolled_agents_by_end on agents.enrolled_agents (greatest(ended_at, kept_until))
  where ended_at is not null;

create table agents.former_holders (
  agent_id agents.agent_id,
  enrolment_id text collate "C" not null,
  taken_in xid8 not null default agents.present_transaction(),

  constraint former_holders_pkey primary key (agent_id, enrolment_id),
  constraint a_former_holder_came_by_an_enrolment
    foreign key (enrolment_id) references agents.enrolments (enrolment_id)
);
comment on table agents.former_holders is
  'From which enrolments another one took an agent. Their later revocation still ends the grants '
  'that the agent had given by then. Each row is a decision of the operator, so there are few.';
comment on column agents.former_holders.taken_in is
  'The transaction of the take-over. Grants of an earlier transaction are from before it. Times '
  'cannot tell, because clocks go back.';

create index former_holders_by_enrolment on agents.former_holders (enrolment_id, agent_id);

create table agents.used_tokens (
  enrolment_id text collate "C" not null,
  token_id text collate "C" not null,
  key_id text collate "C" not null,
  expires_at timestamptz not null,

  constraint a_token_is_used_once primary key (enrolment_id, token_id),
  constraint token_id_is_a_sha256 check (length(token_id) = 64 and token_id ~ '^[0-9a-f]*$')
);
comment on table agents.used_tokens is
  'The tokens that enrolments for single-use tokens have seen, until they expire.';
comment on column agents.used_tokens.token_id is 'The jti of the token, else its SHA-256.';
comment on column agents.used_tokens.key_id is
  'The agent key that the token was exchanged for. Until that key is first used, the same token '
  'can be exchanged again.';

create index used_tokens_by_expiry on agents.used_tokens (expires_at);

create function agents.enrolment_lock(enrolment_id text) returns bigint
language sql
immutable
return hashtextextended('enrolment ' || enrolment_id, 0);
comment on function agents.enrolment_lock(text) is
  'The advisory lock of an enrolment. Enrolling takes it in shared mode, and revoking the '
  'enrolment takes it exclusively. A transaction takes it before any agent''s access_lock.';

create function agents.enrolment_json(enrolment agents.enrolments) returns jsonb
language sql
stable
return jsonb_build_object(
  'enrolment_id', enrolment.enrolment_id,
  'kind', enrolment.kind,
  'label', enrolment.label,
  'issuer', enrolment.issuer,
  'audience', enrolment.audience,
  'jwks', enrolment.jwks,
  'conditions', enrolment.conditions,
  'agent_id', enrolment.agent_id,
  'agent_template', enrolment.agent_template,
  'agent_prefix', enrolment.agent_prefix,
  'tags', enrolment.tags,
  'uses_left', enrolment.uses_left,
  'session_seconds', enrolment.session_seconds,
  'ephemeral_seconds', enrolment.ephemeral_seconds,
  'single_use_tokens', enrolment.single_use_tokens,
  'max_token_age_seconds', enrolment.max_token_age_seconds,
  'max_agents', enrolment.max_agents,
  'max_instances', enrolment.max_instances,
  'quota_bytes', enrolment.quota_bytes,
  'created_at', agents.iso_timestamp(enrolment.created_at),
  'expires_at', agents.iso_timestamp(enrolment.expires_at),
  'revoked_at', agents.iso_timestamp(enrolment.revoked_at)
);
comment on function agents.enrolment_json(agents.enrolments) is
  'An enrolment as the operator sees it, without its key.';
