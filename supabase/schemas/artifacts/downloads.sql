-- Reading artifacts: whoever has access gets what a download URL is made from.

create function artifacts.download_json(
  artifact artifacts.artifacts,
  ends_at timestamptz,
  window_seconds integer,
  counted_grant_id text
) returns json
language plpgsql
stable
set search_path = ''
as $$
begin
  return artifacts.content_json(artifact) || jsonb_build_object(
    'counted_grant_id', counted_grant_id,
    'sealed_path', artifacts.sealed_path(artifact.artifact_id, artifact.sealed_attempt),
    'window_seconds', greatest(
      1,
      least(
        window_seconds::numeric,
        floor(extract(epoch from least(ends_at, artifact.expires_at) - clock_timestamp()))
      )
    )::integer
  );
end
$$;
comment on function artifacts.download_json(artifacts.artifacts, timestamptz, integer, text) is
  'What a download URL is made from. Its window is the shortest of the requested one, the time to '
  'ends_at (null: none) and the time to the artifact''s end, at least 1 second. counted_grant_id '
  'is the grant that now has one download less (null: none), for agent_api_return_download.';

create function artifacts.granted_by_token(token_hash text) returns artifacts.grants
language plpgsql
stable
set search_path = ''
as $$
declare
  granted artifacts.grants;
begin
  select g.* into granted from artifacts.grants g where g.token_hash = granted_by_token.token_hash;
  if not found then
    raise sqlstate 'PT404' using message = 'grant_not_found';
  end if;
  if granted.expires_at <= clock_timestamp() then
    raise sqlstate 'PT410' using message = 'grant_expired';
  end if;
  if granted.revoked_at is not null then
    raise sqlstate 'PT410' using message = 'grant_revoked';
  end if;
  return granted;
end
$$;
comment on function artifacts.granted_by_token(text) is
  'The live grant of a token. Raises grant_not_found, grant_expired, grant_revoked.';

create function artifacts.granted_artifact(artifact_id text) returns artifacts.artifacts
language plpgsql
stable
set search_path = ''
as $$
declare
  artifact artifacts.artifacts;
begin
  select a.* into artifact from artifacts.artifacts a where a.artifact_id = granted_artifact.artifact_id;
  if not found then
    -- The tombstone and the grant were deleted after the grant was read.
    raise sqlstate 'PT410' using message = 'artifact_expired';
  end if;
  perform artifacts.refuse_ended(artifact);
  perform artifacts.refuse_lost(artifact);
  return artifact;
end
$$;
comment on function artifacts.granted_artifact(text) is
  'The artifact of a grant, if it has not ended. Raises artifact_expired, artifact_lost.';

