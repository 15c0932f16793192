-- Whom an agent has handed to, and who has handed to it: the names of its live grants. Each name is
-- one step through an index, however many grants it has. The planner expects few grants per agent,
-- and might read and sort all of them. The settings forbid that.

create index grants_by_granter_and_grantee on artifacts.grants (from_agent, grantee, live_until)
  where grantee is not null;

create function artifacts.grantees_from(from_agent text, after_name text, max_names integer)
returns table (name text, live_until timestamptz)
language plpgsql
stable
set search_path = ''
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  return query
  with recursive names (name, number) as (
    select grantees_from.after_name collate "C", 0
    union all
    select (
      select g.grantee
      from artifacts.grants g
      where g.from_agent = grantees_from.from_agent and g.grantee > n.name
      order by g.from_agent, g.grantee
      limit 1
    ), n.number + 1
    from names n
    where n.name is not null and n.number < grantees_from.max_names
  )
  select n.name, (
    select g.live_until
    from artifacts.grants g
    where g.from_agent = grantees_from.from_agent and g.grantee = n.name
    order by g.from_agent desc, g.grantee desc, g.live_until desc
    limit 1
  )
  from names n
  where n.number > 0 and n.name is not null;
end
$$;
comment on function artifacts.grantees_from(text, text, integer) is
  'The first max_names grantees after a name (agents, and `#` with a tag) to which an agent has a '
  'grant on record, in byte order, and when the last of these grants ends or ended.';

create function artifacts.granters_to(grantees text[], after_name text, max_names integer)
returns table (name text, live_until timestamptz)
language plpgsql
stable
set search_path = ''
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  return query
  with recursive names (name, number) as (
    select granters_to.after_name collate "C", 0
    union all
    select (
      select min(f.from_agent)
      from unnest(granters_to.grantees) as e (grantee)
      cross join lateral (
        select g.from_agent::text collate "C" as from_agent
        from artifacts.grants g
        where g.grantee = e.grantee and g.from_agent > n.name
        order by g.grantee, g.from_agent
        limit 1
      ) f
    ), n.number + 1
    from names n
    where n.name is not null and n.number < granters_to.max_names
  )
  select n.name, (
    select max(l.live_until)
    from unnest(granters_to.grantees) as e (grantee)
    cross join lateral (
      select g.live_until
      from artifacts.grants g
      where g.grantee = e.grantee and g.from_agent = n.name
      order by g.grantee desc, g.from_agent desc, g.live_until desc
      limit 1
    ) l
  )
  from names n
  where n.number > 0 and n.name is not null;
end
$$;
comment on function artifacts.granters_to(text[], text, integer) is
  'The first max_names agents after a name that have a grant to one of these grantees on record, in '
  'byte order, and when the last of these grants ends or ended.';

create function public.agent_api_list_recipients(
  caller jsonb,
  agent_id text,
  max_entries integer,
  after_name text default null
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  subject text := agents.subject_of(
    agent_api_list_recipients.caller, agent_api_list_recipients.agent_id
  );
  begins_after text := coalesce(agent_api_list_recipients.after_name, '');
  -- One more than asked for tells whether there is a next page. Names whose grants have all ended
  -- count, so that they cannot slow a page down.
  most constant integer := agent_api_list_recipients.max_entries + 1;
  blocked constant text[] := artifacts.senders_blocked_by(subject);
  instant timestamptz := clock_timestamp();
  answer json;
begin
  -- A function's result has the database's collation.
  with given as materialized (
    select g.name collate "C" as name, g.live_until
    from artifacts.grantees_from(subject, begins_after, most) g
  ), received as materialized (
    select r.name collate "C" as name, r.live_until
    from artifacts.grantees_of(subject, null) o
    cross join artifacts.granters_to(o.grantees, begins_after, most) r
  ), walked as (
    -- Up to this name, both lists are complete; null: to their ends.
    select min(l.last_name) as last_name
    from (
      select max(g.name) as last_name from given g having count(*) = most
      union all
      select max(r.name) from received r having count(*) = most
    ) l
  ), listed as (
    select name, g.live_until as given_until, r.live_until as received_until
    from (select g.* from given g where g.live_until > instant) g
    full join (
      select r.* from received r where r.live_until > instant and r.name <> all (blocked)
    ) r using (name)
    where name <= coalesce((select w.last_name from walked w), name)
    order by name
    limit most
  ), page as (
    select l.* from listed l order by l.name limit agent_api_list_recipients.max_entries
  )
  select json_build_object(
    'recipients', (
      select coalesce(
        json_agg(
          jsonb_build_object(
            'agent_id', case when not starts_with(p.name, '#') then p.name end,
            'given_until', agents.iso_timestamp(p.given_until),
            'received_until', agents.iso_timestamp(p.received_until)
          ) || case
            when starts_with(p.name, '#') then jsonb_build_object('tag', substr(p.name, 2))
            else jsonb '{}'
          end
          order by p.name
        ),
        '[]'
      )
      from page p
    ),
    'next_cursor', case
      when (select count(*) from listed) = most then (select max(p.name) from page p)
      else (select w.last_name from walked w)
    end
  ) into answer;
  return answer;
end
$$;
comment on function public.agent_api_list_recipients(jsonb, text, integer, text) is
  'The agents and tags to which an agent has live grants, and the agents that have live grants to '
  'it or to a tag of it, except those that it blocked: tags first, each in byte order, after '
  'after_name. A page may be short or empty before the last. Raises forbidden, invalid_request.';
