-- Access rules: who may reach whom. On the wire they are called acls.

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
  'Access rules. A rule is active when both of its agents have agreed; before that it is a '
  'request, which gives nobody access. It may name agents that are not registered.';

create index rules_by_to_agent on mesh.rules (to_agent, from_agent, proto, port);

-- Of active rules alone: anybody can pile up requests, which must not slow down a configuration.
create index active_rules_by_from_agent on mesh.rules (from_agent, to_agent) where active;

create index active_rules_by_to_agent on mesh.rules (to_agent, from_agent, proto, port) where active;

create function mesh.neighbours(agent_id text) returns text[]
language sql
stable
set search_path = ''
as $$
  select coalesce(array_agg(n.agent_id), '{}')
  from (
    select r.to_agent from mesh.rules r where r.active and r.from_agent = neighbours.agent_id
    union
    select r.from_agent from mesh.rules r where r.active and r.to_agent = neighbours.agent_id
  ) as n (agent_id)
$$;
comment on function mesh.neighbours(text) is
  'Everybody who shares an active rule with an agent, registered or not.';

create function mesh.visible_peers(agent_id text) returns text[]
language sql
stable
set search_path = ''
as $$
  select coalesce(array_agg(p.agent_id), '{}')
  -- In the from clause, neighbours is called once. As a condition it would be called per peer.
  from unnest(mesh.neighbours(visible_peers.agent_id)) as n (agent_id)
  join mesh.peers p on p.agent_id = n.agent_id
$$;
comment on function mesh.visible_peers(text) is
  'The other peers that an agent sees: registered, and sharing an active rule with it.';

create function mesh.see_each_other(one_agent text, other_agent text) returns boolean
language sql
stable
begin atomic
  select exists (
      select from mesh.rules r
      where r.active and r.from_agent = one_agent and r.to_agent = other_agent
    )
    or exists (
      select from mesh.rules r
      where r.active and r.from_agent = other_agent and r.to_agent = one_agent
    );
end;
comment on function mesh.see_each_other(text, text) is
  'Whether two agents share an active rule, in either direction: if both are registered, they see '
  'each other.';

create function mesh.waiting_for(rule mesh.rules) returns text
language sql
immutable
return case
  when rule.from_agreed_at is null then rule.from_agent
  when rule.to_agreed_at is null then rule.to_agent
end;
comment on function mesh.waiting_for(mesh.rules) is
  'The agent that has not agreed to a rule yet; null: the rule is active.';

create function mesh.record_rule_event(caller jsonb, caller_agent text, action text, rule mesh.rules) returns void
language sql
volatile
set search_path = ''
as $$
  select agents.record_change(
    record_rule_event.caller, record_rule_event.caller_agent, record_rule_event.action,
    (record_rule_event.rule).from_agent,
    jsonb_build_object(
      'to_agent', (record_rule_event.rule).to_agent,
      'proto', (record_rule_event.rule).proto,
      'port', (record_rule_event.rule).port
    ),
    (record_rule_event.rule).to_agent,
    (record_rule_event.rule).proto || ' ' || (record_rule_event.rule).port
  )
$$;
comment on function mesh.record_rule_event(jsonb, text, text, mesh.rules) is
  'Appends an event about a rule to agents.events; its subject is the agent that the rule lets in.';

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

