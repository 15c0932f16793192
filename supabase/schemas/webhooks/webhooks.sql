-- Webhooks: where the operator wants to be told of events. Every event that a webhook matches adds
-- a row to agents.webhook_deliveries, in the event's own transaction. /webhooks/deliver sends them.

create table agents.webhooks (
  webhook_id text collate "C" primary key,
  url text collate "C" not null,
  label text,
  agent_id agents.agent_id,
  tag agents.tag,
  types text[] collate "C",
  encrypted_secret text collate "C" not null,
  previous_encrypted_secret text collate "C",
  previous_valid_until timestamptz,
  created_at timestamptz not null default now(),
  ended_at timestamptz,
  end_reason text,

  constraint webhook_id_is_well_formed check (webhook_id ~ '^whk_[0-9a-f]{32}$'),
  constraint url_is_http check (url ~ '^https?://[^[:space:]]+$' and length(url) <= 2048),
  constraint label_is_short check (length(label) between 1 and 200),
  constraint agent_or_tag check (num_nonnulls(agent_id, tag) <= 1),
  constraint types_are_named check (cardinality(types) between 1 and 100),
  constraint secret_is_encrypted check (encrypted_secret ~ '^v1\.[0-9a-f]{16}\.[A-Za-z0-9+/=]+$'),
  constraint previous_secret_is_encrypted check (
    previous_encrypted_secret ~ '^v1\.[0-9a-f]{16}\.[A-Za-z0-9+/=]+$'
  ),
  constraint previous_secret_has_an_end check (
    (previous_encrypted_secret is null) = (previous_valid_until is null)
  ),
  constraint ends_have_a_reason check (
    (ended_at is null) = (end_reason is null)
  ),
  constraint end_reason_is_known check (end_reason in ('deleted', 'gone', 'erased'))
);
comment on table agents.webhooks is
  'Where the operator wants to be told of events. An ended one stays until the sweep has deleted '
  'its deliveries.';
comment on column agents.webhooks.url is 'May contain a secret, so it is in no log and no event.';
comment on column agents.webhooks.agent_id is
  'Only events that concern this agent; null: of every agent, or of those with the tag.';
comment on column agents.webhooks.tag is
  'Only events that concern an agent that has this tag when the event is written; null: of every '
  'agent, or of the one that is named.';
comment on column agents.webhooks.types is 'Only events of these types; null: of every type.';
comment on column agents.webhooks.encrypted_secret is
  'Signs the deliveries. Encrypted with a key of PSK_ENCRYPTION_KEYS, as the PSKs are.';
comment on column agents.webhooks.previous_encrypted_secret is
  'The secret before the last rotation. Until previous_valid_until, it also signs.';
comment on column agents.webhooks.previous_valid_until is
  'Until when the previous secret signs; null: there is none.';
comment on column agents.webhooks.ended_at is 'When it ended; null: it has not.';
comment on column agents.webhooks.end_reason is
  'deleted: by the operator; gone: the receiver answered 410; erased: it named an erased agent. '
  'Null: not ended.';

create index webhooks_for_all on agents.webhooks (webhook_id)
  where ended_at is null and agent_id is null and tag is null;
create index webhooks_by_agent on agents.webhooks (agent_id) where agent_id is not null;
create index webhooks_by_tag on agents.webhooks (tag) where tag is not null;
create index ended_webhooks on agents.webhooks (ended_at) where ended_at is not null;
create index webhooks_by_age on agents.webhooks (created_at, webhook_id);

-- No foreign keys: each event would lock the rows of its webhooks.
create table agents.webhook_deliveries (
  webhook_id text collate "C" not null,
  event_id bigint not null,
  message_id text collate "C" not null,
  next_at timestamptz not null default clock_timestamp(),
  leased_until timestamptz,
  attempts integer not null default 0,
  first_attempt_at timestamptz,
  last_status integer,
  last_error text,
  delivered_at timestamptz,
  parked_at timestamptz,
  forget_at timestamptz,

  primary key (webhook_id, event_id),
  constraint webhook_id_is_well_formed check (webhook_id ~ '^whk_[0-9a-f]{32}$'),
  constraint message_id_is_well_formed check (message_id ~ '^evt_[0-9]+(-[0-9a-f]{12})?$'),
  constraint error_is_a_word check (last_error ~ '^[a-z_]{1,40}$'),
  constraint ends_once check (num_nonnulls(delivered_at, parked_at) <= 1),
  constraint what_has_ended_is_forgotten check (
    (num_nonnulls(delivered_at, parked_at) = 1) = (forget_at is not null)
  )
);
comment on table agents.webhook_deliveries is
  'The outbox of webhooks: one row per event and webhook that it concerns. The sweep deletes rows a '
  'day after their delivery, and 30 days after they were parked.';
