-- Grants: access of one agent to one artifact, until it expires or is revoked.

create table artifacts.grants (
  grant_id text collate "C" primary key,
  artifact_id text collate "C" not null references artifacts.artifacts (artifact_id) on delete cascade,
  to_agent agents.agent_id not null,
  token_hash text collate "C" not null,
  granted_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  revoked_at timestamptz,

  constraint grant_id_is_well_formed check (grant_id ~ '^grant_[0-9a-f]{32}$'),
  constraint token_hash_is_a_sha256 check (token_hash ~ '^[0-9a-f]{64}$'),
  constraint token_hash_is_unique unique (token_hash)
);
comment on table artifacts.grants is
  'Access of one agent to one artifact until expires_at. Only the SHA-256 of the grant token is '
  'kept.';

create index grants_by_artifact on artifacts.grants (artifact_id, to_agent);

-- The order of /inbox.
create index unrevoked_grants_by_grantee on artifacts.grants (to_agent, granted_at desc, grant_id desc)
  where revoked_at is null;

create function public.grant_artifact(
  caller jsonb,
  artifact_id text,
  to_agent text,
  expires_at timestamptz,
  grant_id text,
  token_hash text,
  max_live_grants integer
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(grant_artifact.caller);
  artifact artifacts.artifacts;
  granted artifacts.grants;
begin
  artifact := artifacts.lock_owned_artifact(caller_agent, grant_artifact.artifact_id);
  perform artifacts.refuse_ended(artifact);
  if artifact.state = 'pending' then
    raise sqlstate 'PT409' using message = 'artifact_not_committed';
  end if;
  if grant_artifact.expires_at <= clock_timestamp() then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "expires_at", "message": "Must lie in the future."}]}';
  end if;

  -- Exact, because the artifact is locked.
  if (
    select count(*)
    from artifacts.grants g
    where g.artifact_id = artifact.artifact_id and g.revoked_at is null and g.expires_at > clock_timestamp()
  ) >= grant_artifact.max_live_grants then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object('limit', 'live_grants', 'maximum', grant_artifact.max_live_grants);
  end if;

  insert into artifacts.grants (grant_id, artifact_id, to_agent, token_hash, expires_at)
  values (
    grant_artifact.grant_id,
    artifact.artifact_id,
    grant_artifact.to_agent,
    grant_artifact.token_hash,
    grant_artifact.expires_at
  )
  returning * into granted;

  perform agents.record_event(
    grant_artifact.caller, caller_agent, 'grant.created', granted.to_agent, granted.grant_id,
    jsonb_build_object('artifact_id', granted.artifact_id, 'expires_at', agents.iso_timestamp(granted.expires_at))
  );
  return json_build_object(
    'grant_id', granted.grant_id,
    'artifact_id', granted.artifact_id,
    'to_agent', granted.to_agent,
    'expires_at', agents.iso_timestamp(granted.expires_at)
  );
end
$$;
comment on function public.grant_artifact(jsonb, text, text, timestamptz, text, text, integer) is
  'Gives an agent access to an artifact until expires_at. Raises artifact_not_found, '
  'artifact_expired, artifact_not_committed, invalid_request, limit_exceeded.';

create function public.revoke_grants(caller jsonb, artifact_id text, to_agent text, grant_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(revoke_grants.caller);
  revoked artifacts.grants;
  revoked_ids text[] := array[]::text[];
begin
  if revoke_grants.grant_id is not null then
    -- Whatever else the request names must be that grant's own.
    perform from artifacts.grants g
    join artifacts.artifacts a on a.artifact_id = g.artifact_id
    where g.grant_id = revoke_grants.grant_id
      and (caller_agent is null or a.agent_id = caller_agent)
      and g.artifact_id = coalesce(revoke_grants.artifact_id, g.artifact_id)
      and g.to_agent = coalesce(revoke_grants.to_agent, g.to_agent);
    if not found then
      raise sqlstate 'PT404' using message = 'grant_not_found';
    end if;
  else
    -- The lock makes a grant that is being written now wait, or be seen.
    perform artifacts.lock_owned_artifact(caller_agent, revoke_grants.artifact_id);
  end if;

  for revoked in
    update artifacts.grants g
    set revoked_at = clock_timestamp()
    where (
        g.grant_id = revoke_grants.grant_id
        or (
          revoke_grants.grant_id is null
          and g.artifact_id = revoke_grants.artifact_id
          and g.to_agent = revoke_grants.to_agent
        )
      )
      and g.revoked_at is null
      and g.expires_at > clock_timestamp()
    returning g.*
  loop
    perform agents.record_event(
      revoke_grants.caller, caller_agent, 'grant.revoked', revoked.to_agent, revoked.grant_id,
      jsonb_build_object('artifact_id', revoked.artifact_id)
    );
    revoked_ids := revoked_ids || revoked.grant_id;
  end loop;

  return json_build_object('revoked', cardinality(revoked_ids), 'grant_ids', to_json(revoked_ids));
end
$$;
comment on function public.revoke_grants(jsonb, text, text, text) is
  'Ends one grant by its id, or every live grant of an artifact to an agent. Idempotent. Raises '
  'grant_not_found or artifact_not_found.';

create function public.list_inbox(caller jsonb, agent_id text, max_entries integer, after_grant_id text) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  after_granted_at timestamptz;
  answer json;
begin
  perform agents.authenticate_as(list_inbox.caller, list_inbox.agent_id);

  if list_inbox.after_grant_id is not null then
    select g.granted_at into after_granted_at
    from artifacts.grants g
    where g.grant_id = list_inbox.after_grant_id and g.to_agent = list_inbox.agent_id;
    if not found then
      raise sqlstate 'PT422' using
        message = 'invalid_request',
        detail = '{"issues": [{"path": "cursor", "message": "Must be the next_cursor of an earlier answer."}]}';
    end if;
  end if;

  with live as (
    select g.grant_id, g.granted_at, g.expires_at, a.artifact_id, a.agent_id, a.key, a.mime, a.size_bytes, a.sha256,
      row_number() over (order by g.granted_at desc, g.grant_id desc) as position
    from artifacts.grants g
    join artifacts.artifacts a on a.artifact_id = g.artifact_id
    where g.to_agent = list_inbox.agent_id
      and g.revoked_at is null
      and g.expires_at > now()
      and a.state in ('committed', 'superseded')
      and a.expires_at > now()
      and (
        after_granted_at is null
        or (g.granted_at, g.grant_id) < (after_granted_at, list_inbox.after_grant_id)
      )
    order by g.granted_at desc, g.grant_id desc
    -- One more than asked for tells whether there is a next page.
    limit list_inbox.max_entries + 1
  )
  select json_build_object(
    'grants', coalesce(
      json_agg(
        json_build_object(
          'grant_id', l.grant_id,
          'artifact_id', l.artifact_id,
          'from_agent', l.agent_id,
          'key', l.key,
          'mime', l.mime,
          'size', l.size_bytes,
          'sha256', l.sha256,
          'granted_at', agents.iso_timestamp(l.granted_at),
          'expires_at', agents.iso_timestamp(l.expires_at)
        )
        order by l.position
      ) filter (where l.position <= list_inbox.max_entries),
      '[]'
    ),
    'next_cursor', case
      when count(*) > list_inbox.max_entries
        then max(l.grant_id) filter (where l.position = list_inbox.max_entries)
    end
  ) into answer
  from live l;
  return answer;
end
$$;
comment on function public.list_inbox(jsonb, text, integer, text) is
  'The live grants to an agent, newest first, after the grant that an earlier page ended with; '
  'never a token. Raises forbidden.';
