-- Creates many agent keys in one call, for `deno task agent:create --file`.

create function public.create_agent_keys(keys jsonb, max_live_keys integer default 100) returns json
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
  -- What create_agent_key locks one by one, in one order for everybody.
  for lock_key in
    select distinct hashtextextended('keys of ' || k.agent_id, 0)
    from jsonb_to_recordset(create_agent_keys.keys) as k (agent_id text)
    order by 1
  loop
    perform pg_advisory_xact_lock(lock_key);
  end loop;

  for wanted in
    select * from jsonb_to_recordset(create_agent_keys.keys)
      as k (agent_id text, label text, expires_at timestamptz)
  loop
    begin
      made := made || public.create_agent_key(
        wanted.agent_id, wanted.label, wanted.expires_at, create_agent_keys.max_live_keys
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
comment on function public.create_agent_keys(jsonb, integer) is
  'Creates keys like create_agent_key, one for each of [{agent_id, label, expires_at}], in this '
  'order, up to the first one that is refused: {made: [{key_id, agent_id, key, …}], refused: null '
  '| {code, details}}. Keys made before a refusal stay.';
