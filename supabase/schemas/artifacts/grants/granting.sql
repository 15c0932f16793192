-- Giving access, and taking it away.

create function artifacts.forget_surplus_grants(from_agent text, max_ended integer) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  -- Above max_ended, only every 100th grant of the agent looks for surplus grants, because that
  -- reads max_ended index entries. It deletes up to 200, so that it catches up.
  look_every constant integer := 100;
  grants_on_record bigint;
  looked_at timestamptz := clock_timestamp();
  -- The pair marks a grant, because very many grants may end at one instant.
  kept_until timestamptz;
  kept_id text;
begin
  select t.grants into grants_on_record
  from artifacts.totals t
  where t.agent_id = forget_surplus_grants.from_agent;
  if grants_on_record <= forget_surplus_grants.max_ended
    or (grants_on_record - forget_surplus_grants.max_ended) % look_every <> 0
  then
    return;
  end if;

  select g.live_until, g.grant_id into kept_until, kept_id
  from artifacts.grants g
  where g.from_agent = forget_surplus_grants.from_agent and g.live_until <= looked_at
  order by g.from_agent desc, g.live_until desc, g.grant_id desc
  offset forget_surplus_grants.max_ended - 1
  limit 1;

  delete from artifacts.grants g
  where g.grant_id = any (array(
    select e.grant_id
    from artifacts.grants e
    where e.from_agent = forget_surplus_grants.from_agent
      and (e.live_until, e.grant_id) < (kept_until, kept_id)
    order by e.from_agent, e.live_until, e.grant_id
    limit 2 * look_every
    -- The sweep, or a concurrent grant of the agent, may be deleting the same rows.
    for update skip locked
  ));
end
$$;
comment on function artifacts.forget_surplus_grants(text, integer) is
  'Call this after each new grant of an agent. If more than max_ended of its ended grants are '
  'stored, it deletes some that ended first. The limit is per granter, not per pair: an agent may '
  'name any number of others.';

create function public.agent_api_grant_artifact(
  caller jsonb,
  artifact_id text,
  to_agent text,
  expires_at timestamptz,
  grant_id text,
  token_hash text,
  max_live_grants integer,
  max_ended_grants integer default 10000,
  max_downloads integer default null,
  to_tag text default null,
  note text default null,
  reply_to text default null,
  is_shared boolean default false,
  max_attempts integer default null,
  idempotency_key text default null,
  known_only boolean default false
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  attempts constant integer := coalesce(agent_api_grant_artifact.max_attempts, 5);
  caller_agent text;
  artifact artifacts.artifacts;
  granted artifacts.grants;
  checked_at timestamptz;
  is_known boolean;
  answer jsonb;
begin
  caller_agent := agents.admit(agent_api_grant_artifact.caller);
  if agent_api_grant_artifact.idempotency_key is not null then
    answer := artifacts.repeated_grant(
      coalesce(caller_agent, artifacts.owner_of(agent_api_grant_artifact.artifact_id)),
      agent_api_grant_artifact.idempotency_key,
      agent_api_grant_artifact.artifact_id,
      artifacts.grantee(agent_api_grant_artifact.to_agent, agent_api_grant_artifact.to_tag),
      agent_api_grant_artifact.expires_at,
      agent_api_grant_artifact.max_downloads,
      agent_api_grant_artifact.note,
      agent_api_grant_artifact.reply_to,
      agent_api_grant_artifact.is_shared,
      attempts
    );
    if answer is not null then
      return answer;
    end if;
  end if;
  artifact := artifacts.lock_owned_artifact(caller_agent, agent_api_grant_artifact.artifact_id);
  perform artifacts.refuse_ended(artifact);
  if artifact.state = 'pending' then
    raise sqlstate 'PT409' using message = 'artifact_not_committed';
  end if;
  checked_at := clock_timestamp();
  if agent_api_grant_artifact.expires_at <= checked_at then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "expires_at", "message": "Must lie in the future."}]}';
  end if;

  if agent_api_grant_artifact.known_only
    and agent_api_grant_artifact.to_agent is not null
    and not agents.is_known(agent_api_grant_artifact.to_agent)
  then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "to_agent", "message": "Nobody of this name has ever been here."}]}';
  end if;
  if agent_api_grant_artifact.reply_to is not null
    and not artifacts.has_grant_of(artifact.agent_id, agent_api_grant_artifact.reply_to)
  then
    raise sqlstate 'PT404' using message = 'grant_not_found';
  end if;

  -- The count is exact, because the artifact is locked.
  if (
    select count(*) from artifacts.live_grants(artifact.artifact_id, checked_at)
  ) >= agent_api_grant_artifact.max_live_grants then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object('limit', 'live_grants', 'maximum', agent_api_grant_artifact.max_live_grants);
  end if;

  insert into artifacts.grants (
    grant_id, artifact_id, from_agent, to_agent, to_tag, token_hash, expires_at
  )
  values (
    agent_api_grant_artifact.grant_id,
    artifact.artifact_id,
    artifact.agent_id,
    agent_api_grant_artifact.to_agent,
    agent_api_grant_artifact.to_tag,
    agent_api_grant_artifact.token_hash,
    agent_api_grant_artifact.expires_at
  )
  returning * into granted;
  if agent_api_grant_artifact.max_downloads is not null then
    insert into artifacts.grant_downloads (grant_id, max_downloads)
    values (granted.grant_id, agent_api_grant_artifact.max_downloads);
  end if;
  if agent_api_grant_artifact.is_shared
    or coalesce(
      agent_api_grant_artifact.note,
      agent_api_grant_artifact.reply_to,
      agent_api_grant_artifact.idempotency_key,
      agent_api_grant_artifact.max_attempts::text
    ) is not null
  then
    insert into artifacts.hand_overs (
      grant_id, from_agent, note, reply_to, is_shared, max_attempts, idempotency_key
    )
    values (
      granted.grant_id,
      granted.from_agent,
      agent_api_grant_artifact.note,
      agent_api_grant_artifact.reply_to,
      agent_api_grant_artifact.is_shared,
      attempts,
      agent_api_grant_artifact.idempotency_key
    );
  end if;
  perform artifacts.forget_surplus_grants(granted.from_agent, agent_api_grant_artifact.max_ended_grants);

  perform agents.record_event(
    agent_api_grant_artifact.caller, caller_agent, 'grant.created', granted.to_agent, granted.grant_id,
    jsonb_strip_nulls(jsonb_build_object(
      'artifact_id', granted.artifact_id,
      'key', artifact.key,
      'expires_at', agents.iso_timestamp(granted.expires_at),
      'max_downloads', agent_api_grant_artifact.max_downloads,
      'to_tag', granted.to_tag
    )),
    granted.from_agent
  );
  is_known := granted.to_agent is null
    or exists (select from agents.names n where n.agent_id = granted.to_agent);
  answer := artifacts.granted_json(granted);
  if not is_known then
    answer := answer || jsonb '{"unknown_recipient": true}';
  end if;
  return answer;
