-- How a change of the policy affects which agents may reach each other. A rule that its agents have
-- also agreed to is neither gained nor lost.

create type mesh.policy_sight as (
  low_agent text collate "C",
  high_agent text collate "C",
  is_gained boolean
);
comment on type mesh.policy_sight is 'Two registered peers that begin or cease to see each other.';

create type mesh.policy_effects as (
  effective mesh.policy_change[],
  sights mesh.policy_sight[],
  changed_agents text[]
);
comment on type mesh.policy_effects is
  'effective: the rules that begin or cease to be active. sights: the pairs of registered peers '
  'that therefore begin or cease to see each other. changed_agents: the agents whose configuration '
  'changes.';

create function mesh.effects_of(changes mesh.policy_change[]) returns mesh.policy_effects
language sql
stable
set search_path = ''
as $$
  with effective as materialized (
    select c.from_agent, c.to_agent, c.proto, c.port, c.is_added
    from unnest(effects_of.changes) as c
    -- One lookup in each index per rule, per agent and per pair.
    left join lateral (
      select r.active, r.from_agreed_at is not null and r.to_agreed_at is not null as is_agreed
      from mesh.rules r
      where r.from_agent = c.from_agent
        and r.to_agent = c.to_agent
        and r.proto = c.proto
        and r.port = c.port
      limit 1
    ) r on true
    where case when c.is_added then r.active is not true else r.active and not r.is_agreed end
  ), registered as materialized (
    select n.agent_id
    from (select e.from_agent from effective e union select e.to_agent from effective e) n (agent_id)
    cross join lateral (select from mesh.peers p where p.agent_id = n.agent_id limit 1) p
  ), between_peers as materialized (
    select e.*, least(e.from_agent, e.to_agent) as low_agent, greatest(e.from_agent, e.to_agent) as high_agent
    from effective e
    join registered f on f.agent_id = e.from_agent
    join registered t on t.agent_id = e.to_agent
  ), pairs as materialized (
    select b.low_agent, b.high_agent, n.before,
      n.before + count(*) filter (where b.is_added) - count(*) filter (where not b.is_added) as after
    from between_peers b
    cross join lateral (
      select (
        select count(*) from mesh.rules r
        where r.active and r.from_agent = b.low_agent and r.to_agent = b.high_agent
      ) + (
        select count(*) from mesh.rules r
        where r.active and r.from_agent = b.high_agent and r.to_agent = b.low_agent
      ) as before
    ) n
    group by b.low_agent, b.high_agent, n.before
  ), sights as materialized (
    select p.low_agent, p.high_agent, p.after > 0 as is_gained
    from pairs p
    where (p.before > 0) <> (p.after > 0)
  )
  select
    coalesce(
      (
        select array_agg(
          row(e.from_agent, e.to_agent, e.proto, e.port, e.is_added)::mesh.policy_change
          order by e.is_added, e.from_agent, e.to_agent, e.proto, e.port
        )
        from effective e
      ),
      '{}'
    ),
    coalesce(
      (
        select array_agg(
          row(s.low_agent, s.high_agent, s.is_gained)::mesh.policy_sight
          order by s.is_gained, s.low_agent, s.high_agent
        )
        from sights s
      ),
      '{}'
    ),
    array(
      -- The text of from_agent does not say what it may reach.
      select b.to_agent from between_peers b
      union
      select s.low_agent from sights s
      union
      select s.high_agent from sights s
      order by 1
    )
$$;
comment on function mesh.effects_of(mesh.policy_change[]) is
  'What these changes of the policy do. To make the changes afterwards, call this under the locks '
  'of the config_versions of all agents that they name.';