create function public.agent_api_redeem_grant_token(
  caller jsonb,
  token_hash text,
  window_seconds integer
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  redeemed artifacts.grants := artifacts.granted_by_token(agent_api_redeem_grant_token.token_hash);
  artifact artifacts.artifacts := artifacts.granted_artifact(redeemed.artifact_id);
  is_counted boolean := artifacts.is_limited(redeemed.grant_id);
begin
  if is_counted and not artifacts.count_download(redeemed.grant_id) then
    raise sqlstate 'PT410' using message = 'grant_used_up';
  end if;

  perform agents.record_read(
    agent_api_redeem_grant_token.caller, null, 'artifact.fetched', redeemed.to_agent, redeemed.grant_id,
    jsonb_build_object('artifact_id', redeemed.artifact_id, 'key', artifact.key), redeemed.from_agent
  );
  return artifacts.download_json(
    artifact, redeemed.expires_at, agent_api_redeem_grant_token.window_seconds,
    case when is_counted then redeemed.grant_id end
  );
end
$$;
comment on function public.agent_api_redeem_grant_token(jsonb, text, integer) is
  'What the holder of a grant token may download. If the grant has a download limit, the download '
  'is counted. caller is {"kind": "grant_token", "request_id"}. Raises grant_not_found, '
  'grant_expired, grant_revoked, artifact_expired, artifact_lost, grant_used_up.';

create function public.agent_api_check_grant_token(token_hash text) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  checked artifacts.grants := artifacts.granted_by_token(agent_api_check_grant_token.token_hash);
  artifact artifacts.artifacts := artifacts.granted_artifact(checked.artifact_id);
  downloads_left bigint;
begin
  select d.max_downloads - d.downloads into downloads_left
  from artifacts.grant_downloads d
  where d.grant_id = checked.grant_id;
  if downloads_left <= 0 then
    raise sqlstate 'PT410' using message = 'grant_used_up';
  end if;
  return json_build_object(
    'key', artifact.key,
    'size', artifact.size_bytes,
    'from_agent', checked.from_agent,
    'expires_at', agents.iso_timestamp(least(checked.expires_at, artifact.expires_at)),
    'downloads_left', downloads_left
  );
end
$$;
comment on function public.agent_api_check_grant_token(text) is
  'What agent_api_redeem_grant_token would give access to, from whom, until when and for how many '
  'downloads (null: any number). Raises the same errors. Counts nothing.';

create function public.agent_api_open_artifact(
  caller jsonb,
  artifact_id text,
  window_seconds integer,
  key text default null,
  agent_id text default null,
  max_size bigint default null,
  version bigint default null
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  owner text;
  artifact artifacts.artifacts;
  opened_at timestamptz := clock_timestamp();
  grant_ends_at timestamptz;
  counted_grant_id text;
begin
  caller_agent := agents.admit(agent_api_open_artifact.caller);
  if agent_api_open_artifact.key is null then
    select a.* into artifact from artifacts.artifacts a where a.artifact_id = agent_api_open_artifact.artifact_id;
  else
    owner := coalesce(agent_api_open_artifact.agent_id, agents.require_self(caller_agent, null));
    if agent_api_open_artifact.version is not null then
      artifact := artifacts.numbered_artifact(
        owner, agent_api_open_artifact.key, agent_api_open_artifact.version, caller_agent
      );
    else
      artifact := artifacts.named_artifact(owner, agent_api_open_artifact.key, caller_agent);
      if caller_agent <> owner and (
        artifact.artifact_id is null
        or not artifacts.is_granted(artifact.artifact_id, caller_agent, opened_at)
      ) then
        perform artifacts.refuse_replaced(owner, agent_api_open_artifact.key, caller_agent);
      end if;
    end if;
  end if;
  if artifact.artifact_id is null then
    raise sqlstate 'PT404' using message = 'artifact_not_found';
  end if;

  if caller_agent <> artifact.agent_id then
    -- A grant ends with its artifact. So for a grantee, an ended artifact does not exist.
    if artifact.state = 'deleted' or artifact.expires_at <= clock_timestamp() then
      raise sqlstate 'PT404' using message = 'artifact_not_found';
    end if;
    select u.ends_at, u.counted_grant_id into grant_ends_at, counted_grant_id
    from artifacts.use_grant(artifact.artifact_id, caller_agent, opened_at) u;
  end if;

  perform artifacts.refuse_ended(artifact);
  if artifact.state = 'pending' then
    raise sqlstate 'PT409' using message = 'artifact_not_committed';
  end if;
  -- A refusal after use_grant rolls back the transaction, and with it the counted download.
  perform artifacts.refuse_lost(artifact);
  if artifact.size_bytes > agent_api_open_artifact.max_size then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object(
        'limit', 'max_size', 'maximum', agent_api_open_artifact.max_size, 'size', artifact.size_bytes
      ),
      hint = format('The artifact has %s bytes, which is more than max_size.', artifact.size_bytes);
  end if;

  perform agents.record_read(
    agent_api_open_artifact.caller, caller_agent, 'artifact.opened', artifact.agent_id,
    artifact.artifact_id,
    jsonb_build_object('key', artifact.key)
  );
  return artifacts.download_json(
    artifact, grant_ends_at, agent_api_open_artifact.window_seconds, counted_grant_id
  );
end
$$;
comment on function public.agent_api_open_artifact(
  jsonb, text, integer, text, text, bigint, bigint
) is
  'What the owner, an agent with a live grant, or the operator may download: an artifact, or the '
  'current one of a `key` of agent_id (null: the caller), see artifacts.named_artifact, or a '
  'version of that `key`. If the '
  'grant has a download limit, the download is counted. An artifact of more than max_size bytes (null: any size) is refused and '
  'not counted. Raises artifact_not_found, artifact_expired, artifact_lost, '
  'artifact_not_committed, limit_exceeded, grant_used_up, invalid_request.';
