-- Shows what a policy would change before it is applied, and the policy that is in force.

create function mesh.refuse_malformed_policy(policy jsonb) returns void
language plpgsql
immutable
set search_path = ''
as $$
begin
  -- `strict`, because otherwise jsonpath takes a list for each of its members.
  if jsonb_typeof(policy -> 'source') is distinct from 'string'
    or octet_length(policy ->> 'source') > 262144
    or jsonb_typeof(policy -> 'rules') is distinct from 'array'
    or jsonb_typeof(coalesce(policy -> 'agents', '[]')) <> 'array'
    or jsonb_array_length(jsonb_path_query_array(policy, 'strict $.rules[*] ? (
      @.from.type() == "array" && @.to.type() == "array" && @.ports.type() == "array"
      && (@.proto == "tcp" || @.proto == "udp")
    )', silent => true))
    < jsonb_array_length(jsonb_path_query_array(policy, 'strict $.rules[*]', silent => true))
    or policy @? 'strict $.rules[*].ports[*] ? (
      @.type() != "number" || !(@ >= 1 && @ <= 65535 && @ == @.floor())
    )'
    or exists (
      select
      from (
        select jsonb_path_query(policy, 'strict $.rules[*].from[*]', silent => true)
        union all
        select jsonb_path_query(policy, 'strict $.rules[*].to[*]', silent => true)
        union all
        select jsonb_path_query(policy, 'strict $.agents[*]', silent => true)
      ) as n (name)
      where jsonb_typeof(n.name) <> 'string' or not mesh.is_name_in_policy(n.name #>> '{}')
    )
  then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "policy", "message": "Must be what `agentops policy plan` makes of a file."}]}';
  end if;
end
$$;
comment on function mesh.refuse_malformed_policy(jsonb) is
  'Raises invalid_request unless the policy is {source, rules: [{from: [name], to: [name], ports: '
  '[number], proto}], agents?: [agent_id]}.';

create function mesh.fingerprint_of(policy jsonb) returns text
language sql
stable
set search_path = ''
as $$
  with names as materialized (
    select l.from_name as name from mesh.lines_of(fingerprint_of.policy) l
    union
    select l.to_name from mesh.lines_of(fingerprint_of.policy) l
    union
    select l.from_name from mesh.policy_lines l
    union
    select l.to_name from mesh.policy_lines l
  ), looked_at as (
    select a.agent_id, n.name as tag
    from names n
    cross join lateral mesh.agents_named(n.name) a
    where starts_with(n.name, 'tag:')
    union
    select a.agent_id, t.tag
    from jsonb_array_elements_text(coalesce(fingerprint_of.policy -> 'agents', '[]')) as a (agent_id)
    cross join lateral unnest(agents.tags_of(a.agent_id)) as t (tag)
  )
  select encode(
    sha256(convert_to(
      jsonb_build_array(
        fingerprint_of.policy,
        (select jsonb_build_array(p.fingerprint, p.applied_at, p.rules) from mesh.policies p),
        (
          select string_agg(l.agent_id || ' ' || l.tag, ',' order by l.agent_id collate "C", l.tag collate "C")
          from looked_at l
        )
      )::text,
      'UTF8'
    )),
    'hex'
  )
$$;
comment on function mesh.fingerprint_of(jsonb) is
  'A digest of a policy and of what its plan depends on: the policy in force, which agents have '
  'the tags that either policy names, and the tags of the agents that the tests name.';

