create function public.list_artifacts(
  caller jsonb,
  agent_id text,
  prefix text,
  max_entries integer,
  after_key text
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  -- In byte order the keys with this prefix are all from the prefix itself to this, and no other key lies between: a
  -- key has at most 1024 bytes, which is 256 of the longest characters.
  last_key text collate "C" := list_artifacts.prefix || repeat(U&'\+10FFFF', 256);
  answer json;
begin
  perform agents.authenticate_as(list_artifacts.caller, list_artifacts.agent_id);

  with listed as (
    select a as artifact, a.key, row_number() over (order by a.key) as position
    from artifacts.artifacts a
    where a.agent_id = list_artifacts.agent_id
      and a.state = 'committed'
      and a.expires_at > now()
      and a.key >= list_artifacts.prefix
      and a.key <= last_key
      and a.key > coalesce(list_artifacts.after_key, '')
    order by a.key
    -- One more than asked for tells whether there is a next page.
    limit list_artifacts.max_entries + 1
  )
  select json_build_object(
    'artifacts', coalesce(
      json_agg(artifacts.artifact_json(l.artifact) order by l.position)
        filter (where l.position <= list_artifacts.max_entries),
      '[]'
    ),
    'last_key', case
      when count(*) > list_artifacts.max_entries
        then max(l.key) filter (where l.position = list_artifacts.max_entries)
    end
  ) into answer
  from listed l;
  return answer;
end
$$;
comment on function public.list_artifacts(jsonb, text, text, integer, text) is
  'The current artifacts of an agent under a prefix, in byte order of key, after after_key. last_key, if not null, is where the next page begins. Raises forbidden.';

create function public.delete_artifact(caller jsonb, artifact_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(delete_artifact.caller);
  artifact artifacts.artifacts := artifacts.lock_owned_artifact(caller_agent, delete_artifact.artifact_id);
begin
  if artifact.state = 'deleted' then
    -- The answer to a delete that is repeated because its first answer was lost.
    return artifacts.artifact_json(artifact);
  end if;
  perform artifacts.refuse_ended(artifact);

  -- A commit under way loses its lease, and so its verdict. Grants end because their artifact has; the bytes are
  -- removed by the sweep.
  update artifacts.artifacts a
  set state = 'deleted', deleted_at = clock_timestamp(), lease_token = null, lease_expires_at = null
  where a.artifact_id = artifact.artifact_id
  returning a.* into artifact;

  perform agents.record_event(
    delete_artifact.caller, caller_agent, 'artifact.deleted', artifact.agent_id, artifact.artifact_id
  );
  return artifacts.artifact_json(artifact);
end
$$;
comment on function public.delete_artifact(jsonb, text) is
  'Ends an artifact and with it its grants. Idempotent. Raises artifact_not_found, artifact_expired.';

revoke all on function
  public.list_artifacts(jsonb, text, text, integer, text),
  public.delete_artifact(jsonb, text)
from public, anon, authenticated;

grant execute on function
  public.list_artifacts(jsonb, text, text, integer, text),
  public.delete_artifact(jsonb, text)
to service_role;
