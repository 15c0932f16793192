-- Handing a name over: shared with its holder, or taken from it.

create function public.agent_api_share_agent(agent_id text, way text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
  if agents.is_agent_id(agent_api_share_agent.agent_id) is not true then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_id", "message": "Must be 1 to 128 of A-Z a-z 0-9 . _ : @ - and begin with a letter or digit."}]}';
  end if;
  if agent_api_share_agent.way is null
    or agent_api_share_agent.way not in ('operator', 'users') and not exists (
      select
      from agents.enrolments e
      where e.enrolment_id = agent_api_share_agent.way and not agents.has_ended(e)
    )
  then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "way", "message": "Must be operator, users, or the id of an enrolment that has not ended."}]}';
  end if;
  perform agents.end_access(agent_api_share_agent.agent_id);
  perform agents.add_way(agent_api_share_agent.agent_id, agent_api_share_agent.way);
  return json_build_object(
    'agent_id', agent_api_share_agent.agent_id,
    'ways',
    (select to_json(n.ways) from agents.names n where n.agent_id = agent_api_share_agent.agent_id)
  );
end
$$;
comment on function public.agent_api_share_agent(text, text) is
  'Lets another way in become an agent: operator, users, or an enrolment, which takes the place of '
  'an earlier one. It shares all that the agent has: {agent_id, ways}. Idempotent. Raises '
  'invalid_request, agent_name_taken.';

create function public.agent_api_take_over_agent(
  agent_id text,
  max_entries integer default 2000
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  operator constant jsonb := jsonb_build_object('kind', 'operator');
  holder agents.names;
  revoked_keys integer;
  peer_removed boolean;
  revoked_grants integer;
  deleted_artifacts integer;
  counted integer;
  released_tasks integer;
  ended_standing integer;
  is_done boolean;
begin
  perform agents.end_access(agent_api_take_over_agent.agent_id);
  select * into holder from agents.names n where n.agent_id = agent_api_take_over_agent.agent_id for update;
  if holder.agent_id is null or holder.ways = '{operator}' then
    return json_build_object(
      'agent_id', agent_api_take_over_agent.agent_id,
      'keys', 0, 'peer', false, 'grants', 0, 'artifacts', 0, 'remaining', false
    );
  end if;
  perform mesh.enter_policy(agents.tags_of(agent_api_take_over_agent.agent_id));
  if holder.ways <> '{}' then
    -- From here on, nobody can come in, even if the next calls never come.
    update agents.names n set ways = '{}' where n.agent_id = agent_api_take_over_agent.agent_id;
    perform agents.record_event(
      operator, null, 'agent.taken_over', agent_api_take_over_agent.agent_id, null,
      jsonb_build_object('ways', holder.ways)
    );
  end if;
  revoked_keys := (public.agent_api_revoke_agent_keys(agent_api_take_over_agent.agent_id) ->> 'revoked')::integer;
  update agents.enrolled_agents a
  set ended_at = clock_timestamp()
  where a.agent_id = agent_api_take_over_agent.agent_id and a.ended_at is null;
  peer_removed := (public.agent_api_remove_peer(operator, agent_api_take_over_agent.agent_id) ->> 'removed')::boolean;
  -- The grants may belong to artifacts of many agents.
  perform artifacts.lock_sweep();
  ended_standing := artifacts.end_standing_of(
    agent_api_take_over_agent.agent_id, agent_api_take_over_agent.max_entries
  );
  revoked_grants := agents.end_grants(agent_api_take_over_agent.agent_id, agent_api_take_over_agent.max_entries);
  deleted_artifacts := agents.end_artifacts(
    agent_api_take_over_agent.agent_id, false, agent_api_take_over_agent.max_entries
  );
  perform agents.replace_tags(operator, agent_api_take_over_agent.agent_id, '{}');
  -- What was counted about the former holder is written to the log now, before the next one reads.
  counted := agents.erase_counted(agent_api_take_over_agent.agent_id, agent_api_take_over_agent.max_entries);

  released_tasks := artifacts.release_tasks(
    agent_api_take_over_agent.agent_id, agent_api_take_over_agent.max_entries
  );
  is_done := greatest(revoked_grants, deleted_artifacts, counted, released_tasks, ended_standing)
    < agent_api_take_over_agent.max_entries;
  if is_done then
    perform agents.forget_holder(agent_api_take_over_agent.agent_id);
    perform artifacts.begin_versions_anew(agent_api_take_over_agent.agent_id);
    perform mesh.rest_addresses(array[agent_api_take_over_agent.agent_id]);
    update agents.names n
    set ways = '{operator}',
      taken_at = clock_timestamp(),
      held_since = agents.present_transaction()
    where n.agent_id = agent_api_take_over_agent.agent_id;
  end if;
  return json_build_object(
    'agent_id', agent_api_take_over_agent.agent_id,
    'keys', revoked_keys,
    'peer', peer_removed,
    'grants', revoked_grants,
    'artifacts', deleted_artifacts,
    'remaining', not is_done
  );
end
$$;
comment on function public.agent_api_take_over_agent(text, integer) is
  'Takes a name from its holder for the operator: ends the holder''s keys, peer, rules, requests, '
  'tags, limits, the grants from and to it and its artifacts, at most max_entries grants and as many '
  'artifacts per call: {agent_id, keys, peer, grants, artifacts, remaining}. While remaining is '
  'true, call it again; nobody can come in meanwhile. Changes nothing if the name is free or the '
  'operator''s alone.';

create function public.agent_api_readmit_agent(agent_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  is_readmitted boolean;
begin
  delete from agents.removed_agents r where r.agent_id = agent_api_readmit_agent.agent_id;
  is_readmitted := found;
  delete from agents.erased_names e where e.name_hash = agents.hash_of_name(agent_api_readmit_agent.agent_id);
  if found then
    -- Nothing tells any more which versions the erased agent's files had.
    perform artifacts.begin_versions_anew(agent_api_readmit_agent.agent_id);
  elsif not is_readmitted then
    return json_build_object('agent_id', agent_api_readmit_agent.agent_id, 'readmitted', false);
  end if;
  perform agents.record_event('{"kind": "operator"}', null, 'agent.readmitted', agent_api_readmit_agent.agent_id);
  return json_build_object('agent_id', agent_api_readmit_agent.agent_id, 'readmitted', true);
end
$$;
comment on function public.agent_api_readmit_agent(text) is
  'Lets a removed or erased agent enrol again, and its users call again. What the removal ended '
  'stays ended. Idempotent: {"readmitted": false} if the agent is neither.';
