-- Agents that the operator removed or erased. A revoked agent key stays revoked, but a signed-in
-- user keeps a token and gets new ones. So the agent's name itself is refused until the operator
-- readmits it.

create table agents.removed_agents (
  agent_id agents.agent_id primary key,
  removed_at timestamptz not null default clock_timestamp()
);
comment on table agents.removed_agents is
  'Agents whose users are refused, whatever their tokens say: one row per agent that was removed '
  'and not readmitted since. Agent keys are not affected.';

create function agents.is_kept_out(agent_id text) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return exists (select from agents.removed_agents r where r.agent_id = is_kept_out.agent_id)
    or exists (
      select from agents.erased_names e where e.name_hash = agents.hash_of_name(is_kept_out.agent_id)
    );
end
$$;
comment on function agents.is_kept_out(text) is
  'Whether an agent was removed or erased, and not readmitted since: nobody can enrol or call as a '
  'user under its name.';

create function agents.agent_of_user(caller jsonb) returns text
language plpgsql
stable
set search_path = ''
as $$
declare
  named constant text := case
    when caller ->> 'kind' = 'user' and (caller ->> 'expires_at')::timestamptz > now()
    then caller ->> 'agent_id'
  end;
begin
  if named is null or agents.is_kept_out(named) then
    return null;
  end if;
  if exists (select from agents.names n where n.agent_id = named and 'users' <> all (n.ways)) then
    raise sqlstate 'PT409' using message = 'agent_name_taken';
  end if;
  return named;
end
$$;
comment on function agents.agent_of_user(jsonb) is
  'The agent that a signed-in user is; null if the caller is not a user, the token has expired, or '
  'the agent was removed or erased. Raises agent_name_taken if the name does not belong to the '
  'project''s users.';
