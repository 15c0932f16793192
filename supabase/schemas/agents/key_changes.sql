-- Only the operator creates and revokes agent keys: by rpc with the secret key, or in SQL.

create function public.agent_api_create_agent_key(
  agent_id text,
  label text default null,
  expires_at timestamptz default null,
  max_live_keys integer default 100,
  share boolean default false
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  -- Two version 4 UUIDs carry 244 random bits of the server's strong generator; no extension is
  -- needed.
  agent_key text := 'ak_' || encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex');
  made agents.keys;
begin
  if agents.is_agent_id(agent_api_create_agent_key.agent_id) is not true then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_id", "message": "Must be 1 to 128 of A-Z a-z 0-9 . _ : @ - and begin with a letter or digit."}]}';
  end if;
  if agent_api_create_agent_key.expires_at <= clock_timestamp() then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "expires_at", "message": "Must lie in the future."}]}';
  end if;

  perform pg_advisory_xact_lock(hashtextextended('keys of ' || agent_api_create_agent_key.agent_id, 0));
  if agent_api_create_agent_key.share then
    perform agents.add_way(agent_api_create_agent_key.agent_id, 'operator');
  end if;
  if not agents.claim_name(agent_api_create_agent_key.agent_id, 'operator') then
    perform agents.refuse_taken_name(agent_api_create_agent_key.agent_id);
  end if;
  if (
    select count(*)
    from agents.keys k
    where k.agent_id = agent_api_create_agent_key.agent_id
      and k.revoked_at is null
      and (k.expires_at is null or k.expires_at > clock_timestamp())
  ) >= agent_api_create_agent_key.max_live_keys then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object('limit', 'agent_keys', 'maximum', agent_api_create_agent_key.max_live_keys);
  end if;

  insert into agents.keys (key_id, agent_id, key_hash, label, expires_at)
  values (
    'key_' || replace(gen_random_uuid()::text, '-', ''),
    agent_api_create_agent_key.agent_id,
    encode(sha256(convert_to(agent_key, 'UTF8')), 'hex'),
    agent_api_create_agent_key.label,
    agent_api_create_agent_key.expires_at
  )
  returning * into made;

  perform agents.record_event('{"kind": "operator"}', null, 'key.created', made.agent_id, made.key_id);

  return json_build_object(
    'key_id', made.key_id,
    'agent_id', made.agent_id,
    'key', agent_key,
    'label', made.label,
    'created_at', agents.iso_timestamp(made.created_at),
    'expires_at', agents.iso_timestamp(made.expires_at)
  );
end
$$;
comment on function public.agent_api_create_agent_key(text, text, timestamptz, integer, boolean) is
  'Creates an agent key and returns it with its id, once: only its hash is stored. An agent may '
  'have up to max_live_keys live keys. With share, the operator joins the ways that the name '
  'belongs to. Raises invalid_request, agent_name_taken, limit_exceeded.';

create function public.agent_api_revoke_agent_key(key_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  revoked agents.keys;
begin
  perform agents.end_access(
    (select k.agent_id from agents.keys k where k.key_id = agent_api_revoke_agent_key.key_id)
  );
  update agents.keys k
  set revoked_at = clock_timestamp()
  where k.key_id = agent_api_revoke_agent_key.key_id and k.revoked_at is null
  returning * into revoked;

  if not found then
    return json_build_object('revoked', 0);
  end if;
  perform agents.record_event('{"kind": "operator"}', null, 'key.revoked', revoked.agent_id, revoked.key_id);
  return json_build_object('revoked', 1);
end
$$;
comment on function public.agent_api_revoke_agent_key(text) is
  'Revokes one agent key. Idempotent: {"revoked": 0} the second time.';

create function public.agent_api_revoke_agent_keys(agent_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  revoked agents.keys;
  revoked_count integer := 0;
begin
  perform agents.end_access(agent_api_revoke_agent_keys.agent_id);
  for revoked in
    update agents.keys k
    set revoked_at = clock_timestamp()
    where k.agent_id = agent_api_revoke_agent_keys.agent_id and k.revoked_at is null
    returning *
  loop
    perform agents.record_event('{"kind": "operator"}', null, 'key.revoked', revoked.agent_id, revoked.key_id);
    revoked_count := revoked_count + 1;
  end loop;
  return json_build_object('revoked', revoked_count);
end
$$;
comment on function public.agent_api_revoke_agent_keys(text) is 'Revokes every live key of an agent.';
