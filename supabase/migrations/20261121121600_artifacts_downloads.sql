-- Made of supabase/schemas/artifacts/downloads.sql by `deno task schema:squash`.

-- Reading artifacts: what a download URL is made from, for whoever may have one.

create function artifacts.download_json(
  artifact artifacts.artifacts,
  ends_at timestamptz,
  window_seconds integer
) returns json
language sql
stable
return json_build_object(
  'artifact_id', artifact.artifact_id,
  'key', artifact.key,
  'mime', artifact.mime,
  'size', artifact.size_bytes,
  'sha256', artifact.sha256,
  'sealed_path', artifacts.sealed_path(artifact.artifact_id, artifact.sealed_attempt),
  'window_seconds', greatest(
    1,
    least(
      window_seconds::numeric,
      floor(extract(epoch from least(ends_at, artifact.expires_at) - clock_timestamp()))
    )
  )::integer
);
comment on function artifacts.download_json(artifacts.artifacts, timestamptz, integer) is
  'What a download URL is made from. The window is the shortest of the asked one, the time to '
  'ends_at (null: none) and the time to the artifact''s end, at least 1 second.';

create function public.redeem_grant_token(caller jsonb, token_hash text, window_seconds integer) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  redeemed artifacts.grants;
  artifact artifacts.artifacts;
begin
  select g.* into redeemed from artifacts.grants g where g.token_hash = redeem_grant_token.token_hash;
  if not found then
    raise sqlstate 'PT404' using message = 'grant_not_found';
  end if;
  if redeemed.expires_at <= clock_timestamp() then
    raise sqlstate 'PT410' using message = 'grant_expired';
  end if;
  if redeemed.revoked_at is not null then
    raise sqlstate 'PT410' using message = 'grant_revoked';
  end if;

  select a.* into artifact from artifacts.artifacts a where a.artifact_id = redeemed.artifact_id;
  if not found then
    -- Its tombstone went between the two looks, and the grant with it.
    raise sqlstate 'PT410' using message = 'artifact_expired';
  end if;
  perform artifacts.refuse_ended(artifact);

  perform agents.record_read(
    redeem_grant_token.caller, null, 'artifact.fetched', redeemed.to_agent, redeemed.grant_id,
    jsonb_build_object('artifact_id', artifact.artifact_id), artifact.agent_id
  );
  return artifacts.download_json(artifact, redeemed.expires_at, redeem_grant_token.window_seconds);
end
$$;
comment on function public.redeem_grant_token(jsonb, text, integer) is
  'What the holder of a grant token may download; caller is {"kind": "grant_token", "request_id"}. '
  'Raises grant_not_found, grant_expired, grant_revoked, artifact_expired.';

create function public.open_artifact(
  caller jsonb,
  artifact_id text,
  window_seconds integer,
  key text default null,
  agent_id text default null
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(open_artifact.caller);
  artifact artifacts.artifacts;
  opened_at timestamptz := clock_timestamp();
  grant_ends_at timestamptz;
begin
  if open_artifact.key is null then
    select a.* into artifact from artifacts.artifacts a where a.artifact_id = open_artifact.artifact_id;
  else
    artifact := artifacts.current_artifact(
      coalesce(open_artifact.agent_id, agents.subject_of(open_artifact.caller, null)), open_artifact.key
    );
  end if;
  if artifact.artifact_id is null then
    raise sqlstate 'PT404' using message = 'artifact_not_found';
  end if;

  if caller_agent <> artifact.agent_id then
    select max(g.live_until) into grant_ends_at
    from artifacts.live_grants(artifact.artifact_id, opened_at) g
    where g.to_agent = caller_agent;
    -- A grant ends with its artifact. What a grantee may not read any more is not there for it.
    if grant_ends_at is null or artifact.state = 'deleted' or artifact.expires_at <= clock_timestamp() then
      raise sqlstate 'PT404' using message = 'artifact_not_found';
    end if;
  end if;

  perform artifacts.refuse_ended(artifact);
  if artifact.state = 'pending' then
    raise sqlstate 'PT409' using message = 'artifact_not_committed';
  end if;

  perform agents.record_read(
    open_artifact.caller, caller_agent, 'artifact.opened', artifact.agent_id, artifact.artifact_id
  );
  return artifacts.download_json(artifact, grant_ends_at, open_artifact.window_seconds);
end
$$;
comment on function public.open_artifact(jsonb, text, integer, text, text) is
  'What the owner, an agent with a live grant, or the operator may download: an artifact, or the '
  'current one of a key of agent_id (null: the caller). Raises artifact_not_found, '
  'artifact_expired, artifact_not_committed, invalid_request.';
