-- An agent that gets or loses a tag gets and loses the rules of the policy that go with it, in the
-- same transaction.

create function mesh.policy_changes_of(agent_id text, tags text[]) returns mesh.policy_change[]
language sql
stable
set search_path = ''
as $$
  with names as materialized (
    select n.name
    from unnest(policy_changes_of.tags || policy_changes_of.agent_id) as n (name)
    -- A name that begins with tag: is a tag. So no line names an agent with such an identifier.
    where n.name <> policy_changes_of.agent_id or not starts_with(n.name, 'tag:')
      or n.name = any (policy_changes_of.tags)
  ), wanted as materialized (
    select policy_changes_of.agent_id collate "C" as from_agent, o.agent_id collate "C" as to_agent,
      l.proto, l.port
    from names n
    join mesh.policy_lines l on l.from_name = n.name
    cross join lateral mesh.agents_named(l.to_name) o
    where o.agent_id <> policy_changes_of.agent_id
    union
    select o.agent_id collate "C", policy_changes_of.agent_id collate "C", l.proto, l.port
    from names n
    join mesh.policy_lines l on l.to_name = n.name
    cross join lateral mesh.agents_named(l.from_name) o
    where o.agent_id <> policy_changes_of.agent_id
  ), present as materialized (
    select r.from_agent::text as from_agent, r.to_agent::text as to_agent, r.proto, r.port
    from mesh.rules r
    where r.policy_since is not null and r.from_agent = policy_changes_of.agent_id
    union all
    select r.from_agent::text, r.to_agent::text, r.proto, r.port
    from mesh.rules r
    where r.policy_since is not null and r.to_agent = policy_changes_of.agent_id
  )
  select coalesce(
    array_agg(
      row(d.from_agent, d.to_agent, d.proto, d.port, d.is_added)::mesh.policy_change
      order by d.is_added, d.from_agent, d.to_agent, d.proto, d.port
    ),
    '{}'
  )
  from (
    select o.*, false as is_added from (table present except table wanted) o
    union all
    select n.*, true from (table wanted except table present) n
  ) d
$$;
comment on function mesh.policy_changes_of(text, text[]) is
  'The rules of the policy that an agent would gain and lose if these were its tags.';

create function mesh.refuse_beyond_policy_limits(changes mesh.policy_change[]) returns void
language plpgsql
stable
set search_path = ''
as $$
declare
  crowded text;
  added integer;
begin
  select count(*) into added
  from unnest(refuse_beyond_policy_limits.changes) as c
  where c.is_added;
  if added = 0 then
    return;
  end if;
  if added + (select p.rules from mesh.policies p) > mesh.max_policy_rules() then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object('limit', 'policy_rules', 'maximum', mesh.max_policy_rules());
  end if;
  select n.agent_id into crowded
  from (
    select named.agent_id, count(*) as added
    from unnest(refuse_beyond_policy_limits.changes) as c
    cross join lateral (values (c.from_agent), (c.to_agent)) as named (agent_id)
    where c.is_added
    group by named.agent_id
  ) n
  where n.added + (
      select count(*) from mesh.rules r
      where r.policy_since is not null and r.from_agent = n.agent_id
    ) + (
      select count(*) from mesh.rules r
      where r.policy_since is not null and r.to_agent = n.agent_id
    ) > mesh.max_policy_rules_per_agent()
  limit 1;
  if found then
    perform mesh.refuse_crowded_agent(crowded);
  end if;
end
$$;
comment on function mesh.refuse_beyond_policy_limits(mesh.policy_change[]) is
  'Raises limit_exceeded if these changes give the policy too many rules, in total or for one '
  'agent.';

create function mesh.follow_tags(caller jsonb, agent_id text, changed_tags text[]) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  changes mesh.policy_change[];
begin
  if not mesh.enter_policy(follow_tags.changed_tags) then
    return;
  end if;
  -- A separate statement, so that it sees what was committed while this transaction waited for the
  -- locks.
  changes := mesh.policy_changes_of(
    follow_tags.agent_id, agents.tags_of(follow_tags.agent_id)
  );
  if cardinality(changes) > 0 then
    perform mesh.refuse_beyond_policy_limits(changes);
    perform mesh.make_policy_changes(follow_tags.caller, changes);
  end if;
end
$$;
comment on function mesh.follow_tags(jsonb, text, text[]) is
  'After a change of an agent''s tags: adds the rules of the policy that its tags now give it, and '
  'removes the others. Raises limit_exceeded.';
