-- What an agent reads of the event log: what it did, and what was done to things of its own.
-- The order is (transaction_id, event_id), and only events below the horizon are read. The horizon
-- is the oldest transaction that is still writing. No transaction below it can still commit, so no
-- event appears before a position that was already given out. A place in the log is
-- '<transaction_id>.<event_id>' of the last event that was read; the position that a caller gets
-- for it also contains the epoch.

create function agents.events_after(
  agent_id text,
  after_transaction xid8,
  after_event bigint,
  max_entries integer,
  ends_before xid8 default null
) returns setof agents.events
language plpgsql
stable
set search_path = ''
as $$
declare
  horizon constant xid8 := coalesce(events_after.ends_before, agents.horizon());
begin
  if events_after.agent_id is null then
    return query
      select e.*
      from agents.events e
      where (e.transaction_id, e.event_id) > (events_after.after_transaction, events_after.after_event)
        and e.transaction_id < horizon
      order by e.transaction_id, e.event_id
      limit events_after.max_entries;
    return;
  end if;
  return query
    -- An event may concern an agent in two ways, but is returned once.
    select distinct on (e.transaction_id, e.event_id) e.*
    from (
      (
        select e.*
        from agents.events e
        where e.subject_agent_id = events_after.agent_id
          and (e.transaction_id, e.event_id) > (events_after.after_transaction, events_after.after_event)
          and e.transaction_id < horizon
        order by e.subject_agent_id, e.transaction_id, e.event_id
        limit events_after.max_entries
      )
      union all (
        select e.*
        from agents.events e
        where e.other_agent_id = events_after.agent_id
          and (e.transaction_id, e.event_id) > (events_after.after_transaction, events_after.after_event)
          and e.transaction_id < horizon
        order by e.other_agent_id, e.transaction_id, e.event_id
        limit events_after.max_entries
      )
      union all (
        select e.*
        from agents.events e
        where e.actor_agent_id = events_after.agent_id
          and e.actor_agent_id <> e.subject_agent_id
          and (e.transaction_id, e.event_id) > (events_after.after_transaction, events_after.after_event)
          and e.transaction_id < horizon
        order by e.actor_agent_id, e.transaction_id, e.event_id
        limit events_after.max_entries
      )
    ) e
    order by e.transaction_id, e.event_id
    limit events_after.max_entries;
end
$$;
comment on function agents.events_after(text, xid8, bigint, integer, xid8) is
  'The next events that concern an agent (null: all events) after a position, of every type. Null '
  'as ends_before: below the horizon. Only the operator is shown later ones.';

create function agents.newest_events(
  agent_id text,
  before_transaction xid8,
  before_event bigint,
  max_entries integer,
  ends_before xid8 default null
) returns setof agents.events
language plpgsql
stable
set search_path = ''
as $$
declare
  horizon constant xid8 := coalesce(newest_events.ends_before, agents.horizon());
begin
  if newest_events.agent_id is null then
    return query
      select e.*
      from agents.events e
      where (e.transaction_id, e.event_id) < (newest_events.before_transaction, newest_events.before_event)
        and e.transaction_id < horizon
      order by e.transaction_id desc, e.event_id desc
      limit newest_events.max_entries;
    return;
  end if;
  return query
    select distinct on (e.transaction_id, e.event_id) e.*
    from (
      (
        select e.*
        from agents.events e
        where e.subject_agent_id = newest_events.agent_id
          and (e.transaction_id, e.event_id) < (newest_events.before_transaction, newest_events.before_event)
          and e.transaction_id < horizon
        order by e.subject_agent_id desc, e.transaction_id desc, e.event_id desc
        limit newest_events.max_entries
      )
      union all (
        select e.*
        from agents.events e
        where e.other_agent_id = newest_events.agent_id
          and (e.transaction_id, e.event_id) < (newest_events.before_transaction, newest_events.before_event)
          and e.transaction_id < horizon
        order by e.other_agent_id desc, e.transaction_id desc, e.event_id desc
        limit newest_events.max_entries
      )
      union all (
        select e.*
        from agents.events e
        where e.actor_agent_id = newest_events.agent_id
          and e.actor_agent_id <> e.subject_agent_id
          and (e.transaction_id, e.event_id) < (newest_events.before_transaction, newest_events.before_event)
          and e.transaction_id < horizon
        order by e.actor_agent_id desc, e.transaction_id desc, e.event_id desc
        limit newest_events.max_entries
      )
    ) e
    order by e.transaction_id desc, e.event_id desc
    limit newest_events.max_entries;
end
$$;
comment on function agents.newest_events(text, xid8, bigint, integer, xid8) is
  'The newest events that concern an agent (null: all events) before a position, of every type. '
  'ends_before: as in events_after.';

