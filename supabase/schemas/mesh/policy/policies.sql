-- The policy: rules that the operator keeps in a file, for agents and for tags. Its rules are rows
-- of mesh.rules, one for each two agents, so code that reads rules need not know about the policy.
--
-- Locks, before step 1 of the order in config_versions.sql and after access locks:
--   - the policy: a change of tags takes it in shared mode, agent_api_apply_policy exclusively. So
--     neither misses what the other changes.
--   - its rules: a change of tags that the policy names takes it exclusively. So if two agents get
--     tags at the same time, the second sees the tags of the first.

create function mesh.is_name_in_policy(name text) returns boolean
language sql
immutable
return case
  when starts_with(name, 'tag:') then agents.is_tag(name)
  else agents.is_agent_id(name)
end;
comment on function mesh.is_name_in_policy(text) is
  'Whether a policy may use this name: a tag if it begins with tag:, otherwise an agent.';

create table mesh.policies (
  only_row boolean primary key default true,
  source text not null,
  fingerprint text collate "C" not null,
  applied_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  rules integer not null default 0,

  constraint there_is_one_policy check (only_row),
  constraint source_is_a_file check (octet_length(source) <= 262144)
)
with (fillfactor = 10);
comment on table mesh.policies is
  'The policy that is in force: one row, or none before the first.';
comment on column mesh.policies.source is 'The file as it was written, with its comments.';
comment on column mesh.policies.fingerprint is 'The fingerprint of the plan that was applied.';
comment on column mesh.policies.finished_at is
  'When the last of its rules was made; null: agent_api_apply_policy has to be called again.';
comment on column mesh.policies.rules is
  'How many rules of the policy are in mesh.rules. Changes only under the lock of the policy or of '
  'its rules.';

create table mesh.policy_lines (
  from_name text collate "C" not null,
  to_name text collate "C" not null,
  proto text collate "C" not null,
  port integer not null,

  constraint a_policy_has_a_line_once primary key (from_name, to_name, proto, port),
  constraint from_name_is_a_tag_or_an_agent check (mesh.is_name_in_policy(from_name)),
  constraint to_name_is_a_tag_or_an_agent check (mesh.is_name_in_policy(to_name)),
  constraint proto_of_a_line_is_tcp_or_udp check (proto in ('tcp', 'udp')),
  constraint port_of_a_line_is_a_port check (port between 1 and 65535)
);
comment on table mesh.policy_lines is
  'The rules of the policy in force, one row for each name, protocol and port. A name that begins '
  'with tag: is a tag, any other an agent.';

create index policy_lines_by_to_name on mesh.policy_lines (to_name);

create function mesh.policy_lock() returns bigint
language sql
immutable
return hashtextextended('mesh policy', 0);
comment on function mesh.policy_lock() is 'The advisory lock of the policy.';

create function mesh.policy_names(names text[]) returns boolean
language sql
stable
set search_path = ''
as $$
  select exists (select from mesh.policy_lines l where l.from_name = any (policy_names.names))
    or exists (select from mesh.policy_lines l where l.to_name = any (policy_names.names))
$$;
comment on function mesh.policy_names(text[]) is
  'Whether the policy in force names any of these agents and tags.';

create function mesh.enter_policy(names text[]) returns boolean
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform pg_advisory_xact_lock_shared(mesh.policy_lock());
  if not mesh.policy_names(enter_policy.names) then
    return false;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('mesh policy rules', 0));
  return true;
end
$$;
comment on function mesh.enter_policy(text[]) is
  'Takes the locks for a change of an agent''s tags. Call it before the agent''s mesh is locked. '
  'names are the tags that change. Returns whether the policy names any of them.';
