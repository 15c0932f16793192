-- The outbox is written in the transaction of the event. Without live webhooks, an event costs one
-- look that finds none.

create function agents.message_id_of(event_id bigint) returns text
language plpgsql
stable
set search_path = ''
as $$
begin
  return 'evt_' || message_id_of.event_id || coalesce(
    (select '-' || e.epoch from agents.epochs e where e.first_version_after is not null), ''
  );
end
$$;
comment on function agents.message_id_of(bigint) is
  'The webhook-id of an event that is written now. See agents.webhook_deliveries.';

create function agents.queue_deliveries() returns trigger
language plpgsql
set search_path = ''
as $$
declare
  concerned constant text[] := array[new.subject_agent_id, new.other_agent_id, new.actor_agent_id];
begin
  -- A statement of its own, whose plan has no parameters: it is made once per session.
  if not exists (select from agents.webhooks w where w.ended_at is null) then
    return null;
  end if;
  if new.action = 'webhook.tested' then
    return null;
  end if;
  insert into agents.webhook_deliveries (webhook_id, event_id, message_id)
  -- A subquery, so that it runs once if a webhook matches, and not at all otherwise.
  select w.webhook_id, new.event_id, (select agents.message_id_of(new.event_id))
  from (
    select a.webhook_id, a.types
    from agents.webhooks a
    where a.ended_at is null and a.agent_id is null and a.tag is null
    union all
    select a.webhook_id, a.types
    from agents.webhooks a
    where a.agent_id = any (concerned) and a.ended_at is null
    union all
    select a.webhook_id, a.types
    from agents.webhooks a
    where a.ended_at is null
      -- Checked first, so that the agents' tags are read only if a webhook has a tag.
      and a.tag is not null
      and a.tag = any (array(select t.tag from agents.agent_tags t where t.agent_id = any (concerned)))
  ) w
  where w.types is null or new.action = any (w.types);
  if found then
    perform agents.kick_deliveries();
  end if;
  return null;
end
$$;
comment on function agents.queue_deliveries() is
  'Adds one delivery for each live webhook that an event concerns. The tags are those of this '
  'moment.';

create trigger events_reach_webhooks
  after insert on agents.events
  for each row execute function agents.queue_deliveries();
