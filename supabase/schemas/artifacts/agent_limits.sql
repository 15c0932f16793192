-- Limits of single agents, which replace the project's.

create table artifacts.agent_limits (
  agent_id agents.agent_id primary key,
  quota_bytes bigint not null,

  constraint quota_is_not_negative check (quota_bytes >= 0)
);
comment on table artifacts.agent_limits is
  'One row per agent that has its own quota. For other agents, the project''s quota applies, which '
  'the Edge Functions pass as a parameter.';

create function artifacts.quota_of(agent_id text, project_quota bigint) returns bigint
language plpgsql
stable
set search_path = ''
as $$
begin
  return coalesce(
    (select l.quota_bytes from artifacts.agent_limits l where l.agent_id = quota_of.agent_id), project_quota
  );
end
$$;
comment on function artifacts.quota_of(text, bigint) is
  'How many bytes an agent may hold; 0: any number.';
