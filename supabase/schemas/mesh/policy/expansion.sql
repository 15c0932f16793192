-- Expands a policy: its rules between each two of the existing agents.

create type mesh.policy_change as (
  from_agent text collate "C",
  to_agent text collate "C",
  proto text collate "C",
  port integer,
  is_added boolean
);
comment on type mesh.policy_change is 'A rule that the policy gains or loses.';

create function mesh.lines_of(policy jsonb)
returns table (from_name text, to_name text, proto text, port integer)
language sql
immutable
set search_path = ''
as $$
  select distinct f.name collate "C", t.name collate "C", (r.rule ->> 'proto') collate "C", p.port::integer
  from jsonb_array_elements(lines_of.policy -> 'rules') as r (rule)
  cross join lateral jsonb_array_elements_text(r.rule -> 'from') as f (name)
  cross join lateral jsonb_array_elements_text(r.rule -> 'to') as t (name)
  cross join lateral jsonb_array_elements_text(r.rule -> 'ports') as p (port)
$$;
comment on function mesh.lines_of(jsonb) is
  'The lines of a policy in the form of agent_api_plan_policy.';

create function mesh.agents_named(name text) returns table (agent_id text)
language sql
stable
set search_path = ''
-- If the planner's statistics have few tags, it assumes that each one belongs to very many agents.
set enable_seqscan = off
set enable_bitmapscan = off
as $$
  select t.agent_id::text from agents.agent_tags t where t.tag = agents_named.name
  union all
  select agents_named.name where not starts_with(agents_named.name, 'tag:')
$$;
comment on function mesh.agents_named(text) is
  'The agents that a name in a policy stands for: those with the tag, or the one agent.';

create function mesh.max_policy_rules() returns integer
language sql
immutable
return 100000;
comment on function mesh.max_policy_rules() is
  'How many rules between agents a policy may expand to, so that planning it fits into the time '
  'limit of a call.';

create function mesh.max_policy_rules_per_agent() returns integer
language sql
immutable
return 10000;
comment on function mesh.max_policy_rules_per_agent() is
  'How many rules of the policy may name one agent, so that a change of its tags stays short.';

create function mesh.refuse_crowded_agent(agent_id text) returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  raise sqlstate 'PT409' using
    message = 'limit_exceeded',
    detail = json_build_object(
      'limit', 'policy_rules_per_agent',
      'maximum', mesh.max_policy_rules_per_agent(),
      'agent_id', refuse_crowded_agent.agent_id
    );
end
$$;
comment on function mesh.refuse_crowded_agent(text) is
  'Raises limit_exceeded: too many rules of the policy name this agent.';

create function mesh.refuse_large_policy(policy jsonb) returns void
language plpgsql
stable
set search_path = ''
as $$
declare
  max_lines constant integer := 10000;
  max_rules constant integer := mesh.max_policy_rules();
  lines bigint;
  rules numeric;
begin
  with sizes as (
    select
      jsonb_array_length(r.rule -> 'ports') as ports,
      f.name as from_name,
      t.name as to_name
    from jsonb_array_elements(refuse_large_policy.policy -> 'rules') as r (rule)
    cross join lateral jsonb_array_elements_text(r.rule -> 'from') as f (name)
    cross join lateral jsonb_array_elements_text(r.rule -> 'to') as t (name)
  ), members as (
    select n.name, (select count(*) from mesh.agents_named(n.name)) as agents
    from (select s.from_name as name from sizes s union select s.to_name from sizes s) n
  )
  select coalesce(sum(s.ports), 0), coalesce(sum(s.ports::numeric * f.agents * t.agents), 0)
  into lines, rules
  from sizes s
  join members f on f.name = s.from_name
  join members t on t.name = s.to_name;

  if lines > max_lines then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object('limit', 'policy_lines', 'maximum', max_lines);
  end if;
  if rules > max_rules then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object('limit', 'policy_rules', 'maximum', max_rules);
  end if;
end
$$;
comment on function mesh.refuse_large_policy(jsonb) is
  'Raises limit_exceeded for a policy of more than 10,000 lines, or of too many rules between '
  'existing agents. Rules are counted line by line, before any is made.';

create function mesh.changes_of_policy(policy jsonb, is_limited boolean default true)
returns mesh.policy_change[]
language plpgsql
stable
set search_path = ''
as $$
declare
  crowded text;
  changes mesh.policy_change[];
begin
  if changes_of_policy.is_limited then
    perform mesh.refuse_large_policy(changes_of_policy.policy);
  end if;
  with members as materialized (
    select n.name, a.agent_id collate "C" as agent_id
    from (
      select l.from_name as name from mesh.lines_of(changes_of_policy.policy) l
      union
      select l.to_name from mesh.lines_of(changes_of_policy.policy) l
    ) n
    cross join lateral mesh.agents_named(n.name) a
  ), wanted as materialized (
    select distinct f.agent_id as from_agent, t.agent_id as to_agent, l.proto, l.port
    from mesh.lines_of(changes_of_policy.policy) l
    join members f on f.name = l.from_name
    join members t on t.name = l.to_name
    where f.agent_id <> t.agent_id
  ), present as materialized (
    select r.from_agent::text as from_agent, r.to_agent::text as to_agent, r.proto, r.port
    from mesh.rules r
    where r.policy_since is not null
  ), counted as (
    select n.agent_id
    from (select w.from_agent from wanted w union all select w.to_agent from wanted w) n (agent_id)
    group by n.agent_id
    having count(*) > mesh.max_policy_rules_per_agent()
  )
  select
    (select min(c.agent_id) from counted c),
    coalesce(
      array_agg(
        row(d.from_agent, d.to_agent, d.proto, d.port, d.is_added)::mesh.policy_change
        -- Rules that end come first: between two steps, nobody may reach more than before or after
        -- the change.
        order by d.is_added, d.from_agent, d.to_agent, d.proto, d.port
      ),
      '{}'
    )
  into crowded, changes
  from (
    select o.*, false as is_added from (table present except table wanted) o
    union all
    select n.*, true from (table wanted except table present) n
  ) d;
  if crowded is not null and changes_of_policy.is_limited then
    perform mesh.refuse_crowded_agent(crowded);
  end if;
  return changes;
end
$$;
comment on function mesh.changes_of_policy(jsonb, boolean) is
  'The rules that the policy in force would gain and lose if it became this policy, lost ones '
  'first. Raises limit_exceeded if is_limited.';
