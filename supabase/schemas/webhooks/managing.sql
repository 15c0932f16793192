-- The operator creates, rotates, tests, lists and deletes webhooks. The functions make and encrypt
-- the secrets, because only they have the encryption keys.

create function agents.webhook_json(webhook agents.webhooks) returns jsonb
language sql
stable
return jsonb_build_object(
  'webhook_id', webhook.webhook_id,
  'url', webhook.url,
  'label', webhook.label,
  'agent_id', webhook.agent_id,
  'tag', webhook.tag,
  'types', webhook.types,
  'created_at', agents.iso_timestamp(webhook.created_at),
  'previous_secret_until', case
    when webhook.previous_valid_until > now() then agents.iso_timestamp(webhook.previous_valid_until)
  end,
  'ended_at', agents.iso_timestamp(webhook.ended_at),
  'end_reason', webhook.end_reason
);
comment on function agents.webhook_json(agents.webhooks) is
  'A webhook as the operator sees it, without its secrets.';

create function agents.live_webhook(webhook_id text) returns agents.webhooks
language plpgsql
volatile
set search_path = ''
as $$
declare
  found_webhook agents.webhooks;
begin
  select w.* into found_webhook
  from agents.webhooks w
  where w.webhook_id = live_webhook.webhook_id and w.ended_at is null
  for no key update;
  if not found then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "webhook_id", "message": "No live webhook has this identifier."}]}';
  end if;
  return found_webhook;
end
$$;
comment on function agents.live_webhook(text) is
  'Locks a webhook that has not ended, and returns it. Raises invalid_request.';

create function public.agent_api_create_webhook(caller jsonb, webhook jsonb) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  most_webhooks constant integer := 1000;
  made agents.webhooks;
begin
  perform agents.authenticate_operator(agent_api_create_webhook.caller);
  -- Two calls at once would both count the same webhooks.
  perform pg_advisory_xact_lock(hashtextextended('webhooks', 0));
  if (select count(*) from agents.webhooks w where w.ended_at is null) >= most_webhooks then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object('limit', 'webhooks', 'maximum', most_webhooks);
  end if;
  insert into agents.webhooks (webhook_id, url, label, agent_id, tag, types, encrypted_secret)
  select w.webhook_id, w.url, w.label, w.agent_id, w.tag, w.types, w.encrypted_secret
  from jsonb_to_record(agent_api_create_webhook.webhook) as w (
    webhook_id text,
    url text,
    label text,
    agent_id text,
    tag text,
    types text[],
    encrypted_secret text
  )
  -- A call that got no answer is repeated.
  on conflict on constraint webhooks_pkey do nothing
  returning * into made;
  if not found then
    select w.* into made
    from agents.webhooks w
    where w.webhook_id = agent_api_create_webhook.webhook ->> 'webhook_id';
    return agents.webhook_json(made);
  end if;
  perform agents.record_event(
    agent_api_create_webhook.caller, null, 'webhook.created', null, made.webhook_id
  );
  return agents.webhook_json(made);
end
$$;
comment on function public.agent_api_create_webhook(jsonb, jsonb) is
  'Creates a webhook with these fields: {webhook_id, url, label, agent_id, tag, types, '
  'encrypted_secret}. Returns it without the secret. Raises limit_exceeded, and forbidden for an '
  'agent.';

