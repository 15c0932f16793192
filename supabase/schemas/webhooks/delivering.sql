-- What /webhooks/deliver does in the database. One call records how earlier attempts ended, and
-- leases the next deliveries. A lease has an end, so a killed worker's deliveries come back.

create function agents.record_outcomes(outcomes jsonb) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  tried_at constant timestamptz := clock_timestamp();
  gone_id text;
begin
  -- In this order, so that two calls cannot deadlock.
  perform
  from (
    select o.webhook_id, o.event_id
    from jsonb_to_recordset(record_outcomes.outcomes) as o (webhook_id text, event_id bigint)
    order by 1, 2
  ) o
  -- `limit 1` forces one index lookup per outcome. The planner does not know their number.
  cross join lateral (
    select
    from agents.webhook_deliveries d
    where d.webhook_id = o.webhook_id and d.event_id = o.event_id
    limit 1
    for update
  ) locked;

  update agents.webhook_deliveries d
  set last_status = o.status,
    last_error = o.error,
    leased_until = null,
    (delivered_at, parked_at, forget_at, next_at) = (
      select
        case when s.is_delivered then tried_at end,
        case when s.is_late then tried_at end,
        case
          when s.is_delivered then tried_at + interval '1 day'
          when s.is_late then tried_at + interval '30 days'
        end,
        -- 10 seconds, doubled with each attempt, at most an hour.
        tried_at + least(
          interval '1 hour', interval '10 seconds' * power(2, least(d.attempts, 20) - 1)
        )
      from (
        select
          o.status between 200 and 299 as is_delivered,
          coalesce(o.status, 0) not between 200 and 299
            and d.first_attempt_at <= tried_at - interval '24 hours' as is_late
      ) s
    )
  from jsonb_to_recordset(record_outcomes.outcomes) as o (
    webhook_id text, event_id bigint, attempt integer, status integer, error text
  )
  cross join lateral (
    select l.ctid as row_id
    from agents.webhook_deliveries l
    where l.webhook_id = o.webhook_id and l.event_id = o.event_id
    limit 1
  ) l
  -- The rows are locked, so their ctid does not change.
  where d.ctid = l.row_id
    and d.forget_at is null
    -- If the lease ended before the attempt, somebody else sends it now. What was delivered is
    -- delivered, whoever did it.
    and (d.attempts = o.attempt or o.status between 200 and 299);

  for gone_id in
    select distinct o.webhook_id
    from jsonb_to_recordset(record_outcomes.outcomes) as o (webhook_id text, status integer)
    where o.status = 410
    order by 1
  loop
    perform agents.end_webhook(gone_id, 'gone');
  end loop;
end
$$;
comment on function agents.record_outcomes(jsonb) is
  'Records how attempts ended: [{webhook_id, event_id, attempt, status | null, error | null}]. Any '
  '2xx is delivered; 410 ends the webhook; anything else is tried again, and parked 24 hours after '
  'the first attempt.';

