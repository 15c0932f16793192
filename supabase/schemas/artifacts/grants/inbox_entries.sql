-- Which grants an inbox has: those that name the agent, and those to a tag that it has now.

create function artifacts.grantees_of(agent_id text, since pg_snapshot)
returns table (grantees text[], gained text[])
language sql
stable
-- Always returns one row. An SQL-standard body is inlined.
begin atomic
  select
    grantees_of.agent_id || coalesce(array_agg(artifacts.grantee(null, t.tag)), '{}'),
    coalesce(
      array_agg(artifacts.grantee(null, t.tag)) filter (
        where not pg_visible_in_snapshot(t.transaction_id, grantees_of.since)
      ),
      '{}'
    )
  from agents.agent_tags t
  where t.agent_id = grantees_of.agent_id;
end;
comment on function artifacts.grantees_of(text, pg_snapshot) is
  'An agent''s names as a grantee: its own, and one per tag. gained: those of the tags that it '
  'got, or got again, after the snapshot `since` (null: none).';

create function artifacts.shown_senders(grantees text[], blocked text[])
returns table (grantee text, from_agent text)
language plpgsql
stable
set search_path = ''
as $$
begin
  -- One index lookup per sender, however many grants each has made.
  return query
  with recursive senders (grantee, from_agent) as (
    select e.grantee, (select min(g.from_agent) from artifacts.grants g where g.grantee = e.grantee)
    from unnest(shown_senders.grantees) as e (grantee)
    union all
    select s.grantee, (
      select min(g.from_agent)
      from artifacts.grants g
      where g.grantee = s.grantee and g.from_agent > s.from_agent
    )
    from senders s
    where s.from_agent is not null
  )
  select s.grantee, s.from_agent
  from senders s
  where s.from_agent is not null and s.from_agent <> all (shown_senders.blocked);
end
$$;
comment on function artifacts.shown_senders(text[], text[]) is
  'The agents that have granted something to each of these grantees, except blocked ones.';

-- For each grantee, each of these functions reads the beginning of one index range. The planner
-- expects few grants per agent, and might read and sort the whole range. The settings forbid that.

create function artifacts.live_grants_of_each(grantees text[], max_entries integer)
returns table (grant_id text)
language sql
stable
-- Inlined.
begin atomic
  select g.grant_id
  from unnest(live_grants_of_each.grantees) as e (grantee)
  cross join lateral (
    select g.grant_id
    from artifacts.grants g
    where g.grantee = e.grantee and g.live_until > now()
    order by g.grantee, g.live_until
    limit live_grants_of_each.max_entries
  ) g;
end;
comment on function artifacts.live_grants_of_each(text[], integer) is
  'For each grantee, its live grants: at most max_entries, those that end first.';

create function artifacts.grant_ids_since(
  grantees text[],
  gained text[],
  since pg_snapshot,
  max_entries integer
) returns text[]
language plpgsql
stable
set search_path = ''
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  return array(
    select g.grant_id
    from unnest(grant_ids_since.grantees) as e (grantee)
    cross join lateral (
      select g.grant_id
      from artifacts.grants g
      where g.grantee = e.grantee and g.transaction_id >= pg_snapshot_xmin(grant_ids_since.since)
      order by g.grantee, g.transaction_id
      limit grant_ids_since.max_entries
    ) g
    union all
    select g.grant_id
    from artifacts.live_grants_of_each(grant_ids_since.gained, grant_ids_since.max_entries) g
    limit grant_ids_since.max_entries
  );
end
$$;
comment on function artifacts.grant_ids_since(text[], text[], pg_snapshot, integer) is
  'A bounded number of grants: those to `grantees` made since a snapshot, even if they have ended, '
  'and the live ones to `gained`.';

create function artifacts.live_grant_ids(
  grantees text[],
  from_agent text,
  blocked text[],
  max_entries integer
) returns text[]
language plpgsql
stable
set search_path = ''
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  if live_grant_ids.from_agent is not null or live_grant_ids.blocked <> '{}' then
    return array(
      select g.grant_id
      from (
        select e.grantee, live_grant_ids.from_agent as from_agent
        from unnest(live_grant_ids.grantees) as e (grantee)
        where live_grant_ids.from_agent is not null
        union all
        select s.grantee, s.from_agent
        from artifacts.shown_senders(live_grant_ids.grantees, live_grant_ids.blocked) s
        where live_grant_ids.from_agent is null
      ) s
      cross join lateral (
        select g.grant_id
        from artifacts.grants g
        where g.grantee = s.grantee and g.from_agent = s.from_agent and g.live_until > now()
        order by g.grantee, g.from_agent, g.live_until
        limit live_grant_ids.max_entries
      ) g
      limit live_grant_ids.max_entries
    );
  end if;
  return array(
    select g.grant_id
    from artifacts.live_grants_of_each(live_grant_ids.grantees, live_grant_ids.max_entries) g
    limit live_grant_ids.max_entries
  );
