-- Grants to an agent: those that name it, and those to a tag that it has now.

create function artifacts.parse_inbox_position(position_text text) returns pg_snapshot
language plpgsql
stable
set search_path = ''
as $$
declare
  place constant text := agents.place_of(parse_inbox_position.position_text, 'after');
  parsed pg_snapshot;
begin
  if place is null then
    return null;
  end if;
  begin
    parsed := place::pg_snapshot;
  -- pg_input_is_valid would test this without an exception, but exists only since PostgreSQL 16.
  exception when invalid_text_representation or numeric_value_out_of_range then
    parsed := null;
  end;
  -- This position is from the future: the database was restored, and the operator has not begun a
  -- new epoch yet.
  if pg_snapshot_xmax(parsed) > pg_snapshot_xmax(agents.present_snapshot()) then
    perform agents.expire_position('after');
  end if;
  if parsed is null then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "after", "message": "Must be the latest of an earlier answer."}]}';
  end if;
  return parsed;
end
$$;
comment on function artifacts.parse_inbox_position(text) is
  'The snapshot in which an inbox was read, from its `latest`. Raises invalid_request, '
  'position_expired.';

create function public.agent_api_list_inbox(
  caller jsonb,
  agent_id text,
  max_entries integer,
  after_grant_id text,
  from_agent text default null,
  after text default null,
  states text[] default null
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  subject text := agents.subject_of(agent_api_list_inbox.caller, agent_api_list_inbox.agent_id);
  since pg_snapshot := artifacts.parse_inbox_position(agent_api_list_inbox.after);
  after_granted_at timestamptz;
  -- Most agents never take a task. For them, no row of a task is looked for.
  may_have_tasks boolean := exists (select from artifacts.task_queues q where q.queue = subject)
    or exists (select from agents.agent_tags t where t.agent_id = subject);
  answer json;
begin
  if agent_api_list_inbox.after_grant_id is not null then
    select g.granted_at into after_granted_at
    from artifacts.grants g
    where g.grant_id = agent_api_list_inbox.after_grant_id
      -- The agent may have lost the tag since the previous page. Only the grant's time is used.
      and (g.grantee = subject or g.to_tag is not null);
    -- A restore lost the grant, or it was deleted.
    if not found then
      perform agents.expire_position('cursor');
    end if;
  end if;

  with walked as (
    select e.*
    from artifacts.inbox_entries(
      subject, agent_api_list_inbox.from_agent, since, agent_api_list_inbox.max_entries,
      after_granted_at,
      agent_api_list_inbox.after_grant_id
    ) e
  ), live as (
    select w.given, a.artifact, t.task
    from walked w
    -- `limit 1` forces one lookup in each index per grant. Otherwise the planner, which does not
    -- know the number of grants, reads all of a table once that has about 20,000 rows.
    cross join lateral (
      select i as artifact, i.state, i.expires_at
      from artifacts.artifacts i
      where i.artifact_id = (w.given).artifact_id
      limit 1
    ) a
    left join lateral (
      select d.downloads < d.max_downloads as has_more
      from artifacts.grant_downloads d
      where d.grant_id = (w.given).grant_id
      limit 1
    ) d on true
    left join lateral (
      select t as task, artifacts.state_now(t.state, t.ready_at, t.attempt, t.max_attempts) as state, t.taken_by
      from artifacts.tasks t
      where may_have_tasks
        and t.grant_id = (w.given).grant_id
        and t.queue = artifacts.queue_of(
          subject, (w.given).to_tag,
          (w.given).to_tag is not null and exists (
            select from artifacts.hand_overs h where h.grant_id = (w.given).grant_id and h.is_shared
          )
        )
      limit 1
    ) t on true
    where w.is_shown
      and case
        when t.state is null then agent_api_list_inbox.states is null or 'waiting' = any (agent_api_list_inbox.states)
        -- While another agent of the tag has it, it is not shown.
        when t.state in ('taken', 'done') and t.taken_by <> subject then false
        when agent_api_list_inbox.states is null then t.state in ('waiting', 'taken')
        else t.state = any (agent_api_list_inbox.states)
      end
      and a.state in ('committed', 'superseded')
      and a.expires_at > now()
      and d.has_more is not false
    order by (w.given).granted_at desc, (w.given).grant_id desc
    -- One more than asked for tells whether there is a next page.
    limit agent_api_list_inbox.max_entries + 1
  ), page as (
    select l.*
    from live l
    order by (l.given).granted_at desc, (l.given).grant_id desc
    limit agent_api_list_inbox.max_entries
  )
  select json_build_object(
    'grants', (
      select coalesce(
        json_agg(
          artifacts.entry_json(p.given, p.artifact, h.note, h.reply_to, h.is_shared, p.task)
          order by (p.given).granted_at desc, (p.given).grant_id desc
        ),
        '[]'
      )
      from page p
      cross join artifacts.hand_over_of((p.given).grant_id) h
    ),
    'next_cursor', case
      when (select count(*) from live) > agent_api_list_inbox.max_entries
        then (
          select (p.given).grant_id from page p order by (p.given).granted_at, (p.given).grant_id limit 1
        )
      when (select count(*) from walked) = agent_api_list_inbox.max_entries + 1000
        then (
          select (w.given).grant_id from walked w order by (w.given).granted_at, (w.given).grant_id limit 1
        )
    end,
    'latest', agents.position_at(agents.present_snapshot()::text)
  ) into answer;
  -- Only an answer that shows the agent itself all there is, or all since a position, is noted.
  if agent_api_list_inbox.caller ->> 'kind' <> 'operator'
    and agent_api_list_inbox.from_agent is null
    and agent_api_list_inbox.states is null
    and agent_api_list_inbox.after_grant_id is null
    and json_array_length(answer -> 'grants') > 0
    and answer ->> 'next_cursor' is null
  then
    perform artifacts.tell_of_view(subject);
  end if;
  return answer;
end
$$;
comment on function public.agent_api_list_inbox(jsonb, text, integer, text, text, text, text[]) is
  'The live grants to an agent and its tags that allow another download, newest first, after the '
  'last grant of an earlier page; never a token. from_agent: only those of one sender. after is '
  'the latest of an earlier answer: only those made since then, and those to a tag that the agent '
  'got since then. states: the states of tasks to show; by default waiting, and what the agent '
  'itself has taken. A page may be short or empty before the last. Raises forbidden, '
  'invalid_request, position_expired.';
