-- Agent keys as the operator sees them, and the creation of many in one call, for `deno task
-- agentops agent create --file`.

create function agents.key_json(key agents.keys, last_used_at timestamptz) returns json
language sql
stable
return json_build_object(
  'key_id', key.key_id,
  'label', key.label,
  'instance', key.instance,
  'state', case
    when key.revoked_at is not null then 'revoked'
    when key.expires_at <= now() then 'expired'
    else 'live'
  end,
  'created_at', agents.iso_timestamp(key.created_at),
  'expires_at', agents.iso_timestamp(key.expires_at),
  'revoked_at', agents.iso_timestamp(key.revoked_at),
  'last_used_at', agents.iso_timestamp(last_used_at)
);
comment on function agents.key_json(agents.keys, timestamptz) is
  'A key as the operator sees it; state is live, expired or revoked.';

create function agents.newest_keys(agent_id text, with_revoked boolean) returns json
language sql
stable
set search_path = ''
as $$
  select coalesce(
    json_agg(
      agents.key_json(n.key, u.last_used_at) order by (n.key).revoked_at is null desc, (n.key).created_at desc
    ),
    '[]'
  )
  from (
    select k as key
    from agents.keys k
    where k.agent_id = newest_keys.agent_id and (newest_keys.with_revoked or k.revoked_at is null)
    order by k.revoked_at is null desc, k.created_at desc
    limit 100
  ) n
  left join lateral (
    select u.last_used_at from agents.key_uses u where u.key_id = (n.key).key_id limit 1
  ) u on true
$$;
comment on function agents.newest_keys(text, boolean) is
  'Up to a hundred keys of an agent: those not revoked first, newest first.';

create function public.agent_api_create_agent_keys(
  keys jsonb,
  max_live_keys integer default 100
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  wanted record;
  lock_key bigint;
  made jsonb := jsonb_build_array();
  code text;
  details text;
begin
  -- Take all locks of agent_api_create_agent_key first, in the same order in every transaction,
  -- which prevents deadlocks.
  for lock_key in
    select distinct hashtextextended('keys of ' || k.agent_id, 0)
    from jsonb_to_recordset(agent_api_create_agent_keys.keys) as k (agent_id text)
    order by 1
  loop
    perform pg_advisory_xact_lock(lock_key);
  end loop;

  for wanted in
    select * from jsonb_to_recordset(agent_api_create_agent_keys.keys)
      as k (agent_id text, label text, expires_at timestamptz)
  loop
    begin
      made := made || public.agent_api_create_agent_key(
        wanted.agent_id, wanted.label, wanted.expires_at, agent_api_create_agent_keys.max_live_keys
      )::jsonb;
    exception when sqlstate 'PT422' or sqlstate 'PT409' then
      get stacked diagnostics code = message_text, details = pg_exception_detail;
      return json_build_object(
        'made', made, 'refused', json_build_object('code', code, 'details', details::json)
      );
    end;
  end loop;
  return json_build_object('made', made, 'refused', null);
end
$$;
comment on function public.agent_api_create_agent_keys(jsonb, integer) is
  'Creates keys like agent_api_create_agent_key, one for each of [{agent_id, label, expires_at}], '
  'in this order, up to the first one that is refused: {made: [{key_id, agent_id, key, …}], '
  'refused: null | {code, details}}. Keys made before a refusal stay.';