create function public.agent_api_plan_policy(
  policy jsonb,
  max_entries integer default 200
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  changes mesh.policy_change[];
  effects mesh.policy_effects;
begin
  perform mesh.refuse_malformed_policy(agent_api_plan_policy.policy);
  changes := mesh.changes_of_policy(agent_api_plan_policy.policy);
  effects := mesh.effects_of(changes);
  return json_build_object(
    'fingerprint', mesh.fingerprint_of(agent_api_plan_policy.policy),
    'in_force', (
      select json_build_object(
        'fingerprint', p.fingerprint,
        'applied_at', agents.iso_timestamp(p.applied_at),
        'finished', p.finished_at is not null,
        'rules', p.rules
      )
      from mesh.policies p
    ),
    'tags', (
      select coalesce(json_object_agg(a.agent_id, agents.tags_of(a.agent_id)), '{}')
      from jsonb_array_elements_text(coalesce(agent_api_plan_policy.policy -> 'agents', '[]')) as a (agent_id)
    ),
    'rules', (
      select json_build_object(
        'added', count(*) filter (where c.is_added),
        'removed', count(*) filter (where not c.is_added)
      )
      from unnest(changes) as c
    ),
    'gained', (
      select json_build_object(
        'rules', (select count(*) from unnest(effects.effective) as c where c.is_added),
        'pairs', (select count(*) from unnest(effects.sights) as s where s.is_gained)
      )
    ),
    'lost', (
      select json_build_object(
        'rules', (select count(*) from unnest(effects.effective) as c where not c.is_added),
        'pairs', (select count(*) from unnest(effects.sights) as s where not s.is_gained)
      )
    ),
    'changed_agents', cardinality(effects.changed_agents),
    'gained_rules', mesh.policy_rules_json(effects.effective, true, agent_api_plan_policy.max_entries),
    'lost_rules', mesh.policy_rules_json(effects.effective, false, agent_api_plan_policy.max_entries),
    'gained_pairs', mesh.policy_pairs_json(effects.sights, true, agent_api_plan_policy.max_entries),
    'lost_pairs', mesh.policy_pairs_json(effects.sights, false, agent_api_plan_policy.max_entries),
    'agents', to_json((effects.changed_agents)[:agent_api_plan_policy.max_entries])
  );
end
$$;
comment on function public.agent_api_plan_policy(jsonb, integer) is
  'What the project would gain and lose by a policy, {source, rules: [{from: [name], to: [name], '
  'ports: [number], proto}], agents?: the agents that its tests name}: {fingerprint, in_force: '
  '{fingerprint, applied_at, finished, rules} | null, tags: {agent_id: [tag]} of those agents, '
  'rules: {added, removed} of the policy, gained and lost: {rules, pairs}, changed_agents, and at '
  'most max_entries each of gained_rules, lost_rules, gained_pairs, lost_pairs, agents}. A rule '
  'that its agents have agreed to is not gained and not lost. Raises invalid_request, '
  'limit_exceeded.';

create function mesh.policy_rules_json(changes mesh.policy_change[], is_added boolean, max_entries integer)
returns json
language sql
immutable
set search_path = ''
as $$
  select coalesce(
    json_agg(
      json_build_object(
        'from_agent', l.from_agent, 'to_agent', l.to_agent, 'port', l.port, 'proto', l.proto
      )
      order by l.place
    ),
    '[]'
  )
  from (
    select c.from_agent, c.to_agent, c.port, c.proto, c.place
    from unnest(policy_rules_json.changes) with ordinality
      as c (from_agent, to_agent, proto, port, is_added, place)
    where c.is_added = policy_rules_json.is_added
    order by c.place
    limit policy_rules_json.max_entries
  ) l
$$;
comment on function mesh.policy_rules_json(mesh.policy_change[], boolean, integer) is
  'The first rules that are added, or removed.';

create function mesh.policy_pairs_json(sights mesh.policy_sight[], is_gained boolean, max_entries integer)
returns json
language sql
immutable
set search_path = ''
as $$
  select coalesce(json_agg(json_build_array(l.low_agent, l.high_agent) order by l.place), '[]')
  from (
    select s.low_agent, s.high_agent, s.place
    from unnest(policy_pairs_json.sights) with ordinality as s (low_agent, high_agent, is_gained, place)
    where s.is_gained = policy_pairs_json.is_gained
    order by s.place
    limit policy_pairs_json.max_entries
  ) l
$$;
comment on function mesh.policy_pairs_json(mesh.policy_sight[], boolean, integer) is
  'The first pairs that begin, or cease, to see each other.';

create function public.agent_api_read_policy() returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select json_build_object(
    'source', p.source,
    'fingerprint', p.fingerprint,
    'applied_at', agents.iso_timestamp(p.applied_at),
    'finished_at', agents.iso_timestamp(p.finished_at),
    'rules', p.rules
  )
  from mesh.policies p
$$;
comment on function public.agent_api_read_policy() is
  'The policy in force: {source: the file as it was written, fingerprint, applied_at, finished_at: '
  'null while agent_api_apply_policy has to be called again, rules}. Null before the first.';