create function public.agent_api_take_deliveries(
  caller jsonb,
  outcomes jsonb,
  max_entries integer,
  max_per_webhook integer,
  lease_seconds integer
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  taken_at timestamptz;
  lease_ends_at timestamptz;
  candidates text[];
  candidate text;
  webhook agents.webhooks;
  free integer;
  left_over integer := agent_api_take_deliveries.max_entries;
  leased jsonb;
  taken jsonb := jsonb_build_array();
  horizon constant xid8 := agents.horizon();
begin
  perform agents.authenticate_operator(agent_api_take_deliveries.caller);
  if jsonb_array_length(agent_api_take_deliveries.outcomes) > 0 then
    perform agents.record_outcomes(agent_api_take_deliveries.outcomes);
  end if;
  taken_at := clock_timestamp();
  lease_ends_at := taken_at + make_interval(secs => agent_api_take_deliveries.lease_seconds);

  candidates := array(
    select w.webhook_id
    from agents.webhooks w
    -- The webhook whose delivery has waited longest is first, so that none has to wait for ever.
    cross join lateral (
      select d.next_at
      from agents.webhook_deliveries d
      where d.webhook_id = w.webhook_id and d.forget_at is null and d.next_at <= taken_at
      order by d.next_at
      limit 1
    ) due
    where w.ended_at is null
    order by due.next_at
  );
  foreach candidate in array candidates loop
    exit when left_over <= 0;
    -- Another call that takes deliveries of this webhook does not count to the same number.
    select w.* into webhook
    from agents.webhooks w
    where w.webhook_id = candidate and w.ended_at is null
    for no key update skip locked;
    continue when not found;
    -- Each gets its share of a call's places, so that many slow receivers do not take all of them.
    select least(
      agent_api_take_deliveries.max_per_webhook - count(*),
      greatest(1, agent_api_take_deliveries.max_entries / cardinality(candidates))
    )
    into free
    from agents.webhook_deliveries d
    where d.webhook_id = candidate and d.leased_until > taken_at;
    continue when free <= 0;

    with due as materialized (
      select d.event_id
      from agents.webhook_deliveries d
      where d.webhook_id = candidate and d.forget_at is null and d.next_at <= taken_at
      order by d.next_at
      limit least(free, left_over)
      for update skip locked
    ), taken_now as (
      update agents.webhook_deliveries d
      set attempts = d.attempts + 1,
        first_attempt_at = coalesce(d.first_attempt_at, taken_at),
        leased_until = lease_ends_at,
        next_at = lease_ends_at
      where d.webhook_id = candidate and d.event_id = any (array(select u.event_id from due u))
      returning d.event_id, d.message_id, d.attempts
    )
    select jsonb_agg(
      jsonb_build_object(
        'webhook_id', candidate,
        'event_id', t.event_id,
        'message_id', t.message_id,
        'attempt', t.attempts,
        'event', case
          when e.event_id is not null then jsonb_strip_nulls(jsonb_build_object(
            'type', e.action,
            'timestamp', agents.iso_timestamp(e.occurred_at),
            'grant_id', case when starts_with(e.object_id, 'grant_') then e.object_id end,
            'artifact_id', agents.artifact_of_event(e.object_id, e.details),
            'agent_id', e.subject_agent_id,
            -- Before this event, and never beyond the horizon: whoever continues from here misses
            -- nothing.
            'position', agents.position_at(case
              when e.transaction_id < horizon then e.transaction_id || '.' || e.event_id - 1
              else horizon || '.0'
            end)
          ))
        end
      )
      order by t.event_id
    )
    into leased
    from taken_now t
    left join lateral (
      -- `limit 1` forces one index lookup per row.
      select l.* from agents.events l where l.event_id = t.event_id limit 1
    ) e on true;
    continue when leased is null;
    left_over := left_over - jsonb_array_length(leased);
    taken := taken || jsonb_build_array(jsonb_build_object(
      'webhook_id', webhook.webhook_id,
      'url', webhook.url,
      'encrypted_secret', webhook.encrypted_secret,
      'previous_encrypted_secret', case
        when webhook.previous_valid_until > taken_at then webhook.previous_encrypted_secret
      end,
      'deliveries', leased
    ));
  end loop;
  return json_build_object(
    'webhooks', taken,
    'any_live', exists (select from agents.webhooks w where w.ended_at is null)
  );
end
$$;
comment on function public.agent_api_take_deliveries(jsonb, jsonb, integer, integer, integer) is
  'Records outcomes (see agents.record_outcomes), then leases deliveries that are due: at most '
  'max_per_webhook of one webhook at a time, whoever sends them. Returns {webhooks: [{webhook_id, '
  'url, encrypted_secret, previous_encrypted_secret | null, deliveries: [{webhook_id, event_id, '
  'message_id, attempt, event: {type, timestamp, position, agent_id, …} | null}]}], any_live}. event is null '
  'if the log has forgotten it. Raises forbidden for an agent.';
