-- Registering artifacts, within what an agent may hold.

-- An artifact counts from /register on, so that no agent can register more than it may hold. It
-- counts until it is deleted, has expired, or was abandoned and swept.
create index held_artifacts_by_agent on artifacts.artifacts (agent_id, expires_at)
  include (size_bytes, state)
  where state <> 'deleted' and ended_at is null;

create function artifacts.refuse_beyond_limits(
  agent_id text,
  size bigint,
  quota_bytes bigint,
  max_pending integer,
  max_artifacts integer
) returns boolean
language plpgsql
volatile
set search_path = ''
as $$
declare
  held artifacts.totals;
  held_bytes bigint;
  held_artifacts bigint;
  registered_at timestamptz;
begin
  -- Registrations of one agent run one at a time, so that each sees the ones before it.
  perform pg_advisory_xact_lock(
    hashtextextended('artifacts of ' || refuse_beyond_limits.agent_id, 0)
  );
  select t.* into held from artifacts.totals t where t.agent_id = refuse_beyond_limits.agent_id;
  if not found then
    held.pending := 0;
    held_bytes := 0;
    held_artifacts := 0;
  else
    held_bytes := held.pending_bytes + held.committed_bytes + held.superseded_bytes
      + held.surplus_bytes;
    held_artifacts := held.committed + held.superseded;
  end if;

  if held_artifacts >= refuse_beyond_limits.max_artifacts
    or refuse_beyond_limits.quota_bytes > 0
      and held_bytes + refuse_beyond_limits.size > refuse_beyond_limits.quota_bytes
  then
    -- The totals include expired artifacts until the sweep ends them. Subtract these only here,
    -- where they would cause a refusal.
    registered_at := clock_timestamp();
    select held_artifacts - count(*), held_bytes - coalesce(sum(a.size_bytes), 0)
    into held_artifacts, held_bytes
    from artifacts.artifacts a
    where a.agent_id = refuse_beyond_limits.agent_id
      and a.state <> 'deleted'
      and a.ended_at is null
      and a.expires_at <= registered_at;
  end if;
  if refuse_beyond_limits.quota_bytes > 0
    and held_bytes + refuse_beyond_limits.size > refuse_beyond_limits.quota_bytes
  then
    raise sqlstate 'PT409' using
      message = 'quota_exceeded',
      detail = json_build_object(
        'quota_bytes', refuse_beyond_limits.quota_bytes, 'held_bytes', held_bytes
      );
  end if;
  if held_artifacts >= refuse_beyond_limits.max_artifacts then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object(
        'limit', 'artifacts', 'maximum', refuse_beyond_limits.max_artifacts
      );
  end if;
  if held.pending >= refuse_beyond_limits.max_pending then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object(
        'limit', 'pending_artifacts', 'maximum', refuse_beyond_limits.max_pending
      );
  end if;
  return held.enrolment_id is distinct from '';
end
$$;
comment on function artifacts.refuse_beyond_limits(text, bigint, bigint, integer, integer) is
  'Raises quota_exceeded or limit_exceeded if an agent may not register another artifact of this '
  'size. max_artifacts limits committed and superseded ones, max_pending limits pending ones. '
  'Returns whether its bytes may count for an enrolment, too.';

create function public.agent_api_register_artifact(
  caller jsonb,
  artifact_id text,
  agent_id text,
  key text,
  mime text,
  size bigint,
  ttl_days integer,
  quota_bytes bigint,
  max_pending integer,
  max_artifacts integer default 100000,
  metadata jsonb default null,
  keep_versions integer default null,
  end_grants boolean default false
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  registered artifacts.artifacts;
  may_be_enrolled boolean;
begin
  caller_agent := agents.admit(agent_api_register_artifact.caller);
  agent_api_register_artifact.agent_id := agents.require_self(caller_agent, agent_api_register_artifact.agent_id);
  perform agents.claim_for_operator(caller_agent, agent_api_register_artifact.agent_id);
  may_be_enrolled := artifacts.refuse_beyond_limits(
    agent_api_register_artifact.agent_id, agent_api_register_artifact.size,
    artifacts.quota_of(agent_api_register_artifact.agent_id, agent_api_register_artifact.quota_bytes),
    agent_api_register_artifact.max_pending, agent_api_register_artifact.max_artifacts
  );

  insert into artifacts.artifacts (
    artifact_id, agent_id, key, mime, size_bytes, ttl_days, metadata, keep_versions, end_grants
  )
  values (
    agent_api_register_artifact.artifact_id,
    agent_api_register_artifact.agent_id,
    agent_api_register_artifact.key,
    agent_api_register_artifact.mime,
    agent_api_register_artifact.size,
    agent_api_register_artifact.ttl_days,
    nullif(agent_api_register_artifact.metadata, '{}'),
    agent_api_register_artifact.keep_versions,
    agent_api_register_artifact.end_grants
  )
  returning * into registered;
  if may_be_enrolled then
    perform artifacts.refuse_beyond_enrolment(
      registered.agent_id, registered.size_bytes, agent_api_register_artifact.quota_bytes
    );
  end if;

  perform agents.record_event(
    agent_api_register_artifact.caller, caller_agent, 'artifact.registered', registered.agent_id,
    registered.artifact_id,
    jsonb_build_object('key', registered.key)
  );
  return artifacts.artifact_json(registered);
end
$$;
comment on function public.agent_api_register_artifact(
  jsonb, text, text, text, text, bigint, integer, bigint, integer, integer, jsonb, integer,
  boolean
) is
  'Registers a pending artifact under an id that the caller of the function made. quota_bytes is '
  'what the agent''s artifacts may hold together, including surplus uploads (0: no quota), unless '
  'the agent has a quota of its own. The agents of an enrolment have another one together. Raises '
  'forbidden, quota_exceeded, limit_exceeded.';

create function public.agent_api_discard_registration(caller jsonb, artifact_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  discarded artifacts.artifacts;
begin
  update artifacts.artifacts a
  set state = 'deleted', deleted_at = clock_timestamp()
  where a.artifact_id = agent_api_discard_registration.artifact_id and a.state = 'pending' and a.commit_attempts = 0
  returning a.* into discarded;

  if found then
    perform agents.record_event(
      agent_api_discard_registration.caller, agents.actor_of(agent_api_discard_registration.caller),
      'artifact.deleted', discarded.agent_id, discarded.artifact_id, 
      jsonb_build_object('key', discarded.key, 'reason', 'registration was not answered')
    );
  end if;
  return json_build_object('discarded', discarded.artifact_id is not null);
end
$$;
comment on function public.agent_api_discard_registration(jsonb, text) is
  'Takes back a registration whose answer could not be given. Needs no authentication: the '
  'registration was authenticated, and nobody else knows its id.';
