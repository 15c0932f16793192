-- Changes to the mesh that an agent repeats: endpoints that flip, rules that are put and revoked.
-- The first few changes of the same thing each write an event at once. If the agent goes on, one
-- event a minute reports the latest change and the number of changes. The first change after the
-- minute writes it, or the sweep if the agent has stopped. So no agent can fill the log, and the
-- log still shows the final state of every thing.

create table agents.repeated_changes (
  actor agents.agent_id not null,
  user_id text collate "C" not null default '',
  kind text collate "C" not null,
  subject_agent_id agents.agent_id not null,
  other_agent_id text collate "C" not null default '',
  thing text collate "C" not null default '',
  actor_kind text not null,
  key_id text collate "C",
  action text not null,
  details jsonb not null,
  told_at timestamptz not null,
  told integer not null default 1,
  told_times bigint not null default 1,
  untold bigint not null default 0,
  last_at timestamptz not null,
  due_at timestamptz not null,

  primary key (actor, user_id, kind, subject_agent_id, other_agent_id, thing)
)
-- fillfactor leaves room for HOT updates: after the first counted change of a minute, counting
-- changes no indexed column.
with (fillfactor = 50);
comment on table agents.repeated_changes is
  'One row per actor and thing that it changed within the last hour: what the next event about it '
  'will report.';
comment on column agents.repeated_changes.user_id is
  'The signed-in user who called as the agent, or empty.';
comment on column agents.repeated_changes.kind is 'The prefix of the actions: peer, rule, psk.';
comment on column agents.repeated_changes.thing is
  'Which thing between the two agents, such as `tcp 443`, or empty.';
comment on column agents.repeated_changes.key_id is
  'The agent key of the last change; null: none was used.';
comment on column agents.repeated_changes.action is 'The last change. details belongs to it.';
comment on column agents.repeated_changes.told_at is 'When the last minute began.';
comment on column agents.repeated_changes.told is 'How many events were written in that minute.';
comment on column agents.repeated_changes.told_times is
  'How many changes the last event stands for.';
comment on column agents.repeated_changes.untold is 'How many changes came after that event.';
comment on column agents.repeated_changes.due_at is
  'When the sweep must check the row: a minute after told_at if a change is unreported, otherwise '
  'an hour.';

create index repeated_changes_by_due_time on agents.repeated_changes (due_at);

create function agents.is_same_thing(one agents.repeated_changes, other agents.repeated_changes) returns boolean
language sql
immutable
-- Inlined, so that a query needs one lookup in the primary key.
return (one).actor = (other).actor
  and (one).user_id = (other).user_id
  and (one).kind = (other).kind
  and (one).subject_agent_id = (other).subject_agent_id
  and (one).other_agent_id = (other).other_agent_id
  and (one).thing = (other).thing;
comment on function agents.is_same_thing(agents.repeated_changes, agents.repeated_changes) is
  'Whether two rows are about the same thing, changed by the same actor.';

create table agents.changed_things (
  actor agents.agent_id primary key,
  hour_began_at timestamptz not null,
  things integer not null
)
with (fillfactor = 50);
comment on table agents.changed_things is
  'How many different things an agent has changed in its current hour. The first change after '
  'that hour starts the next one.';

create function agents.count_changed_thing(actor text) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  insert into agents.changed_things as t (actor, hour_began_at, things)
  values (count_changed_thing.actor, now(), 1)
  on conflict on constraint changed_things_pkey do update
  set (hour_began_at, things) = (
    select
      case when is_over then excluded.hour_began_at else t.hour_began_at end,
      case when is_over then 1 else t.things + 1 end
    from (select t.hour_began_at <= now() - interval '1 hour' as is_over) s
  );
end
$$;
comment on function agents.count_changed_thing(text) is
  'Counts a thing that an agent had not changed within the hour.';

create function agents.record_repeated(change agents.repeated_changes, request_id text, more jsonb default '{}')
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform agents.record_event(
    jsonb_build_object(
      'kind', (record_repeated.change).actor_kind,
      'user_id', nullif((record_repeated.change).user_id, ''),
      'key_id', (record_repeated.change).key_id,
      'request_id', record_repeated.request_id
    ),
    (record_repeated.change).actor,
    (record_repeated.change).action,
    (record_repeated.change).subject_agent_id,
    null,
    (record_repeated.change).details || record_repeated.more || case
      when (record_repeated.change).told_times > 1
      then jsonb_build_object('times', (record_repeated.change).told_times)
      else '{}'
    end,
    nullif((record_repeated.change).other_agent_id, '')
  );
