-- What an agent has granted to others.

create function artifacts.given_grants(
  agent_id text,
  artifact_id text,
  to_agent text,
  after_live_until timestamptz,
  after_grant_id text,
  max_entries integer
) returns setof artifacts.grants
language plpgsql
stable
set search_path = ''
as $$
begin
  -- Each is a range of an index that has the live grants apart from those that ended.
  if given_grants.artifact_id is not null then
    return query
      select g.*
      from artifacts.grants g
      where g.artifact_id = given_grants.artifact_id
        and g.live_until >= given_grants.after_live_until
        and (g.live_until, g.grant_id) > (given_grants.after_live_until, given_grants.after_grant_id)
        and g.from_agent = given_grants.agent_id
        and (given_grants.to_agent is null or g.to_agent = given_grants.to_agent)
      order by g.artifact_id, g.live_until, g.grant_id
      limit given_grants.max_entries;
  elsif given_grants.to_agent is not null then
    return query
      select g.*
      from artifacts.grants g
      where g.to_agent = given_grants.to_agent
        and g.from_agent = given_grants.agent_id
        and g.live_until >= given_grants.after_live_until
        and (g.live_until, g.grant_id) > (given_grants.after_live_until, given_grants.after_grant_id)
      order by g.to_agent, g.from_agent, g.live_until, g.grant_id
      limit given_grants.max_entries;
  else
    return query
      select g.*
      from artifacts.grants g
      where g.from_agent = given_grants.agent_id
        and (g.live_until, g.grant_id) > (given_grants.after_live_until, given_grants.after_grant_id)
      order by g.from_agent, g.live_until, g.grant_id
      limit given_grants.max_entries;
  end if;
end
$$;
comment on function artifacts.given_grants(text, text, text, timestamptz, text, integer) is
  'The next grants of an agent that are live, those that end first: all, those of one artifact, '
  'those to one agent.';

create function artifacts.downloads_of(grant_id text)
returns table (max_downloads integer, downloads bigint)
language sql
stable
-- One row, whatever there is. An SQL-standard body is inlined.
begin atomic
  select d.max_downloads,
    coalesce(d.downloads, 0) + case when d.max_downloads is null then coalesce(r.reads, 0) else 0 end
  from (values (downloads_of.grant_id collate "C")) g (grant_id)
  left join artifacts.grant_downloads d on d.grant_id = g.grant_id
  left join agents.reads r on r.object_id = g.grant_id and r.reader = '';
end;
comment on function artifacts.downloads_of(text) is
  'How often a grant was used, and how often it may be (null: any number). Without such a bound, '
  'what was downloaded by its token.';

create function public.list_grants(
  caller jsonb,
  agent_id text,
  artifact_id text,
  to_agent text,
  max_entries integer,
  cursor text
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  subject text := agents.subject_of(list_grants.caller, list_grants.agent_id);
  -- The end of the grant that the page before ended with, in microseconds since 1970, and its id.
  after_end timestamptz := timestamptz '1970-01-01Z'
    + split_part(list_grants.cursor, '.', 1)::bigint * interval '1 microsecond';
  after_grant_id text := split_part(list_grants.cursor, '.', 2);
  answer json;
begin
  if after_end is null or after_end <= now() then
    -- Behind every grant that ends just now.
    after_end := now();
    after_grant_id := '~';
  end if;

  with walked as (
    select g.*, row_number() over (order by g.live_until, g.grant_id) as number
    from artifacts.given_grants(
      subject, list_grants.artifact_id, list_grants.to_agent, after_end, after_grant_id,
      -- One more than asked for tells whether there is a next page.
      list_grants.max_entries + 1
    ) g
  ), page as (
    select w.* from walked w where w.number <= list_grants.max_entries
  )
  select json_build_object(
    'grants', (
      select coalesce(
        json_agg(
          json_build_object(
            'grant_id', p.grant_id,
            'artifact_id', p.artifact_id,
            'key', a.key,
            'to_agent', p.to_agent,
            'granted_at', agents.iso_timestamp(p.granted_at),
            'expires_at', agents.iso_timestamp(p.expires_at),
            'max_downloads', d.max_downloads,
            'downloads', d.downloads
          )
          order by p.number
        ),
        '[]'
      )
      from page p
      cross join lateral (
        select a.key, a.state, a.expires_at from artifacts.artifacts a where a.artifact_id = p.artifact_id limit 1
      ) a
      cross join lateral artifacts.downloads_of(p.grant_id) d
      -- A grant ends with its artifact.
      where a.state in ('committed', 'superseded') and a.expires_at > now()
    ),
    'next_cursor', case
      when (select count(*) from walked) > list_grants.max_entries then (
        select (extract(epoch from p.live_until) * 1000000)::bigint || '.' || p.grant_id
        from page p
        order by p.number desc
        limit 1
      )
    end
  ) into answer;
  return answer;
end
$$;
comment on function public.list_grants(jsonb, text, text, text, integer, text) is
  'The live grants that an agent has given, those that end first: of one artifact or to one agent, '
  'where these are named. A page may be short, or empty, before the last. Raises forbidden, '
  'invalid_request.';
