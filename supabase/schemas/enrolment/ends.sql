-- How agents of an enrolment end: an agent leaves, an ephemeral agent loses contact, or an
-- enrolment is revoked. A transaction ends the peer of only one agent, because each locks a part of
-- the mesh.

create function agents.end_keys(caller jsonb, caller_agent text, agent_id text) returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
  revoked agents.keys;
  revoked_count integer := 0;
begin
  for revoked in
    update agents.keys k
    set revoked_at = clock_timestamp()
    where k.agent_id = end_keys.agent_id and k.revoked_at is null
    returning *
  loop
    perform agents.record_event(
      end_keys.caller, end_keys.caller_agent, 'key.revoked', revoked.agent_id, revoked.key_id
    );
    revoked_count := revoked_count + 1;
  end loop;
  update agents.enrolled_agents a
  set ended_at = clock_timestamp()
  where a.agent_id = end_keys.agent_id and a.ended_at is null;
  return revoked_count;
end
$$;
comment on function agents.end_keys(jsonb, text, text) is
  'Revokes every key of an agent, under end_access(agent_id); returns how many.';

create function public.leave(caller jsonb, agent_id text default null) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  leaving text;
  caller_agent text;
begin
  perform agents.end_access(coalesce(agents.actor_of(leave.caller), leave.agent_id));
  caller_agent := agents.authenticate(leave.caller);
  leaving := agents.require_self(caller_agent, leave.agent_id);
  perform mesh.enter_policy(agents.tags_of(leaving));
  perform public.remove_peer(leave.caller, leaving);
  perform agents.end_keys(leave.caller, caller_agent, leaving);
  perform agents.end_enrolled_tags(leave.caller, leaving);
  perform agents.record_event(leave.caller, caller_agent, 'agent.left', leaving);
  return json_build_object('agent_id', leaving, 'left', true);
end
$$;
comment on function public.leave(jsonb, text) is
  'Ends an agent''s keys, its peer and its rules: {agent_id, left: true}. Its files and grants '
  'stay until their own end. Raises unauthenticated, superseded, forbidden, invalid_request.';

create function public.revoke_enrolment(
  caller jsonb,
  enrolment_id text,
  max_agents integer default 200,
  undo_grants boolean default false
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  -- What a call before this one may have ended: see enrolled_agents.cut.
  wanted_cut constant smallint := case when revoke_enrolment.undo_grants then 2 else 1 end;
  live_ids text[];
  ended_id text;
  lock_key bigint;
  revoked_keys integer := 0;
begin
  perform agents.authenticate_operator(revoke_enrolment.caller);
  -- Waits for running enrolments. Later ones wait for this lock, and are then refused.
  perform pg_advisory_xact_lock(agents.enrolment_lock(revoke_enrolment.enrolment_id));
  if not exists (
    select from agents.enrolments e where e.enrolment_id = revoke_enrolment.enrolment_id
  ) then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "enrolment_id", "message": "There is no such enrolment."}]}';
  end if;
  update agents.enrolments e
  set revoked_at = clock_timestamp()
  where e.enrolment_id = revoke_enrolment.enrolment_id and e.revoked_at is null;
  if found then
    perform agents.record_event(
      revoke_enrolment.caller, null, 'enrolment.revoked', null, revoke_enrolment.enrolment_id
    );
  end if;

  -- End keys first, of many agents at once, because keys give access.
  live_ids := array(
    select a.agent_id
    from agents.enrolled_agents a
    where a.enrolment_id = revoke_enrolment.enrolment_id and a.cut = 0 and a.ended_at is null
    order by a.agent_id
    limit revoke_enrolment.max_agents
  );
  for lock_key in
    select distinct agents.access_lock(l.agent_id) from unnest(live_ids) as l (agent_id) order by 1
  loop
    perform pg_advisory_xact_lock(lock_key);
  end loop;
  foreach ended_id in array live_ids loop
    -- Another enrolment may have taken the agent over before its access was locked.
    continue when not exists (
      select
      from agents.enrolled_agents a
      where a.agent_id = ended_id and a.enrolment_id = revoke_enrolment.enrolment_id
    );
    revoked_keys := revoked_keys + agents.end_keys(revoke_enrolment.caller, null, ended_id);
  end loop;

  return json_build_object(
    'revoked', true,
    'agents', cardinality(live_ids),
    'keys', revoked_keys,
    'to_end', (
      select coalesce(json_agg(e.agent_id), '[]')
      from (
        select a.agent_id
        from agents.enrolled_agents a
        where a.enrolment_id = revoke_enrolment.enrolment_id
          and a.cut < wanted_cut
          and a.ended_at is not null
        order by a.cut, a.ended_at, a.agent_id
        limit revoke_enrolment.max_agents
      ) e
    ),
    'remaining', (
      select count(*)
      from (
        select from agents.enrolled_agents a
        where a.enrolment_id = revoke_enrolment.enrolment_id and a.cut < wanted_cut
        order by a.cut, a.ended_at, a.agent_id
        limit 10000
      ) r
    )
  );
