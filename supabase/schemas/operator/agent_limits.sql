-- The operator sets limits of single agents.

create function public.agent_api_set_agent_quota(agent_id text, quota_bytes bigint) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
  if not agents.is_agent_id(agent_api_set_agent_quota.agent_id) or agent_api_set_agent_quota.quota_bytes < 0 then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "quota_bytes", "message": "Must be an agent and a number of bytes, at least 0."}]}';
  end if;
  if agent_api_set_agent_quota.quota_bytes is null then
    delete from artifacts.agent_limits l where l.agent_id = agent_api_set_agent_quota.agent_id;
  else
    insert into artifacts.agent_limits as l (agent_id, quota_bytes)
    values (agent_api_set_agent_quota.agent_id, agent_api_set_agent_quota.quota_bytes)
    on conflict on constraint agent_limits_pkey do update set quota_bytes = excluded.quota_bytes;
  end if;
  perform agents.record_event(
    '{"kind": "operator"}', null, 'agent.limited', agent_api_set_agent_quota.agent_id, null,
    jsonb_build_object('quota_bytes', agent_api_set_agent_quota.quota_bytes)
  );
  return json_build_object('agent_id', agent_api_set_agent_quota.agent_id, 'quota_bytes', agent_api_set_agent_quota.quota_bytes);
end
$$;
comment on function public.agent_api_set_agent_quota(text, bigint) is
  'Sets how many bytes an agent''s files may have together (0: any number; null: the project''s '
  'setting applies). Existing files stay. Raises invalid_request.';