comment on column agents.webhook_deliveries.message_id is
  'The header webhook-id: evt_ and the number of the event. After a restore, numbers are given out '
  'again. So the ids of later events end in the epoch: receivers drop an id that they have seen.';
comment on column agents.webhook_deliveries.next_at is
  'When it may be sent. While it is being sent: when the lease ends.';
comment on column agents.webhook_deliveries.leased_until is
  'While it is being sent: until when nobody else sends it. Null: it is not being sent.';
comment on column agents.webhook_deliveries.attempts is
  'How often it was sent, or leased to be sent, since it began or was requeued.';
comment on column agents.webhook_deliveries.first_attempt_at is
  'When the attempts began. It is parked if it fails 24 hours later.';
comment on column agents.webhook_deliveries.last_status is
  'The HTTP status of the last attempt; null: there was no answer.';
comment on column agents.webhook_deliveries.last_error is
  'Why the last attempt had no answer that counts, as one word; null: it had one.';
comment on column agents.webhook_deliveries.delivered_at is 'When it arrived; null: it has not.';
comment on column agents.webhook_deliveries.forget_at is
  'When the sweep may delete the row; null: it still waits.';
comment on column agents.webhook_deliveries.parked_at is
  'When it was given up. The operator can requeue it.';

-- Finds what is due, webhook by webhook, whatever else waits or is parked.
create index deliveries_by_due_time on agents.webhook_deliveries (webhook_id, next_at, event_id)
  where forget_at is null;
create index leased_deliveries on agents.webhook_deliveries (webhook_id, leased_until)
  where leased_until is not null;
create index parked_deliveries on agents.webhook_deliveries (webhook_id, event_id)
  where parked_at is not null;
create index deliveries_by_end on agents.webhook_deliveries (forget_at) where forget_at is not null;

create table agents.webhook_kicks (
  only_row boolean primary key default true,
  kicked_at timestamptz not null default '-infinity',
  url_secret text,
  key_secret text,

  constraint there_is_only_one_row check (only_row)
);
comment on table agents.webhook_kicks is
  'One row: when somebody was last told that deliveries wait.';
comment on column agents.webhook_kicks.kicked_at is 'When somebody was last told.';
comment on column agents.webhook_kicks.key_secret is 'As url_secret, for the secret key.';
comment on column agents.webhook_kicks.url_secret is
  'The Vault secrets by which pg_net can call the function; null: the sweep is not scheduled by '
  'agent_api_schedule_sweep.';

insert into agents.webhook_kicks default values;

create function agents.kick_deliveries() returns void
language plpgsql
volatile
-- service_role may not read the Vault on every project. This takes no argument, and sends a fixed
-- request to the project's own function.
security definer
set search_path = ''
as $$
declare
  kick agents.webhook_kicks;
begin
  -- At most once a second, and without waiting for another transaction that does the same: a call
  -- of /webhooks/deliver goes on looking for a while.
  update agents.webhook_kicks k
  set kicked_at = clock_timestamp()
  where k.ctid = any (array(
    select c.ctid
    from agents.webhook_kicks c
    where c.kicked_at < clock_timestamp() - interval '1 second'
      and exists (select from agents.webhooks w where w.ended_at is null)
    for update skip locked
  ))
  returning k.* into kick;
  if not found then
    return;
  end if;
  -- For the local stack.
  notify agent_webhooks;
  if kick.url_secret is not null then
    -- The schemas may be missing. `supabase db lint` checks constant dynamic SQL, so `format` hides
    -- their names until this runs.
    execute format(
      'select %1$I.http_post('
      || 'url := (select decrypted_secret from %2$I.decrypted_secrets where name = $1) '
      || '|| ''/functions/v1/agent-artifacts/webhooks/deliver'', '
      || 'headers := jsonb_build_object(''content-type'', ''application/json'', ''apikey'', '
      || '(select decrypted_secret from %2$I.decrypted_secrets where name = $2)), '
      || 'body := ''{}''::jsonb, timeout_milliseconds := 60000)',
      'net', 'vault'
    ) using kick.url_secret, kick.key_secret;
  end if;
exception when others then
  -- An event must not fail because nobody can be told of it. The schedule of the sweep delivers.
  raise log 'agents.kick_deliveries: %', sqlstate;
end
$$;
comment on function agents.kick_deliveries() is
  'Tells whoever delivers that deliveries wait: pg_net, if the sweep is scheduled with it, and '
  'listeners of the channel agent_webhooks. At most once a second.';
