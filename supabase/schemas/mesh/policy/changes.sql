-- Making the changes of the policy, to many agents in one transaction.

create function mesh.record_policy_events(caller jsonb, effects mesh.policy_effects) returns void
language sql
volatile
set search_path = ''
as $$
  select agents.record_event(
    record_policy_events.caller, null,
    case when c.is_added then 'rule.activated' else 'rule.revoked' end,
    c.from_agent, null,
    jsonb_build_object('to_agent', c.to_agent, 'proto', c.proto, 'port', c.port, 'origin', 'policy'),
    c.to_agent
  )
  from unnest((record_policy_events.effects).effective) as c;
  select agents.record_event(
    record_policy_events.caller, null,
    case when s.is_gained then 'peer.appeared' else 'peer.vanished' end,
    s.low_agent, other_agent_id => s.high_agent
  )
  from unnest((record_policy_events.effects).sights) as s;
$$;
comment on function mesh.record_policy_events(jsonb, mesh.policy_effects) is
  'Appends to agents.events what the policy changed, in the same form as other changes of rules.';

create function mesh.make_policy_changes(caller jsonb, changes mesh.policy_change[])
returns mesh.policy_effects
language plpgsql
volatile
set search_path = ''
-- The generic plan needs one index lookup per change. A plan for the thousands of changes of one
-- call joins whole tables with them, which took twenty times as long.
set plan_cache_mode = force_generic_plan
as $$
declare
  effects mesh.policy_effects;
begin
  perform mesh.start_and_lock_config_versions(array(
    select c.from_agent from unnest(make_policy_changes.changes) as c
    union
    select c.to_agent from unnest(make_policy_changes.changes) as c
  ));
  effects := mesh.effects_of(make_policy_changes.changes);

  delete from mesh.rules r
  using unnest(make_policy_changes.changes) as c
  where not c.is_added
    and r.from_agent = c.from_agent
    and r.to_agent = c.to_agent
    and r.proto = c.proto
    and r.port = c.port
    and r.from_agreed_at is null
    and r.to_agreed_at is null;
  -- Rules that agents have agreed to or requested stay.
  update mesh.rules r
  set policy_since = null
  from unnest(make_policy_changes.changes) as c
  where not c.is_added
    and r.from_agent = c.from_agent
    and r.to_agent = c.to_agent
    and r.proto = c.proto
    and r.port = c.port;
  insert into mesh.rules as r (from_agent, to_agent, proto, port, policy_since)
  select c.from_agent, c.to_agent, c.proto, c.port, clock_timestamp()
  from unnest(make_policy_changes.changes) as c
  where c.is_added
  order by c.from_agent, c.to_agent, c.proto, c.port
  on conflict on constraint a_rule_is_put_once do update
  set policy_since = coalesce(r.policy_since, excluded.policy_since);

  insert into mesh.pairs (low_agent, high_agent)
  select s.low_agent, s.high_agent
  from unnest(effects.sights) as s
  where s.is_gained
  order by s.low_agent, s.high_agent
  on conflict do nothing;
  perform mesh.raise_config_versions(effects.changed_agents);
  perform mesh.record_policy_events(make_policy_changes.caller, effects);

  update mesh.policies p
  set rules = p.rules + (
    select count(*) filter (where c.is_added) - count(*) filter (where not c.is_added)
    from unnest(make_policy_changes.changes) as c
  )
  where p.only_row;
  return effects;
end
$$;
comment on function mesh.make_policy_changes(jsonb, mesh.policy_change[]) is
  'Adds these rules to the policy or removes them from it. This is step 2 of the lock order, so '
  'call it once in a transaction. The caller holds the lock of the policy, or of its rules.';