end
$$;
comment on function artifacts.live_grant_ids(text[], text, text[], integer) is
  'A bounded number of live grants to these grantees: those of one sender, or those of all senders '
  'that are not blocked. If it returns fewer than max_entries, there are no more. An index skips '
  'ended grants, however many there are.';

create function artifacts.newest_grant_ids(
  grantees text[],
  max_entries integer,
  after_granted_at timestamptz,
  after_grant_id text
) returns text[]
language plpgsql
stable
set search_path = ''
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  return array(
    select g.grant_id
    from unnest(newest_grant_ids.grantees) as e (grantee)
    cross join lateral (
      select g.grant_id, g.granted_at
      from artifacts.grants g
      where g.grantee = e.grantee
        and g.revoked_at is null
        -- For the first page, every grant is below this.
        and (g.granted_at, g.grant_id) < (
          coalesce(newest_grant_ids.after_granted_at, 'infinity'),
          coalesce(newest_grant_ids.after_grant_id, '')
        )
      order by g.grantee desc, g.granted_at desc, g.grant_id desc
      limit newest_grant_ids.max_entries
    ) g
    order by g.granted_at desc, g.grant_id desc
    limit newest_grant_ids.max_entries
  );
end
$$;
comment on function artifacts.newest_grant_ids(text[], integer, timestamptz, text) is
  'The newest grants to these grantees that were not revoked, after the last grant of an earlier '
  'page.';

create function artifacts.inbox_entries(
  agent_id text,
  from_agent text,
  since pg_snapshot,
  max_entries integer,
  after_granted_at timestamptz,
  after_grant_id text
) returns table (given artifacts.grants, is_shown boolean)
language plpgsql
stable
set search_path = ''
as $$
declare
  -- An upper limit on the grants that one page reads.
  entries_per_page constant integer := inbox_entries.max_entries + 1000;
  grantees text[];
  gained text[];
  blocked text[];
  queues text[];
  ids text[];
begin
  select h.grantees, h.gained, array(
    select b.from_agent from artifacts.blocked_senders b where b.agent_id = inbox_entries.agent_id
  )
  into grantees, gained, blocked
  from artifacts.grantees_of(inbox_entries.agent_id, inbox_entries.since) h;
  -- Few agents have more live grants than entries_per_page. Only for these, the grants are read in
  -- the order of the pages.
  if inbox_entries.since is not null then
    queues := artifacts.queues_of(inbox_entries.agent_id);
    ids := artifacts.grant_ids_since(grantees, gained, inbox_entries.since, entries_per_page);
    if cardinality(ids) < entries_per_page then
      ids := ids || artifacts.ids_waiting_again(queues, inbox_entries.since, entries_per_page);
    end if;
  else
    ids := artifacts.live_grant_ids(grantees, inbox_entries.from_agent, blocked, entries_per_page);
  end if;
  if cardinality(ids) >= entries_per_page then
    ids := artifacts.newest_grant_ids(
      grantees, entries_per_page, inbox_entries.after_granted_at, inbox_entries.after_grant_id
    );
  end if;
  return query
    select g,
      g.live_until > now()
        -- What was revoked stays so if the clock goes back to before that.
        and g.revoked_at is null
        and (inbox_entries.from_agent is null or g.from_agent = inbox_entries.from_agent)
        and g.from_agent <> all (blocked)
        and (
          inbox_entries.since is null
          or not pg_visible_in_snapshot(g.transaction_id, inbox_entries.since)
          or g.grantee = any (gained)
          or artifacts.waits_again(g.grant_id, queues, inbox_entries.since)
        )
    from artifacts.grants g
    where g.grant_id = any (ids)
      and (
        inbox_entries.after_grant_id is null
        or (g.granted_at, g.grant_id) < (inbox_entries.after_granted_at, inbox_entries.after_grant_id)
      );
end
$$;
comment on function artifacts.inbox_entries(text, text, pg_snapshot, integer, timestamptz, text) is
  'At most max_entries + 1000 grants to an agent and its tags, in no order. The next page is among '
  'them. If it returns that many, there may be more. is_shown: whether the inbox shows the grant.';
