-- Made of supabase/schemas/agents/removed_agents.sql by `deno task schema:squash`.

-- Agents that the operator removed. An agent key ends for good, but a signed-in user keeps a token,
-- and gets new ones: so the name itself is refused, until the operator readmits it.

create table agents.removed_agents (
  agent_id agents.agent_id primary key,
  removed_at timestamptz not null default clock_timestamp()
);
comment on table agents.removed_agents is
  'Agents whose users are refused, whatever their tokens say: one row per agent that was removed and '
  'not readmitted since. Agent keys do not mind.';

create function agents.agent_of_user(caller jsonb) returns text
language sql
stable
return case
  when caller ->> 'kind' = 'user'
    and (caller ->> 'expires_at')::timestamptz > now()
    and not exists (select from agents.removed_agents r where r.agent_id = caller ->> 'agent_id')
  then caller ->> 'agent_id'
end;
comment on function agents.agent_of_user(jsonb) is
  'The agent that a signed-in user is; null where the caller is no user, the token has ended, or the '
  'agent was removed.';

create function public.readmit_agent(agent_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
  delete from agents.removed_agents r where r.agent_id = readmit_agent.agent_id;
  if not found then
    return json_build_object('agent_id', readmit_agent.agent_id, 'readmitted', false);
  end if;
  perform agents.record_event('{"kind": "operator"}', null, 'agent.readmitted', readmit_agent.agent_id);
  return json_build_object('agent_id', readmit_agent.agent_id, 'readmitted', true);
end
$$;
comment on function public.readmit_agent(text) is
  'Lets the users of an agent that was removed call again; what was ended stays ended. Idempotent: '
  '{"readmitted": false} where the agent is not removed.';
