-- Made of supabase/schemas/artifacts/inbox.sql by `deno task schema:squash`.

-- What is granted to an agent.

create function artifacts.inbox_entries(
  agent_id text,
  max_entries integer,
  after_granted_at timestamptz,
  after_grant_id text
) returns table (grant_id text, granted_at timestamptz, is_live boolean)
language plpgsql
stable
set search_path = ''
as $$
declare
  -- The most that one page looks at.
  entries_per_page constant integer := inbox_entries.max_entries + 1000;
  live_ids text[];
begin
  -- Few agents have more live grants than that. An index leads to all of them, past those that
  -- ended, however many these are.
  live_ids := array(
    select g.grant_id
    from artifacts.grants g
    where g.to_agent = inbox_entries.agent_id and g.live_until > now()
    order by g.to_agent, g.live_until
    limit entries_per_page
  );
  if cardinality(live_ids) < entries_per_page then
    return query
      select g.grant_id, g.granted_at, true
      from artifacts.grants g
      where g.grant_id = any (live_ids)
        and (
          inbox_entries.after_grant_id is null
          or (g.granted_at, g.grant_id) < (inbox_entries.after_granted_at, inbox_entries.after_grant_id)
        );
    return;
  end if;
  return query
    select g.grant_id, g.granted_at, g.live_until > now()
    from artifacts.grants g
    where g.to_agent = inbox_entries.agent_id
      and g.revoked_at is null
      and (
        inbox_entries.after_grant_id is null
        or (g.granted_at, g.grant_id) < (inbox_entries.after_granted_at, inbox_entries.after_grant_id)
      )
    order by g.granted_at desc, g.grant_id desc
    limit entries_per_page;
end
$$;
comment on function artifacts.inbox_entries(text, integer, timestamptz, text) is
  'A bounded number of grants to an agent, in no order; the next page is among them. Where there '
  'may be more behind them, they are max_entries + 1000, and some may have ended.';

create function public.list_inbox(caller jsonb, agent_id text, max_entries integer, after_grant_id text) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  after_granted_at timestamptz;
  answer json;
begin
  perform agents.authenticate_as(list_inbox.caller, list_inbox.agent_id);

  if list_inbox.after_grant_id is not null then
    select g.granted_at into after_granted_at
    from artifacts.grants g
    where g.grant_id = list_inbox.after_grant_id and g.to_agent = list_inbox.agent_id;
    if not found then
      raise sqlstate 'PT422' using
        message = 'invalid_request',
        detail = '{"issues": [{"path": "cursor", "message": "Must be the next_cursor of an earlier answer."}]}';
    end if;
  end if;

  with walked as (
    select e.*
    from artifacts.inbox_entries(
      list_inbox.agent_id, list_inbox.max_entries, after_granted_at, list_inbox.after_grant_id
    ) e
  ), live as (
    select w.grant_id, w.granted_at
    from walked w
    -- One look into each index per grant. The planner, which knows nothing of how many there are,
    -- reads all of artifacts.grants otherwise when that has some twenty thousand rows.
    cross join lateral (
      select g.artifact_id from artifacts.grants g where g.grant_id = w.grant_id limit 1
    ) g
    cross join lateral (
      select a.state, a.expires_at
      from artifacts.artifacts a
      where a.artifact_id = g.artifact_id
      limit 1
    ) a
    where w.is_live and a.state in ('committed', 'superseded') and a.expires_at > now()
    order by w.granted_at desc, w.grant_id desc
    -- One more than asked for tells whether there is a next page.
    limit list_inbox.max_entries + 1
  ), page as (
    select l.* from live l order by l.granted_at desc, l.grant_id desc limit list_inbox.max_entries
  )
  select json_build_object(
    'grants', (
      select coalesce(
        json_agg(
          json_build_object(
            'grant_id', g.grant_id,
            'artifact_id', a.artifact_id,
            'from_agent', g.from_agent,
            'key', a.key,
            'mime', a.mime,
            'size', a.size_bytes,
            'sha256', a.sha256,
            'granted_at', agents.iso_timestamp(g.granted_at),
            'expires_at', agents.iso_timestamp(g.expires_at)
          )
          order by p.granted_at desc, p.grant_id desc
        ),
        '[]'
      )
      from page p
      cross join lateral (
        select * from artifacts.grants g where g.grant_id = p.grant_id limit 1
      ) g
      cross join lateral (
        select * from artifacts.artifacts a where a.artifact_id = g.artifact_id limit 1
      ) a
    ),
    'next_cursor', case
      when (select count(*) from live) > list_inbox.max_entries
        then (select p.grant_id from page p order by p.granted_at, p.grant_id limit 1)
      when (select count(*) from walked) = list_inbox.max_entries + 1000
        then (select w.grant_id from walked w order by w.granted_at, w.grant_id limit 1)
    end
  ) into answer;
  return answer;
end
$$;
comment on function public.list_inbox(jsonb, text, integer, text) is
  'The live grants to an agent, newest first, after the grant that an earlier page ended with; '
  'never a token. A page may be short, or empty, before the last. Raises forbidden.';
