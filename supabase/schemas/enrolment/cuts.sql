-- What is left of the agents of a revoked enrolment once their keys have ended: how much that is,
-- and its end, one agent per call. Also for agents that another enrolment has taken since.

create function public.agent_api_count_enrolled(
  enrolment_id text,
  max_entries integer default 10000
) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select json_build_object(
    'agents', count(*) filter (where e.ended_at is null),
    'keys', coalesce(sum(c.keys) filter (where e.ended_at is null), 0),
    'peers', coalesce(sum(c.peers), 0),
    'grants', coalesce(sum(c.grants), 0) + (
      select coalesce(sum(o.grants), 0)
      from (
        select f.agent_id, f.taken_in
        from agents.former_holders f
        where f.enrolment_id = agent_api_count_enrolled.enrolment_id
        order by f.enrolment_id, f.agent_id
        limit agent_api_count_enrolled.max_entries
      ) f
      cross join lateral (
        select count(*) as grants
        from (
          select from artifacts.grants g
          where g.from_agent = f.agent_id and g.live_until > now() and g.transaction_id < f.taken_in
          order by g.from_agent, g.live_until
          limit 100
        ) g
      ) o
    )
  )
  from (
    select a.agent_id, a.ended_at
    from agents.enrolled_agents a
    where a.enrolment_id = agent_api_count_enrolled.enrolment_id
    order by a.enrolment_id, a.cut, a.ended_at, a.agent_id
    limit agent_api_count_enrolled.max_entries
  ) e
  -- A few index lookups per agent. A join might read whole tables.
  cross join lateral (
    select
      (select count(*) from agents.keys k where k.agent_id = e.agent_id and k.revoked_at is null) as keys,
      (select count(*) from mesh.peers p where p.agent_id = e.agent_id) as peers,
      (
        select count(*)
        from (
          select from artifacts.grants g
          where g.from_agent = e.agent_id and g.live_until > now()
          order by g.from_agent, g.live_until
          limit 100
        ) g
      ) as grants
  ) c
$$;
comment on function public.agent_api_count_enrolled(text, integer) is
  'What agent_api_revoke_enrolment and agent_api_end_enrolled_agent would end of the agents of an '
  'enrolment: {agents, keys, peers, grants}. It counts up to max_entries agents, and up to 100 '
  'grants of each.';

create function agents.end_grants_given(
  agent_id text,
  max_entries integer,
  before_transaction xid8 default null
) returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
  -- A variable: an index does not help with a volatile function.
  checked_at constant timestamptz := clock_timestamp();
  live_ids constant text[] := array(
    select g.grant_id
    from artifacts.grants g
    where g.from_agent = end_grants_given.agent_id
      and g.live_until > checked_at
      and (before_transaction is null or g.transaction_id < before_transaction)
    order by g.from_agent, g.live_until
    limit end_grants_given.max_entries
  );
begin
  return agents.end_grants_named(live_ids);
end
$$;
comment on function agents.end_grants_given(text, integer, xid8) is
  'Ends up to max_entries live grants that an agent gave, in transactions before the given one if '
  'there is one; returns how many.';

create function public.agent_api_end_enrolled_agent(
  caller jsonb,
  enrolment_id text,
  agent_id text,
  undo_grants boolean default false,
  max_entries integer default 500
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  taken_in xid8;
  has_peer boolean;
  ended_grants integer := 0;
begin
  perform agents.authenticate_operator(agent_api_end_enrolled_agent.caller);
  perform agents.end_access(agent_api_end_enrolled_agent.agent_id);
  if not exists (
    select from agents.enrolments e
    where e.enrolment_id = agent_api_end_enrolled_agent.enrolment_id and e.revoked_at is not null
  ) then
    return json_build_object('peer', false, 'grants', 0);
  end if;
  if not exists (
    select
    from agents.enrolled_agents a
    where a.agent_id = agent_api_end_enrolled_agent.agent_id
      and a.enrolment_id = agent_api_end_enrolled_agent.enrolment_id
      and a.ended_at is not null
  ) then
    if agent_api_end_enrolled_agent.undo_grants then
      select f.taken_in into taken_in
      from agents.former_holders f
      where f.agent_id = agent_api_end_enrolled_agent.agent_id
        and f.enrolment_id = agent_api_end_enrolled_agent.enrolment_id;
    end if;
    -- Only the grants are left of it. The peer, the rules and the tags are another enrolment's.
    if taken_in is not null then
      perform artifacts.lock_sweep();
      ended_grants := artifacts.end_standing_of(
        agent_api_end_enrolled_agent.agent_id, agent_api_end_enrolled_agent.max_entries, true, taken_in
      );
      ended_grants := greatest(ended_grants, agents.end_grants_given(
        agent_api_end_enrolled_agent.agent_id, agent_api_end_enrolled_agent.max_entries, taken_in
      ));
      delete from agents.former_holders f
      where f.agent_id = agent_api_end_enrolled_agent.agent_id
        and f.enrolment_id = agent_api_end_enrolled_agent.enrolment_id
        and ended_grants < agent_api_end_enrolled_agent.max_entries;
    end if;
    return json_build_object('peer', false, 'grants', ended_grants);
  end if;
  perform mesh.enter_policy(agents.tags_of(agent_api_end_enrolled_agent.agent_id));
  has_peer := (
    public.agent_api_remove_peer(agent_api_end_enrolled_agent.caller, agent_api_end_enrolled_agent.agent_id) ->> 'removed'
  )::boolean;
  perform agents.end_enrolled_tags(agent_api_end_enrolled_agent.caller, agent_api_end_enrolled_agent.agent_id);
  if agent_api_end_enrolled_agent.undo_grants then
    perform artifacts.lock_sweep();
    ended_grants := artifacts.end_standing_of(
      agent_api_end_enrolled_agent.agent_id, agent_api_end_enrolled_agent.max_entries, true
    );
    ended_grants := greatest(ended_grants, agents.end_grants_given(
      agent_api_end_enrolled_agent.agent_id, agent_api_end_enrolled_agent.max_entries
    ));
  end if;
  -- The row stays: a later call may still have to end the grants.
  update agents.enrolled_agents a
  set cut = greatest(a.cut, case when agent_api_end_enrolled_agent.undo_grants then 2 else 1 end)
  where a.agent_id = agent_api_end_enrolled_agent.agent_id
    and a.enrolment_id = agent_api_end_enrolled_agent.enrolment_id
    and ended_grants < agent_api_end_enrolled_agent.max_entries;
  return json_build_object('peer', has_peer, 'grants', ended_grants);
end
$$;
comment on function public.agent_api_end_enrolled_agent(jsonb, text, text, boolean, integer) is
  'Ends the peer, the rules and the enrolment''s tags of an agent whose enrolment is revoked, and '
  'with undo_grants up to max_entries grants that it gave: {peer, grants}. If another enrolment took '
  'the agent, only the grants from before that end. Repeat it until the agent is no longer listed '
  'by agent_api_revoke_enrolment. Raises forbidden for an agent.';

