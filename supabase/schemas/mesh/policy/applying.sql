-- Putting a policy into force.

create function mesh.policy_in_force() returns jsonb
language sql
stable
set search_path = ''
as $$
  select jsonb_build_object(
    'rules',
    coalesce(
      jsonb_agg(
        jsonb_build_object(
          'from', jsonb_build_array(l.from_name),
          'to', jsonb_build_array(l.to_name),
          'ports', jsonb_build_array(l.port),
          'proto', l.proto
        )
      ),
      '[]'
    )
  )
  from mesh.policy_lines l
$$;
comment on function mesh.policy_in_force() is
  'The rules of the policy in force, in the form of agent_api_plan_policy.';

create function public.agent_api_apply_policy(policy jsonb, expect text, max_changes integer default 5000)
returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  operator constant jsonb := jsonb_build_object('kind', 'operator');
  in_force mesh.policies;
  changes mesh.policy_change[];
  effects mesh.policy_effects;
  remaining integer;
begin
  perform mesh.refuse_malformed_policy(agent_api_apply_policy.policy);
  perform pg_advisory_xact_lock(mesh.policy_lock());
  select p.* into in_force from mesh.policies p;

  -- Otherwise, an earlier call has begun to apply this policy, and this call continues.
  if in_force.fingerprint is distinct from agent_api_apply_policy.expect
    or in_force.source is distinct from agent_api_apply_policy.policy ->> 'source'
  then
    if mesh.fingerprint_of(agent_api_apply_policy.policy) is distinct from agent_api_apply_policy.expect then
      raise sqlstate 'PT409' using
        message = 'policy_changed',
        hint = 'The policy in force or the tags of agents have changed since that plan: run `agentops policy plan` again.';
    end if;
    changes := mesh.changes_of_policy(agent_api_apply_policy.policy);
    insert into mesh.policies as p (source, fingerprint)
    values (agent_api_apply_policy.policy ->> 'source', agent_api_apply_policy.expect)
    on conflict on constraint policies_pkey do update
    set source = excluded.source,
      fingerprint = excluded.fingerprint,
      applied_at = excluded.applied_at,
      finished_at = null;
    delete from mesh.policy_lines l where l.port > 0;
    insert into mesh.policy_lines (from_name, to_name, proto, port)
    select l.from_name, l.to_name, l.proto, l.port
    from mesh.lines_of(agent_api_apply_policy.policy) l;
    perform agents.record_event(
      operator, null, 'policy.applied', null, null,
      (
        select jsonb_build_object(
          'fingerprint', agent_api_apply_policy.expect,
          'added', count(*) filter (where c.is_added),
          'removed', count(*) filter (where not c.is_added)
        )
        from unnest(changes) as c
      )
    );
  else
    changes := mesh.changes_of_policy(mesh.policy_in_force(), is_limited => false);
  end if;

  remaining := greatest(cardinality(changes) - agent_api_apply_policy.max_changes, 0);
  effects := mesh.make_policy_changes(operator, changes[:agent_api_apply_policy.max_changes]);
  update mesh.policies p
  set finished_at = coalesce(p.finished_at, clock_timestamp())
  where p.only_row and remaining = 0;
  return json_build_object(
    'fingerprint', agent_api_apply_policy.expect,
    'added', (
      select count(*) from unnest(changes[:agent_api_apply_policy.max_changes]) as c where c.is_added
    ),
    'removed', (
      select count(*) from unnest(changes[:agent_api_apply_policy.max_changes]) as c where not c.is_added
    ),
    'changed_agents', cardinality(effects.changed_agents),
    'remaining', remaining
  );
end
$$;
comment on function public.agent_api_apply_policy(jsonb, text, integer) is
  'Puts a policy, in the form of agent_api_plan_policy, into force: expect is the fingerprint of '
  'the plan. Makes up to max_changes changes, first those that end a rule: {fingerprint, added, '
  'removed, changed_agents, remaining}. While remaining is not 0, call it again. Idempotent. '
  'Raises policy_changed, invalid_request, limit_exceeded.';
