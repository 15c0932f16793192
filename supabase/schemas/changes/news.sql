-- What /wait answers: everything that an agent waits for, in one query.

create function agents.check_events_position(position_text text) returns void
language plpgsql
stable
strict
set search_path = ''
as $$
begin
  -- This position is from the future: the database was restored, and the operator has not begun a
  -- new epoch yet.
  if
    split_part(agents.place_of(check_events_position.position_text, 'after'), '.', 1)::xid8
      > pg_snapshot_xmax(agents.present_snapshot())
  then
    perform agents.expire_position('after');
  end if;
end
$$;
comment on function agents.check_events_position(text) is
  'Raises position_expired for a position in the events from before a restore.';

create function agents.check_positions(inbox_after text, events_after text) returns void
language plpgsql
stable
set search_path = ''
as $$
declare
  field text;
  refusal text;
begin
  field := 'inbox_after';
  perform artifacts.parse_inbox_position(check_positions.inbox_after);
  field := 'events_after';
  perform agents.check_events_position(check_positions.events_after);
exception when sqlstate 'PT422' then
  -- The checks call each field `after`. The refusal must contain the field's name in /wait.
  get stacked diagnostics refusal = pg_exception_detail;
  raise sqlstate 'PT422' using
    message = sqlerrm,
    detail = replace(refusal, '"after"', format('"%s"', field));
end
$$;
comment on function agents.check_positions(text, text) is
  'Refuses a position that no answer contained, or that has expired, and names its field in /wait. '
  'Raises invalid_request, position_expired.';

create function agents.find_news(agent_id text, inbox_after text, events_after text) returns jsonb
language plpgsql
stable
set search_path = ''
as $$
begin
  -- A position advances only if there is nothing new after it. So reading from it never misses
  -- anything.
  return (
    select jsonb_strip_nulls(jsonb_build_object(
      'inbox', case when find_news.inbox_after is not null then jsonb_build_object(
        'latest', case
          when i.changed then find_news.inbox_after
          else agents.position_at(agents.present_snapshot()::text)
        end,
        'changed', i.changed
      ) end,
      'events', case when find_news.events_after is not null then jsonb_build_object(
        'latest', case
          when e.changed then find_news.events_after
          else agents.position_at(agents.horizon() || '.0')
        end,
        'changed', e.changed
      ) end
    ))
    from (
      select find_news.inbox_after is not null
        and artifacts.has_new_grant(
          find_news.agent_id, null, agents.place_of(find_news.inbox_after, 'inbox_after')::pg_snapshot
        ) as changed
      -- `offset 0` keeps the planner from evaluating `changed` once for each reference to it.
      offset 0
    ) i
    cross join (
      select find_news.events_after is not null
        and agents.has_new_event(
          find_news.agent_id, null, agents.place_of(find_news.events_after, 'events_after')
        ) as changed
      offset 0
    ) e
  );
end
$$;
comment on function agents.find_news(text, text, text) is
  'What is new for an agent after each position that is given: {inbox?: {latest, changed}, '
  'events?: {latest, changed}}. Raises position_expired.';

create function public.agent_api_begin_wait(
  caller jsonb,
  agent_id text,
  config_version bigint,
  inbox_after text,
  events_after text,
  wait_seconds integer,
  paths jsonb default null,
  rendering_revision integer default null
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  subject text;
  paths_reported_at timestamptz;
  heartbeat json;
begin
  subject := agents.require_self(agents.admit(agent_api_begin_wait.caller), agent_api_begin_wait.agent_id);
  perform agents.check_positions(agent_api_begin_wait.inbox_after, agent_api_begin_wait.events_after);
  if agent_api_begin_wait.paths is not null then
    paths_reported_at := mesh.note_paths(subject, agent_api_begin_wait.paths);
  end if;
  heartbeat := mesh.note_sign_of_life(
    subject, agent_api_begin_wait.config_version, agent_api_begin_wait.rendering_revision,
    agent_api_begin_wait.wait_seconds, paths_reported_at, null
  );
  return jsonb_build_object('config_version', heartbeat -> 'config_version')
    || agents.find_news(subject, agent_api_begin_wait.inbox_after, agent_api_begin_wait.events_after);
end
$$;
comment on function public.agent_api_begin_wait(jsonb, text, bigint, text, text, integer, jsonb, integer) is
  'Records the heartbeat of an agent that has a peer, as agent_api_record_heartbeat does, and '
  'returns what is new after each position that is given: {config_version | null, inbox?: {latest, '
  'changed}, events?: {latest, changed}}. Without a peer, config_version is null. Raises '
  'forbidden, invalid_request, position_expired.';

create function public.agent_api_read_news(
  caller jsonb, agent_id text, inbox_after text, events_after text
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  subject text := agents.subject_of(agent_api_read_news.caller, agent_api_read_news.agent_id);
begin
  return jsonb_build_object('config_version', (
    select v.version
    from mesh.config_versions v
    where v.agent_id = subject and exists (select from mesh.peers p where p.agent_id = subject)
  )) || agents.find_news(subject, agent_api_read_news.inbox_after, agent_api_read_news.events_after);
end
$$;
comment on function public.agent_api_read_news(jsonb, text, text, text) is
  'What agent_api_begin_wait returns, read after a wait: a heartbeat counts when it arrives. '
  'Raises forbidden, position_expired.';