end
$$;
comment on function public.agent_api_grant_artifact(
  jsonb, text, text, timestamptz, text, text, integer, integer, integer, text, text, text, boolean,
  integer, text, boolean
) is
  'Gives an agent, or every agent with a tag (both null: anyone with the token), access to an '
  'artifact until expires_at, for max_downloads downloads together (null: any number). Of the '
  'owner''s ended grants, the newest max_ended_grants stay stored, and about a hundred more. '
  'is_shared: exactly one agent of the tag works on it. With an idempotency_key that the owner '
  'used for the same request within the last 24 hours, returns the grant of that request, and '
  'repeated. unknown_recipient: nobody has had the name to_agent; with known_only, the answer is '
  'invalid_request instead. Raises artifact_not_found, artifact_expired, artifact_not_committed, '
  'invalid_request, limit_exceeded, grant_not_found (reply_to), idempotency_conflict.';

create function public.agent_api_revoke_grants(
  caller jsonb,
  artifact_id text,
  to_agent text,
  grant_id text,
  to_tag text default null
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  wanted_grantee constant text := artifacts.grantee(agent_api_revoke_grants.to_agent, agent_api_revoke_grants.to_tag);
  caller_agent text;
  artifact artifacts.artifacts;
  checked_at timestamptz;
  live_ids text[];
  file_name text;
  revoked artifacts.grants;
  revoked_ids text[] := array[]::text[];
begin
  caller_agent := agents.admit(agent_api_revoke_grants.caller);
  if agent_api_revoke_grants.grant_id is not null then
    -- The other fields of the request must match the grant.
    select array[g.grant_id], a.key into live_ids, file_name
    from artifacts.grants g
    join artifacts.artifacts a on a.artifact_id = g.artifact_id
    where g.grant_id = agent_api_revoke_grants.grant_id
      and (caller_agent is null or g.from_agent = caller_agent)
      and g.artifact_id = coalesce(agent_api_revoke_grants.artifact_id, g.artifact_id)
      and (wanted_grantee is null or g.grantee = wanted_grantee);
    if not found then
      raise sqlstate 'PT404' using message = 'grant_not_found';
    end if;
  else
    -- Because of the lock, this sees a concurrent grant of the artifact, or that grant waits for
    -- this transaction.
    artifact := artifacts.lock_owned_artifact(caller_agent, agent_api_revoke_grants.artifact_id);
    file_name := artifact.key;
    checked_at := clock_timestamp();
    live_ids := array(
      select g.grant_id
      from artifacts.live_grants(agent_api_revoke_grants.artifact_id, checked_at) g
      where g.grantee = wanted_grantee
    );
  end if;

  for revoked in
    update artifacts.grants g
    set revoked_at = clock_timestamp()
    where g.grant_id = any (live_ids) and g.revoked_at is null and g.expires_at > clock_timestamp()
    returning g.*
  loop
    perform agents.record_event(
      agent_api_revoke_grants.caller, caller_agent, 'grant.revoked', revoked.to_agent, revoked.grant_id,
      jsonb_strip_nulls(jsonb_build_object(
        'artifact_id', revoked.artifact_id, 'key', file_name, 'to_tag', revoked.to_tag
      )),
      revoked.from_agent
    );
    revoked_ids := revoked_ids || revoked.grant_id;
  end loop;

  return json_build_object('revoked', cardinality(revoked_ids), 'grant_ids', to_json(revoked_ids));
end
$$;
comment on function public.agent_api_revoke_grants(jsonb, text, text, text, text) is
  'Revokes one grant by its id, or every live grant of an artifact to an agent or to a tag. '
  'Idempotent. Raises grant_not_found or artifact_not_found.';