end
$$;
comment on function public.revoke_enrolment(jsonb, text, integer, boolean) is
  'Ends an enrolment, and the agent keys of up to max_agents of its agents: {revoked, agents, '
  'keys, to_end: [agent_id], remaining}. The agents in to_end have no key left; end_enrolled_agent '
  'ends what else they have. With undo_grants, these are also agents whose grants an earlier '
  'revocation left. Repeat both until remaining is 0; it counts up to 10,000 agents. '
  'Raises invalid_request, and forbidden for an agent.';

create function public.count_enrolled(enrolment_id text, max_entries integer default 10000) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select json_build_object(
    'agents', count(*) filter (where e.ended_at is null),
    'keys', coalesce(sum(c.keys) filter (where e.ended_at is null), 0),
    'peers', coalesce(sum(c.peers), 0),
    'grants', coalesce(sum(c.grants), 0)
  )
  from (
    select a.agent_id, a.ended_at
    from agents.enrolled_agents a
    where a.enrolment_id = count_enrolled.enrolment_id
    order by a.enrolment_id, a.cut, a.ended_at, a.agent_id
    limit count_enrolled.max_entries
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
comment on function public.count_enrolled(text, integer) is
  'What revoke_enrolment and end_enrolled_agent would end of the agents of an enrolment: {agents, '
  'keys, peers, grants}. It counts up to max_entries agents, and up to 100 grants of each.';

create function agents.end_grants_given(agent_id text, max_entries integer) returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
  live_ids constant text[] := array(
    select g.grant_id
    from artifacts.grants g
    where g.from_agent = end_grants_given.agent_id and g.live_until > clock_timestamp()
    order by g.from_agent, g.live_until
    limit end_grants_given.max_entries
  );
begin
  return agents.end_grants_named(live_ids);
end
$$;
comment on function agents.end_grants_given(text, integer) is
  'Ends up to max_entries live grants that an agent gave; returns how many.';

create function public.end_enrolled_agent(
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
  has_peer boolean;
  ended_grants integer := 0;
begin
  perform agents.authenticate_operator(end_enrolled_agent.caller);
  perform agents.end_access(end_enrolled_agent.agent_id);
  if not exists (
    select
    from agents.enrolled_agents a
    join agents.enrolments e on e.enrolment_id = a.enrolment_id
    where a.agent_id = end_enrolled_agent.agent_id
      and a.enrolment_id = end_enrolled_agent.enrolment_id
      and a.ended_at is not null
      and e.revoked_at is not null
  ) then
    return json_build_object('peer', false, 'grants', 0);
  end if;
  perform mesh.enter_policy(agents.tags_of(end_enrolled_agent.agent_id));
  has_peer := (
    public.remove_peer(end_enrolled_agent.caller, end_enrolled_agent.agent_id) ->> 'removed'
  )::boolean;
  perform agents.end_enrolled_tags(end_enrolled_agent.caller, end_enrolled_agent.agent_id);
  if end_enrolled_agent.undo_grants then
    perform artifacts.lock_sweep();
    ended_grants := agents.end_grants_given(
      end_enrolled_agent.agent_id, end_enrolled_agent.max_entries
    );
  end if;
  -- The row stays: a later call may still have to end the grants.
  update agents.enrolled_agents a
  set cut = greatest(a.cut, case when end_enrolled_agent.undo_grants then 2 else 1 end)
  where a.agent_id = end_enrolled_agent.agent_id
    and a.enrolment_id = end_enrolled_agent.enrolment_id
    and ended_grants < end_enrolled_agent.max_entries;
  return json_build_object('peer', has_peer, 'grants', ended_grants);
end
$$;
comment on function public.end_enrolled_agent(jsonb, text, text, boolean, integer) is
  'Ends the peer, the rules and the enrolment''s tags of an agent whose enrolment is revoked, and '
  'with undo_grants up to max_entries grants that it gave: {peer, grants}. Repeat it until the '
  'agent is no longer listed by revoke_enrolment. Raises forbidden for an agent.';

