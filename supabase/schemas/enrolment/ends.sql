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
  -- The others lapse at their own time.
  most_takes constant integer := 2000;
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
  perform artifacts.give_back_takes(end_keys.agent_id, most_takes);
  return revoked_count;
end
$$;
comment on function agents.end_keys(jsonb, text, text) is
  'Revokes every key of an agent, under end_access(agent_id), and gives back what it has taken; '
  'returns how many keys.';

create function public.agent_api_leave(caller jsonb, agent_id text default null) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  leaving text;
  caller_agent text;
begin
  perform agents.end_access(coalesce(agents.actor_of(agent_api_leave.caller), agent_api_leave.agent_id));
  caller_agent := agents.authenticate(agent_api_leave.caller);
  leaving := agents.require_self(caller_agent, agent_api_leave.agent_id);
  perform mesh.enter_policy(agents.tags_of(leaving));
  perform public.agent_api_remove_peer(agent_api_leave.caller, leaving);
  perform agents.end_keys(agent_api_leave.caller, caller_agent, leaving);
  perform agents.end_enrolled_tags(agent_api_leave.caller, leaving);
  perform agents.record_event(agent_api_leave.caller, caller_agent, 'agent.left', leaving);
  return json_build_object('agent_id', leaving, 'left', true);
end
$$;
comment on function public.agent_api_leave(jsonb, text) is
  'Ends an agent''s keys, its peer and its rules: {agent_id, left: true}. What it has taken waits '
  'for other agents again. Its files and grants stay until their own end. Raises unauthenticated, superseded, forbidden, invalid_request.';

create function public.agent_api_revoke_enrolment(
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
  wanted_cut constant smallint := case when agent_api_revoke_enrolment.undo_grants then 2 else 1 end;
  live_ids text[];
  ended_id text;
  lock_key bigint;
  ended_agents integer := 0;
  revoked_keys integer := 0;
begin
  perform agents.authenticate_operator(agent_api_revoke_enrolment.caller);
  -- Waits for running enrolments. Later ones wait for this lock, and are then refused.
  perform pg_advisory_xact_lock(agents.enrolment_lock(agent_api_revoke_enrolment.enrolment_id));
  if not exists (
    select from agents.enrolments e where e.enrolment_id = agent_api_revoke_enrolment.enrolment_id
  ) then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "enrolment_id", "message": "There is no such enrolment."}]}';
  end if;
  update agents.enrolments e
  set revoked_at = clock_timestamp()
  where e.enrolment_id = agent_api_revoke_enrolment.enrolment_id and e.revoked_at is null;
  if found then
    perform agents.record_event(
      agent_api_revoke_enrolment.caller, null, 'enrolment.revoked', null,
      agent_api_revoke_enrolment.enrolment_id
    );
  end if;

  -- End keys first, of many agents at once, because keys give access.
  live_ids := array(
    select a.agent_id
    from agents.enrolled_agents a
    where a.enrolment_id = agent_api_revoke_enrolment.enrolment_id and a.cut = 0 and a.ended_at is null
    order by a.agent_id
    limit agent_api_revoke_enrolment.max_agents
  );
  for lock_key in
    select distinct agents.access_lock(l.agent_id) from unnest(live_ids) as l (agent_id) order by 1
  loop
    perform pg_advisory_xact_lock(lock_key);
  end loop;
  foreach ended_id in array live_ids loop
    -- Before its access was locked, the agent may have left, or another enrolment taken it over.
    continue when not exists (
      select
      from agents.enrolled_agents a
      where a.agent_id = ended_id
        and a.enrolment_id = agent_api_revoke_enrolment.enrolment_id
        and a.ended_at is null
    );
    ended_agents := ended_agents + 1;
    revoked_keys := revoked_keys + agents.end_keys(agent_api_revoke_enrolment.caller, null, ended_id);
  end loop;

  return json_build_object(
    'revoked', true,
    'agents', ended_agents,
    'keys', revoked_keys,
    'to_end', (
      select coalesce(json_agg(e.agent_id), '[]')
      from (
        (
          select a.agent_id
          from agents.enrolled_agents a
          where a.enrolment_id = agent_api_revoke_enrolment.enrolment_id
            and a.cut < wanted_cut
            and a.ended_at is not null
          order by a.cut, a.ended_at, a.agent_id
          limit agent_api_revoke_enrolment.max_agents
        )
        union all
        (
          select f.agent_id
          from agents.former_holders f
          where f.enrolment_id = agent_api_revoke_enrolment.enrolment_id and agent_api_revoke_enrolment.undo_grants
          order by f.enrolment_id, f.agent_id
          limit agent_api_revoke_enrolment.max_agents
        )
      ) e
    ),
    'remaining', (
      select count(*)
      from (
        (
          select from agents.enrolled_agents a
          where a.enrolment_id = agent_api_revoke_enrolment.enrolment_id and a.cut < wanted_cut
          order by a.cut, a.ended_at, a.agent_id
          limit 10000
        )
        union all
        (
          select from agents.former_holders f
          where f.enrolment_id = agent_api_revoke_enrolment.enrolment_id and agent_api_revoke_enrolment.undo_grants
          order by f.enrolment_id, f.agent_id
          limit 10000
        )
      ) r
    )
  );
end
$$;
comment on function public.agent_api_revoke_enrolment(jsonb, text, integer, boolean) is
  'Ends an enrolment, and the agent keys of up to max_agents of its agents: {revoked, agents, '
  'keys, to_end: [agent_id], remaining}. The agents in to_end have no key left; '
  'agent_api_end_enrolled_agent ends what else they have. With undo_grants, these are also agents '
  'whose grants an earlier revocation left, and those that another enrolment took. Repeat both '
  'until remaining is 0; it counts up to 10,000 agents. Raises invalid_request, and forbidden for '
  'an agent.';