create function public.agent_api_rotate_webhook(
  caller jsonb,
  webhook_id text,
  encrypted_secret text,
  overlap_seconds integer
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  rotated agents.webhooks;
begin
  perform agents.authenticate_operator(agent_api_rotate_webhook.caller);
  rotated := agents.live_webhook(agent_api_rotate_webhook.webhook_id);
  -- A call that got no answer is repeated.
  if rotated.encrypted_secret = agent_api_rotate_webhook.encrypted_secret then
    return agents.webhook_json(rotated);
  end if;
  update agents.webhooks w
  set previous_encrypted_secret = case
      when agent_api_rotate_webhook.overlap_seconds > 0 then w.encrypted_secret
    end,
    previous_valid_until = case
      when agent_api_rotate_webhook.overlap_seconds > 0
      then now() + make_interval(secs => agent_api_rotate_webhook.overlap_seconds)
    end,
    encrypted_secret = agent_api_rotate_webhook.encrypted_secret
  where w.webhook_id = rotated.webhook_id
  returning w.* into rotated;
  perform agents.record_event(
    agent_api_rotate_webhook.caller, null, 'webhook.rotated', null, rotated.webhook_id
  );
  return agents.webhook_json(rotated);
end
$$;
comment on function public.agent_api_rotate_webhook(jsonb, text, text, integer) is
  'Gives a webhook another secret. For overlap_seconds, deliveries are signed with both; 0: from '
  'now on with the new one alone. A secret from before the previous rotation ends at once. Returns '
  'the webhook. Raises invalid_request, and forbidden for an agent.';

create function agents.end_webhook(webhook_id text, reason text) returns boolean
language plpgsql
volatile
set search_path = ''
as $$
begin
  update agents.webhooks w
  set ended_at = clock_timestamp(), end_reason = end_webhook.reason,
    previous_encrypted_secret = null, previous_valid_until = null
  where w.webhook_id = end_webhook.webhook_id and w.ended_at is null;
  if not found then
    return false;
  end if;
  perform agents.record_event(
    '{"kind": "operator"}', null, 'webhook.ended', null, end_webhook.webhook_id,
    jsonb_build_object('reason', end_webhook.reason)
  );
  return true;
end
$$;
comment on function agents.end_webhook(text, text) is
  'Ends a webhook: nothing more is queued or sent. The sweep deletes its deliveries in steps. False '
  'if it has ended before.';

create function public.agent_api_delete_webhook(webhook_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
  return json_build_object(
    'deleted', agents.end_webhook(agent_api_delete_webhook.webhook_id, 'deleted')::integer
  );
end
$$;
comment on function public.agent_api_delete_webhook(text) is
  'Ends a webhook. Returns {deleted: 1}, or 0 if there is no live one. Deliveries that are being '
  'sent may still arrive.';

create function public.agent_api_test_webhook(webhook_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  tested agents.webhooks := agents.live_webhook(agent_api_test_webhook.webhook_id);
  test_event bigint;
begin
  perform agents.record_event('{"kind": "operator"}', null, 'webhook.tested', null, tested.webhook_id);
  select e.event_id into test_event
  from agents.events e
  where e.transaction_id = agents.present_transaction()
  order by e.transaction_id desc, e.event_id desc
  limit 1;
  insert into agents.webhook_deliveries (webhook_id, event_id, message_id)
  values (tested.webhook_id, test_event, agents.message_id_of(test_event));
  perform agents.kick_deliveries();
  return json_build_object('event_id', 'evt_' || test_event);
end
$$;
comment on function public.agent_api_test_webhook(text) is
  'Writes an event of the type webhook.tested, which only this webhook gets, whatever its filter '
  'is. Returns {event_id}. Raises invalid_request.';

create function public.agent_api_list_webhook_secrets(newest_key_id text, max_entries integer)
returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select coalesce(json_agg(s), '[]')
  from (
    select w.webhook_id, w.encrypted_secret, w.previous_encrypted_secret
    from agents.webhooks w
    where w.ended_at is null
      and (
        split_part(w.encrypted_secret, '.', 2) <> agent_api_list_webhook_secrets.newest_key_id
        or split_part(w.previous_encrypted_secret, '.', 2) <> agent_api_list_webhook_secrets.newest_key_id
      )
    limit agent_api_list_webhook_secrets.max_entries
  ) s
$$;
comment on function public.agent_api_list_webhook_secrets(text, integer) is
  'Some of the live webhooks with a secret that is not encrypted with the newest key: [{webhook_id, '
  'encrypted_secret, previous_encrypted_secret | null}].';

create function public.agent_api_reencrypt_webhook_secrets(secrets jsonb) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  reencrypted_count integer;
begin
  update agents.webhooks w
  set encrypted_secret = s.reencrypted_secret,
    previous_encrypted_secret = s.previous_reencrypted_secret,
    previous_valid_until = case
      when s.previous_reencrypted_secret is not null then w.previous_valid_until
    end
  from jsonb_to_recordset(agent_api_reencrypt_webhook_secrets.secrets) as s (
    webhook_id text,
    encrypted_secret text,
    reencrypted_secret text,
    previous_reencrypted_secret text
  )
  where w.webhook_id = s.webhook_id
    -- It may have been rotated since the caller read it.
    and w.encrypted_secret = s.encrypted_secret;
  get diagnostics reencrypted_count = row_count;
  return json_build_object('reencrypted', reencrypted_count);
end
$$;
comment on function public.agent_api_reencrypt_webhook_secrets(jsonb) is
  'Replaces encrypted secrets: secrets is [{webhook_id, encrypted_secret, reencrypted_secret, '
  'previous_reencrypted_secret | null}], the same secrets encrypted with two keys. Returns how many '
  'webhooks it changed: {reencrypted}.';