create function public.put_rule(
  caller jsonb,
  from_agent text,
  to_agent text,
  port integer,
  proto text,
  max_rules integer default 10000,
  max_requests integer default 1000,
  max_requests_per_target integer default 100
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  saw_each_other boolean;
  created boolean;
  was_active boolean;
  rule mesh.rules;
begin
  caller_agent := agents.require_one_of(
    agents.admit(put_rule.caller), put_rule.from_agent, put_rule.to_agent
  );
  perform mesh.take_turn(caller_agent);
  perform mesh.lock_agents(array[put_rule.from_agent, put_rule.to_agent]);
  rule.from_agent := put_rule.from_agent;
  rule.to_agent := put_rule.to_agent;
  rule.proto := put_rule.proto;
  rule.port := put_rule.port;
  if mesh.is_declined(rule, caller_agent) then
    -- Answered like a request that waits, and kept nowhere: what was declined bothers nobody again.
    return mesh.put_rule_json(
      rule, created => false,
      waiting_for => case when caller_agent = rule.from_agent then rule.to_agent else rule.from_agent end
    );
  end if;

  perform mesh.start_config_versions(array[put_rule.from_agent, put_rule.to_agent]);
  perform mesh.lock_config_versions(array[put_rule.from_agent, put_rule.to_agent]);
  saw_each_other := mesh.see_each_other(put_rule.from_agent, put_rule.to_agent);
  select r.active into was_active
  from mesh.rules r
  where r.from_agent = put_rule.from_agent
    and r.to_agent = put_rule.to_agent
    and r.proto = put_rule.proto
    and r.port = put_rule.port;
  created := not found;

  insert into mesh.rules as r (from_agent, to_agent, proto, port, from_agreed_at, to_agreed_at)
  values (
    put_rule.from_agent,
    put_rule.to_agent,
    put_rule.proto,
    put_rule.port,
    -- The operator, whose caller_agent is null, agrees for both.
    case when caller_agent is distinct from put_rule.to_agent then clock_timestamp() end,
    case when caller_agent is distinct from put_rule.from_agent then clock_timestamp() end
  )
  on conflict on constraint a_rule_is_put_once do update
  set from_agreed_at = coalesce(r.from_agreed_at, excluded.from_agreed_at),
      to_agreed_at = coalesce(r.to_agreed_at, excluded.to_agreed_at)
  returning r.* into rule;

  if created or rule.active is distinct from was_active then
    perform mesh.refuse_beyond_limits(
      rule, caller_agent, put_rule.max_rules, put_rule.max_requests, put_rule.max_requests_per_target
    );
    perform mesh.forget_declined(rule);
  end if;

  if rule.active and was_active is not true then
    if mesh.both_registered(rule.from_agent, rule.to_agent) then
      if not saw_each_other then
        insert into mesh.pairs (low_agent, high_agent)
        values (least(rule.from_agent, rule.to_agent), greatest(rule.from_agent, rule.to_agent))
        on conflict do nothing;
        perform mesh.raise_config_versions(array[rule.from_agent]);
      end if;
      -- The text of from_agent does not say what it may reach. So only the first rule between the
      -- two changes it.
      perform mesh.raise_config_versions(array[rule.to_agent]);
    end if;
    perform mesh.record_rule_event(put_rule.caller, caller_agent, 'rule.activated', rule);
    if not saw_each_other and mesh.both_registered(rule.from_agent, rule.to_agent) then
      perform mesh.record_sight(
        put_rule.caller, caller_agent, 'peer.appeared', rule.from_agent, array[rule.to_agent::text]
      );
    end if;
  elsif created then
    perform mesh.record_rule_event(put_rule.caller, caller_agent, 'rule.requested', rule);
  end if;

  return mesh.put_rule_json(rule, created, mesh.waiting_for(rule));
end
$$;
comment on function public.put_rule(jsonb, text, text, integer, text, integer, integer, integer) is
  'Agrees to a rule, for the calling agent or, as the operator, for both. The rule is active once '
  'both have agreed. If the other side has declined it within a day, nothing changes. Raises '
  'forbidden, limit_exceeded.';

create function public.revoke_rule(caller jsonb, from_agent text, to_agent text, port integer, proto text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  revoked boolean;
  rule mesh.rules;
begin
  caller_agent := agents.require_one_of(
    agents.admit(revoke_rule.caller), revoke_rule.from_agent, revoke_rule.to_agent
  );
  perform mesh.take_turn(caller_agent);
  perform mesh.lock_agents(array[revoke_rule.from_agent, revoke_rule.to_agent]);
  perform mesh.lock_config_versions(array[revoke_rule.from_agent, revoke_rule.to_agent]);

  delete from mesh.rules r
  where r.from_agent = revoke_rule.from_agent
    and r.to_agent = revoke_rule.to_agent
    and r.proto = revoke_rule.proto
    and r.port = revoke_rule.port
  returning r.* into rule;
  revoked := found;

  if revoked then
    if rule.active and mesh.both_registered(rule.from_agent, rule.to_agent) then
      perform mesh.raise_config_versions(array[rule.to_agent]);
      if not mesh.see_each_other(rule.from_agent, rule.to_agent) then
        perform mesh.raise_config_versions(array[rule.from_agent]);
        perform mesh.record_sight(
          revoke_rule.caller, caller_agent, 'peer.vanished', rule.from_agent, array[rule.to_agent::text]
        );
      end if;
    end if;
    if caller_agent = mesh.waiting_for(rule) then
      perform mesh.decline_request(rule, caller_agent);
    end if;
    perform mesh.record_rule_event(revoke_rule.caller, caller_agent, 'rule.revoked', rule);
  end if;

  return json_build_object(
    'from_agent', revoke_rule.from_agent,
    'to_agent', revoke_rule.to_agent,
    'port', revoke_rule.port,
    'proto', revoke_rule.proto,
    'revoked', revoked
  );
end
$$;
comment on function public.revoke_rule(jsonb, text, text, integer, text) is
  'Ends a rule, or a request for one, for both of its agents. If the agent that was asked calls '
  'it, it declines the request for a day. Idempotent. Raises forbidden.';
