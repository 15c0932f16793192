-- Access rules: who may reach whom. On the wire they are called acls.

create table mesh.rules (
  from_agent agents.agent_id not null,
  to_agent agents.agent_id not null,
  proto text collate "C" not null,
  port integer not null,
  from_agreed_at timestamptz,
  to_agreed_at timestamptz,
  policy_since timestamptz,
  active boolean not null generated always as (
    from_agreed_at is not null and to_agreed_at is not null or policy_since is not null
  ) stored,
  origin text not null generated always as (
    case when policy_since is null then 'agents' else 'policy' end
  ) stored,

  constraint a_rule_is_put_once primary key (from_agent, to_agent, proto, port),
  constraint the_agents_of_a_rule_differ check (from_agent <> to_agent),
  constraint proto_is_tcp_or_udp check (proto in ('tcp', 'udp')),
  constraint port_is_a_port check (port between 1 and 65535),
  constraint somebody_agreed_to_a_rule check (
    from_agreed_at is not null or to_agreed_at is not null or policy_since is not null
  )
);
comment on table mesh.rules is
  'Access rules. A rule is active when both of its agents have agreed, or when the policy has it; '
  'otherwise it is a request, which gives nobody access. It may name agents that are not '
  'registered.';
comment on column mesh.rules.policy_since is
  'Since when the policy has this rule; null: it does not. Separate from what the agents agreed '
  'to, which stays when the policy no longer has the rule.';
comment on column mesh.rules.origin is
  'What keeps the rule: policy if the policy has it, otherwise agents.';

create index rules_by_to_agent on mesh.rules (to_agent, from_agent, proto, port);

-- Only active rules: anybody can make many requests, and these must not slow down a configuration.
create index active_rules_by_from_agent on mesh.rules (from_agent, to_agent) where active;

create index active_rules_by_to_agent on mesh.rules (to_agent, from_agent, proto, port) where active;

create index policy_rules_by_from_agent on mesh.rules (from_agent, to_agent, proto, port)
  where policy_since is not null;

create index policy_rules_by_to_agent on mesh.rules (to_agent, from_agent, proto, port)
  where policy_since is not null;

create function mesh.neighbours(agent_id text) returns text[]
language plpgsql
stable
set search_path = ''
as $$
begin
  return (
    select coalesce(array_agg(n.agent_id), '{}')
    from (
      select r.to_agent from mesh.rules r where r.active and r.from_agent = neighbours.agent_id
      union
      select r.from_agent from mesh.rules r where r.active and r.to_agent = neighbours.agent_id
    ) as n (agent_id)
  );
end
$$;
comment on function mesh.neighbours(text) is
  'The agents that share an active rule with an agent, registered or not.';

create function mesh.visible_peers(agent_id text) returns text[]
language plpgsql
stable
set search_path = ''
as $$
begin
  return (
    select coalesce(array_agg(p.agent_id), '{}')
    -- In the from clause, neighbours is called once. As a condition it would be called per peer.
    from unnest(mesh.neighbours(visible_peers.agent_id)) as n (agent_id)
    join mesh.peers p on p.agent_id = n.agent_id
  );
end
$$;
comment on function mesh.visible_peers(text) is
  'The other peers that an agent sees: registered, and sharing an active rule with it.';

create function mesh.see_each_other(one_agent text, other_agent text) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return exists (
      select from mesh.rules r
      where r.active and r.from_agent = one_agent and r.to_agent = other_agent
    )
    or exists (
      select from mesh.rules r
      where r.active and r.from_agent = other_agent and r.to_agent = one_agent
    );
end
$$;
comment on function mesh.see_each_other(text, text) is
  'Whether two agents share an active rule, in either direction: if both are registered, they see '
  'each other.';

create function mesh.waiting_for(rule mesh.rules) returns text
language sql
immutable
return case
  when rule.policy_since is not null then null
  when rule.from_agreed_at is null then rule.from_agent
  when rule.to_agreed_at is null then rule.to_agent
end;
comment on function mesh.waiting_for(mesh.rules) is
  'The agent that has not agreed to a rule yet; null: the rule is active.';

create function mesh.is_in_policy(rule mesh.rules) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return exists (
    select from mesh.rules r
    where r.from_agent = (is_in_policy.rule).from_agent
      and r.to_agent = (is_in_policy.rule).to_agent
      and r.proto = (is_in_policy.rule).proto
      and r.port = (is_in_policy.rule).port
      and r.policy_since is not null
  );
end
$$;
comment on function mesh.is_in_policy(mesh.rules) is 'Whether the policy has this rule now.';

create function mesh.record_rule_event(caller jsonb, caller_agent text, action text, rule mesh.rules) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform agents.record_change(
    record_rule_event.caller, record_rule_event.caller_agent, record_rule_event.action,
    (record_rule_event.rule).from_agent,
    jsonb_build_object(
      'to_agent', (record_rule_event.rule).to_agent,
      'proto', (record_rule_event.rule).proto,
      'port', (record_rule_event.rule).port
    ),
    (record_rule_event.rule).to_agent,
    (record_rule_event.rule).proto || ' ' || (record_rule_event.rule).port
  );
end
$$;
comment on function mesh.record_rule_event(jsonb, text, text, mesh.rules) is
  'Appends an event about a rule to agents.events; its subject is from_agent, which the rule lets '
  'in.';

create function mesh.put_rule_json(rule mesh.rules, created boolean, waiting_for text) returns json
language sql
stable
return json_build_object(
  'from_agent', rule.from_agent,
  'to_agent', rule.to_agent,
  'port', rule.port,
  'proto', rule.proto,
  'created', created,
  'active', waiting_for is null,
  'waiting_for', waiting_for
);
comment on function mesh.put_rule_json(mesh.rules, boolean, text) is 'The answer of /acl/put.';
