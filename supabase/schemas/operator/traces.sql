-- What the operator traces: which artifacts a name (`key`) stood for, and what is left of each.

create function agents.artifact_of_name(event agents.events) returns jsonb
language sql
stable
set search_path = ''
as $$
  select jsonb_build_object(
    'artifact_id', (artifact_of_name.event).object_id,
    'agent_id', (artifact_of_name.event).subject_agent_id,
    'key', (artifact_of_name.event).details ->> 'key',
    'registered_at', agents.iso_timestamp((artifact_of_name.event).occurred_at)
  )
$$;
comment on function agents.artifact_of_name(agents.events) is
  'Which artifact was registered by an event.';

create function public.agent_api_find_artifacts_named(name text, max_entries integer, agent_id text default null)
returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select json_build_object(
    'found', coalesce(json_agg(agents.artifact_of_name(n.event) order by (n.event).event_id), '[]')
  )
  from (
    select e as event
    from agents.events e
    where e.action = 'artifact.registered'
      and (e.details ->> 'key') collate "C" = agent_api_find_artifacts_named.name
      and e.subject_agent_id = coalesce(agent_api_find_artifacts_named.agent_id, e.subject_agent_id)
    order by (e.details ->> 'key') collate "C" desc, e.event_id desc
    limit agent_api_find_artifacts_named.max_entries
  ) n
$$;
comment on function public.agent_api_find_artifacts_named(text, integer, text) is
  'The newest artifacts that were registered under a name (`key`), by any agent (null) or by this '
  'one, as the log of events has it, oldest first: {found: [{artifact_id, agent_id, key, '
  'registered_at}]}.';

create function public.agent_api_read_artifact(artifact_id text) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select artifacts.artifact_json(a)::jsonb || jsonb_build_object(
    'state', case
      when a.state = 'deleted' then 'deleted'
      when a.ended_at is not null and a.state = 'pending' then 'abandoned'
      when a.ended_at is not null or a.expires_at <= now() then 'expired'
      else a.state
    end,
    'deleted_at', agents.iso_timestamp(a.deleted_at),
    'ended_at', agents.iso_timestamp(a.ended_at),
    'removed_at', agents.iso_timestamp(a.removed_at),
    'live_grants', (select count(*) from artifacts.live_grants(a.artifact_id, now()))
  )
  from artifacts.artifacts a
  where a.artifact_id = agent_api_read_artifact.artifact_id
$$;
comment on function public.agent_api_read_artifact(text) is
  'An artifact, or its tombstone, as the operator sees it: the artifact object, where `state` may '
  'also be expired or abandoned, and {deleted_at | null, ended_at | null, removed_at | null, '
  'live_grants}; null: there is no row. removed_at is when its bytes were found to be gone.';

create function public.agent_api_find_artifact_of_grant(grant_id text) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select to_json(g.artifact_id) from artifacts.grants g where g.grant_id = agent_api_find_artifact_of_grant.grant_id
$$;
comment on function public.agent_api_find_artifact_of_grant(text) is
  'The artifact_id of a grant, live or ended; null: it has no row.';

create function public.agent_api_find_agent_of_key(key_id text) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select to_json(k.agent_id) from agents.keys k where k.key_id = agent_api_find_agent_of_key.key_id
$$;
comment on function public.agent_api_find_agent_of_key(text) is
  'The agent_id of an agent key, live or revoked; null: there is no such agent key.';
