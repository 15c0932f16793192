create function public.record_heartbeat(caller jsonb, agent_id text, config_version bigint) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  answer json;
begin
  perform agents.authenticate_as(record_heartbeat.caller, record_heartbeat.agent_id);

  with seen as (
    update mesh.liveness l
    set last_seen = clock_timestamp(),
        config_version_applied = coalesce(record_heartbeat.config_version, l.config_version_applied)
    where l.agent_id = record_heartbeat.agent_id
    returning l.*
  )
  select json_build_object(
    'agent_id', s.agent_id,
    'last_seen', agents.iso_timestamp(s.last_seen),
    'config_version', v.version
  ) into answer
  from seen s
  join mesh.config_versions v on v.agent_id = s.agent_id;

  if not found then
    raise sqlstate 'PT404' using message = 'peer_not_found';
  end if;
  return answer;
end
$$;
comment on function public.record_heartbeat(jsonb, text, bigint) is
  'Notes that an agent is there and, if it says so, which configuration it runs; tells which there is. Raises forbidden, peer_not_found.';

revoke all on function public.record_heartbeat(jsonb, text, bigint) from public, anon, authenticated;
grant execute on function public.record_heartbeat(jsonb, text, bigint) to service_role;
