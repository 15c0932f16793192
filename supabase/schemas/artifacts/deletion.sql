-- An owner deletes an artifact.

create function public.agent_api_delete_artifact(caller jsonb, artifact_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  artifact artifacts.artifacts;
begin
  caller_agent := agents.admit(agent_api_delete_artifact.caller);
  artifact := artifacts.lock_owned_artifact(caller_agent, agent_api_delete_artifact.artifact_id);
  if artifact.state = 'deleted' then
    -- A caller that lost the first answer and repeats the delete gets it now.
    return artifacts.artifact_json(artifact);
  end if;
  perform artifacts.refuse_ended(artifact);

  -- Grants end with their artifact. The sweep removes the bytes.
  update artifacts.artifacts a
  set state = 'deleted', deleted_at = clock_timestamp()
  where a.artifact_id = artifact.artifact_id
  returning a.* into artifact;
  -- A running commit loses its lease, so it can give no verdict.
  delete from artifacts.verifications v where v.artifact_id = artifact.artifact_id;

  perform agents.record_event(
    agent_api_delete_artifact.caller, caller_agent, 'artifact.deleted', artifact.agent_id,
    artifact.artifact_id,
    jsonb_build_object('key', artifact.key)
  );
  return artifacts.artifact_json(artifact);
end
$$;
comment on function public.agent_api_delete_artifact(jsonb, text) is
  'Ends an artifact and its grants. Idempotent. Raises artifact_not_found, artifact_expired.';
