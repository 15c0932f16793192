-- Agreeing to a rule, and revoking it.

create function public.agent_api_put_rule(
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
  has_policy boolean;
  rule mesh.rules;
begin
  caller_agent := agents.require_one_of(
    agents.admit(agent_api_put_rule.caller), agent_api_put_rule.from_agent, agent_api_put_rule.to_agent
  );
  perform mesh.take_turn(caller_agent);
  perform mesh.lock_agents(array[agent_api_put_rule.from_agent, agent_api_put_rule.to_agent]);
  rule.from_agent := agent_api_put_rule.from_agent;
  rule.to_agent := agent_api_put_rule.to_agent;
  rule.proto := agent_api_put_rule.proto;
  rule.port := agent_api_put_rule.port;
  -- A rule of the policy is active, whoever agrees to it.
  has_policy := mesh.is_in_policy(rule);
  if mesh.is_declined(rule, caller_agent) then
    -- Answer as for a waiting request, and store nothing: a declined request does not bother the
    -- other side again.
    return mesh.put_rule_json(
      rule, created => false,
      waiting_for => case
        when has_policy then null
        when caller_agent = rule.from_agent then rule.to_agent
        else rule.from_agent
      end
    );
  end if;

  perform mesh.start_and_lock_config_versions(array[agent_api_put_rule.from_agent, agent_api_put_rule.to_agent]);
  saw_each_other := mesh.see_each_other(agent_api_put_rule.from_agent, agent_api_put_rule.to_agent);
  select r.active into was_active
  from mesh.rules r
  where r.from_agent = agent_api_put_rule.from_agent
    and r.to_agent = agent_api_put_rule.to_agent
    and r.proto = agent_api_put_rule.proto
    and r.port = agent_api_put_rule.port;
  created := not found;

  insert into mesh.rules as r (from_agent, to_agent, proto, port, from_agreed_at, to_agreed_at)
  values (
    agent_api_put_rule.from_agent,
    agent_api_put_rule.to_agent,
    agent_api_put_rule.proto,
    agent_api_put_rule.port,
    -- The operator, whose caller_agent is null, agrees for both.
    case when caller_agent is distinct from agent_api_put_rule.to_agent then clock_timestamp() end,
    case when caller_agent is distinct from agent_api_put_rule.from_agent then clock_timestamp() end
  )
  on conflict on constraint a_rule_is_put_once do update
  set from_agreed_at = coalesce(r.from_agreed_at, excluded.from_agreed_at),
      to_agreed_at = coalesce(r.to_agreed_at, excluded.to_agreed_at)
  returning r.* into rule;

  if created or rule.active is distinct from was_active then
    perform mesh.refuse_beyond_limits(
      rule, caller_agent, agent_api_put_rule.max_rules, agent_api_put_rule.max_requests,
      agent_api_put_rule.max_requests_per_target
    );
  end if;
  if created or rule.active is distinct from was_active or rule.policy_since is not null then
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
    perform mesh.record_rule_event(agent_api_put_rule.caller, caller_agent, 'rule.activated', rule);
    if not saw_each_other and mesh.both_registered(rule.from_agent, rule.to_agent) then
      perform mesh.record_sight(
        agent_api_put_rule.caller, caller_agent, 'peer.appeared', rule.from_agent,
        array[rule.to_agent::text]
      );
    end if;
  elsif created then
    perform mesh.record_rule_event(agent_api_put_rule.caller, caller_agent, 'rule.requested', rule);
  end if;

  return mesh.put_rule_json(rule, created, mesh.waiting_for(rule));
end
$$;
comment on function public.agent_api_put_rule(jsonb, text, text, integer, text, integer, integer, integer) is
  'Agrees to a rule, for the calling agent or, as the operator, for both. The rule is active once '
  'both have agreed. If the other side has declined it within a day, nothing changes. Raises '
  'forbidden, limit_exceeded.';

create function public.agent_api_revoke_rule(
  caller jsonb,
  from_agent text,
  to_agent text,
  port integer,
  proto text
) returns json
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
    agents.admit(agent_api_revoke_rule.caller), agent_api_revoke_rule.from_agent,
    agent_api_revoke_rule.to_agent
  );
  perform mesh.take_turn(caller_agent);
  perform mesh.lock_agents(array[agent_api_revoke_rule.from_agent, agent_api_revoke_rule.to_agent]);
  perform mesh.lock_config_versions(array[agent_api_revoke_rule.from_agent, agent_api_revoke_rule.to_agent]);
  rule.from_agent := agent_api_revoke_rule.from_agent;
  rule.to_agent := agent_api_revoke_rule.to_agent;
  rule.proto := agent_api_revoke_rule.proto;
  rule.port := agent_api_revoke_rule.port;
  if mesh.is_in_policy(rule) then
    raise sqlstate 'PT409' using message = 'policy_rule';
  end if;

  delete from mesh.rules r
  where r.from_agent = agent_api_revoke_rule.from_agent
    and r.to_agent = agent_api_revoke_rule.to_agent
    and r.proto = agent_api_revoke_rule.proto
    and r.port = agent_api_revoke_rule.port
  returning r.* into rule;
  revoked := found;

  if revoked then
    if rule.active and mesh.both_registered(rule.from_agent, rule.to_agent) then
      perform mesh.raise_config_versions(array[rule.to_agent]);
      if not mesh.see_each_other(rule.from_agent, rule.to_agent) then
        perform mesh.raise_config_versions(array[rule.from_agent]);
        perform mesh.record_sight(
          agent_api_revoke_rule.caller, caller_agent, 'peer.vanished', rule.from_agent,
          array[rule.to_agent::text]
        );
      end if;
    end if;
    if caller_agent = mesh.waiting_for(rule) then
      perform mesh.decline_request(rule, caller_agent);
    end if;
    perform mesh.record_rule_event(agent_api_revoke_rule.caller, caller_agent, 'rule.revoked', rule);
  end if;

  return json_build_object(
    'from_agent', agent_api_revoke_rule.from_agent,
    'to_agent', agent_api_revoke_rule.to_agent,
    'port', agent_api_revoke_rule.port,
    'proto', agent_api_revoke_rule.proto,
    'revoked', revoked
  );
end
$$;
comment on function public.agent_api_revoke_rule(jsonb, text, text, integer, text) is
  'Ends a rule, or a request for one, for both of its agents. An agent that has not agreed to the '
  'request yet declines it for a day by calling this. Idempotent. Raises forbidden, and '
  'policy_rule for a rule that the policy has.';