end
$$;
comment on function agents.record_repeated(agents.repeated_changes, text, jsonb) is
  'Appends the event that a row must report now. It stands for told_times changes.';

create function agents.record_change(
  caller jsonb,
  caller_agent text,
  action text,
  subject_agent_id text,
  details jsonb default '{}',
  other_agent_id text default null,
  thing text default '',
  max_things integer default 2000
) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  -- Enough to report at once that a thing was created, undone and created again.
  told_at_once constant integer := 5;
  changed_at constant timestamptz := clock_timestamp();
  minute_began constant timestamptz := changed_at - interval '1 minute';
  change agents.repeated_changes;
begin
  if record_change.caller_agent is null then
    -- Every change by the operator writes an event.
    perform agents.record_event(
      record_change.caller, null, record_change.action, record_change.subject_agent_id, null,
      record_change.details, record_change.other_agent_id
    );
    return;
  end if;

  change.actor := record_change.caller_agent;
  change.user_id := coalesce(record_change.caller ->> 'user_id', '');
  change.kind := split_part(record_change.action, '.', 1);
  change.subject_agent_id := record_change.subject_agent_id;
  change.other_agent_id := coalesce(record_change.other_agent_id, '');
  change.thing := record_change.thing;
  -- An agent cannot fill the log with invented names either. After max_things different things
  -- within an hour, changes of further things are reported together, to the agent itself and to the
  -- operator.
  if exists (
    select
    from agents.changed_things t
    where t.actor = change.actor
      and t.things >= record_change.max_things
      and t.hour_began_at > now() - interval '1 hour'
  ) and not exists (
    select from agents.repeated_changes c where agents.is_same_thing(c, change)
  ) then
    change.subject_agent_id := change.actor;
    change.other_agent_id := '';
    change.thing := 'others';
  end if;

  -- An agent's changes to the mesh run one at a time: each has locked the agent.
  insert into agents.repeated_changes as c (
    actor, user_id, kind, subject_agent_id, other_agent_id, thing, actor_kind, key_id, action, details,
    told_at, last_at, due_at
  )
  values (
    change.actor, change.user_id, change.kind, change.subject_agent_id, change.other_agent_id,
    change.thing, record_change.caller ->> 'kind', agents.acting_key(record_change.caller),
    record_change.action, record_change.details,
    changed_at, changed_at, changed_at + interval '1 hour'
  )
  on conflict on constraint repeated_changes_pkey do update
  set action = excluded.action,
    key_id = excluded.key_id,
    details = excluded.details,
    last_at = excluded.last_at,
    (told_at, told, told_times, untold, due_at) = (
      select
        case when s.is_over then excluded.told_at else c.told_at end,
        case
          -- An agent that has not stopped gets one event a minute.
          when s.is_over and c.untold > 0 then told_at_once
          when s.is_over then 1
          else least(c.told + 1, told_at_once)
        end,
        case when s.is_told then c.untold + 1 else c.told_times end,
        case when s.is_told then 0 else c.untold + 1 end,
        case when s.is_told then excluded.due_at else c.told_at + interval '1 minute' end
      from (
        select
          c.told_at <= minute_began as is_over,
          c.told_at <= minute_began or c.told < told_at_once as is_told
      ) s
    )
  returning c.* into change;
  if change.untold = 0 then
    perform agents.record_repeated(change, record_change.caller ->> 'request_id');
    if change.told_at = changed_at and record_change.max_things is not null then
      perform agents.count_changed_thing(change.actor);
    end if;
  end if;
end
$$;
comment on function agents.record_change(jsonb, text, text, text, jsonb, text, text, integer) is
  'Like record_event, for changes to the mesh that an agent may repeat. If an event stands for '
  'more than one change of the thing, `times` in its details says how many. max_things is null if '
  'the agent cannot invent what it changes.';
