create function public.register_artifact(
  caller jsonb,
  artifact_id text,
  agent_id text,
  key text,
  mime text,
  size bigint,
  ttl_days integer
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate_as(register_artifact.caller, register_artifact.agent_id);
  registered artifacts.artifacts;
begin
  insert into artifacts.artifacts (artifact_id, agent_id, key, mime, size_bytes, ttl_days)
  values (
    register_artifact.artifact_id,
    register_artifact.agent_id,
    register_artifact.key,
    register_artifact.mime,
    register_artifact.size,
    register_artifact.ttl_days
  )
  returning * into registered;

  perform agents.record_event(
    register_artifact.caller, caller_agent, 'artifact.registered', registered.agent_id, registered.artifact_id
  );
  return artifacts.artifact_json(registered);
end
$$;
comment on function public.register_artifact(jsonb, text, text, text, text, bigint, integer) is
  'Registers a pending artifact under an id that the caller of the function made. Raises forbidden.';

revoke all on function public.register_artifact(jsonb, text, text, text, text, bigint, integer)
  from public, anon, authenticated;
grant execute on function public.register_artifact(jsonb, text, text, text, text, bigint, integer) to service_role;