create function agents.is_shown(event agents.events, agent_id text) returns boolean
language sql
stable
return agent_id is null
  or event.action not in ('grant.created', 'grant.revoked', 'standing.created', 'standing.ended')
  or event.subject_agent_id is distinct from agent_id
  or event.other_agent_id is null
  or not artifacts.is_blocked(agent_id, event.other_agent_id);
comment on function agents.is_shown(agents.events, text) is
  'Whether /events shows an event to an agent that it concerns. It does not show grants from a '
  'sender that the agent has blocked.';

create function agents.may_see_name(event agents.events, agent_id text) returns boolean
language sql
immutable
-- Inlined.
return agent_id is null
  -- The owner of the file. For a grant, and for a read with a grant token, that is other_agent_id.
  or agent_id = case
    when starts_with(event.object_id, 'grant_') then event.other_agent_id
    else event.subject_agent_id
  end
  -- The agent that opened the file learned its name then.
  or event.actor_agent_id = agent_id;
comment on function agents.may_see_name(agents.events, text) is
  'Whether an agent (null: the operator) may see the name (`key`) of the file that an event is '
  'about: its owner, and an agent that read it. A grantee sees names in its inbox, while its '
  'grants last.';

create function agents.event_json(event agents.events, agent_id text) returns jsonb
language plpgsql
stable
set search_path = ''
as $$
begin
  return jsonb_build_object(
    'event_id', 'evt_' || event.event_id,
    'type', event.action,
    'at', agents.iso_timestamp(event.occurred_at),
    'actor_kind', event.actor_kind,
    'actor', event.actor_agent_id,
    'agent_id', event.subject_agent_id
  ) || jsonb_strip_nulls(
    -- Only the acting agent and the operator see which of the agent's users and agent keys acted.
    jsonb_build_object(
      'user_id',
      case
        when event.actor_agent_id = coalesce(event_json.agent_id, event.actor_agent_id)
        then event.actor_user_id
      end,
      'key_id',
      case
        when event.actor_agent_id = coalesce(event_json.agent_id, event.actor_agent_id)
        then event.actor_key_id
      end,
      'key',
      case
        when agents.may_see_name(event, event_json.agent_id) then event.details -> 'key'
      end
    ) || case split_part(event.action, '.', 1)
      when 'grant' then jsonb_build_object(
        'grant_id', event.object_id,
        'artifact_id', event.details -> 'artifact_id',
        'from_agent', event.other_agent_id,
        'to_agent', event.subject_agent_id,
        'to_tag', event.details -> 'to_tag',
        'expires_at', event.details -> 'expires_at',
        'max_downloads', event.details -> 'max_downloads',
        'standing_id', event.details -> 'standing_id'
      )
      when 'standing' then jsonb_build_object(
        'standing_id', event.object_id,
        'from_agent', event.other_agent_id,
        'to_agent', event.subject_agent_id,
        'to_tag', event.details -> 'to_tag',
        'expires_at', event.details -> 'expires_at'
      )
      when 'task' then jsonb_build_object(
        'grant_id', event.object_id,
        'artifact_id', event.details -> 'artifact_id',
        'from_agent', event.other_agent_id,
        'to_tag', event.details -> 'to_tag',
        'attempt', event.details -> 'attempt',
        'next_at', event.details -> 'next_at',
        'reply_grant_id', event.details -> 'reply_grant_id'
      )
      when 'artifact' then jsonb_build_object(
        'artifact_id',
        agents.artifact_of_event(event.object_id, event.details),
        'grant_id', case when starts_with(event.object_id, 'grant_') then event.object_id end,
        'sha256', event.details -> 'sha256',
        'version', event.details -> 'version',
        'superseded', event.details -> 'superseded',
        'superseded_by', event.details -> 'superseded_by',
        'reads', event.details -> 'reads',
        'last_read_at', event.details -> 'last_read_at'
      )
      when 'rule' then jsonb_build_object(
        'from_agent', event.subject_agent_id,
        'to_agent', event.details -> 'to_agent',
        'port', event.details -> 'port',
        'proto', event.details -> 'proto'
      )
      when 'connection' then jsonb_build_object(
        'from_agent', event.other_agent_id,
        'to_agent', event.subject_agent_id,
        'port', event.details -> 'port',
        'proto', event.details -> 'proto',
        'attempts', event.details -> 'attempts'
      )
      when 'psk' then jsonb_build_object(
        'a', event.subject_agent_id,
        'b', event.other_agent_id,
        'psk_version', event.details -> 'psk_version'
      )
      when 'peer' then jsonb_build_object(
        'peer', case
          when event.other_agent_id = event_json.agent_id then event.subject_agent_id
          else event.other_agent_id
        end,
        'pubkey', event.details -> 'pubkey',
        'endpoint', event.details -> 'endpoint'
      )
      else '{}'
    end || jsonb_build_object(
      'times', event.details -> 'times',
      'last_at', event.details -> 'last_at'
    )
  );
end
$$;
comment on function agents.event_json(agents.events, text) is
  'An event as /events shows it to an agent; null: to the operator.';
