-- What an agent has granted to others.

create function artifacts.given_grants(
  agent_id text,
  artifact_id text,
  grantees text[],
  after_live_until timestamptz,
  after_grant_id text,
  max_entries integer
) returns setof artifacts.grants
language plpgsql
stable
set search_path = ''
-- For the same reason as in grant_ids_since.
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  -- Each query reads a range of an index that separates live grants from ended ones.
  if given_grants.artifact_id is not null then
    return query
      select g.*
      from artifacts.grants g
      -- Row comparisons, as in live_grants: for equations, the planner might read all live grants
      -- of the agent, which are in this order, too.
      where (g.artifact_id, g.live_until) >= (given_grants.artifact_id, given_grants.after_live_until)
        and (g.artifact_id, g.live_until) <= (given_grants.artifact_id, timestamptz 'infinity')
        and (g.live_until, g.grant_id) > (given_grants.after_live_until, given_grants.after_grant_id)
        and g.from_agent = given_grants.agent_id
        and (given_grants.grantees is null or g.grantee = any (given_grants.grantees))
      order by g.artifact_id, g.live_until, g.grant_id
      limit given_grants.max_entries;
  elsif given_grants.grantees is not null then
    return query
      select g.*
      from unnest(given_grants.grantees) as e (grantee)
      cross join lateral (
        select g.*
        from artifacts.grants g
        where g.grantee = e.grantee
          and g.from_agent = given_grants.agent_id
          and g.live_until >= given_grants.after_live_until
          and (g.live_until, g.grant_id) > (given_grants.after_live_until, given_grants.after_grant_id)
        order by g.grantee, g.from_agent, g.live_until, g.grant_id
        limit given_grants.max_entries
      ) g
      order by g.live_until, g.grant_id
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
comment on function artifacts.given_grants(text, text, text[], timestamptz, text, integer) is
  'The next max_entries live grants that an agent gave, those that end first. Optionally only '
  'those of one artifact, or to these grantees.';

create function artifacts.downloads_of(grant_id text)
returns table (max_downloads integer, downloads bigint)
language sql
stable
-- Always returns one row. An SQL-standard body is inlined.
begin atomic
  select d.max_downloads,
    coalesce(d.downloads, 0) + case when d.max_downloads is null then coalesce(r.reads, 0) else 0 end
  from (values (downloads_of.grant_id collate "C")) g (grant_id)
  left join artifacts.grant_downloads d on d.grant_id = g.grant_id
  left join agents.reads r on r.object_id = g.grant_id and r.reader = '';
end;
comment on function artifacts.downloads_of(text) is
  'How often a grant was used, and how often it may be (null: any number). For a grant without a '
  'limit, only downloads with its token are counted.';

create function artifacts.describe_any_grant(given artifacts.grants)
returns table (described jsonb, has_artifact boolean)
language sql
stable
begin atomic
  select jsonb_build_object(
      'grant_id', (describe_any_grant.given).grant_id,
      'artifact_id', (describe_any_grant.given).artifact_id,
      'key', a.key,
      'to_agent', (describe_any_grant.given).to_agent,
      'granted_at', agents.iso_timestamp((describe_any_grant.given).granted_at),
      'expires_at', agents.iso_timestamp((describe_any_grant.given).expires_at),
      'max_downloads', d.max_downloads,
      'downloads', d.downloads
    ) || artifacts.tag_of_grant(describe_any_grant.given) || case
      when (describe_any_grant.given).standing_id is null then jsonb '{}'
      else jsonb_build_object('standing_id', (describe_any_grant.given).standing_id)
    end || w.work,
    a.state in ('committed', 'superseded') and a.expires_at > now()
  from (
    select i.key, i.state, i.expires_at
    from artifacts.artifacts i
    where i.artifact_id = (describe_any_grant.given).artifact_id
    limit 1
  ) a
  cross join artifacts.downloads_of((describe_any_grant.given).grant_id) d
  cross join artifacts.work_of(describe_any_grant.given) w;
end;
comment on function artifacts.describe_any_grant(artifacts.grants) is
  'A grant as its giver sees it, and whether its artifact has not ended. No row if that is forgotten.';

create function artifacts.describe_grant(given artifacts.grants) returns table (described jsonb)
language sql
stable
begin atomic
  select d.described
  from artifacts.describe_any_grant(describe_grant.given) d
  -- A grant ends with its artifact.
  where d.has_artifact;
end;
comment on function artifacts.describe_grant(artifacts.grants) is
  'A grant as its giver sees it, or no row if its artifact has ended.';

-- The cursor of the next page is `<microseconds since 1970>.<grant_id>`: the end and the id of the
-- last grant of this page.

create function artifacts.position_after(last_of_page artifacts.grants) returns text
language sql
immutable
return (extract(epoch from (position_after.last_of_page).live_until) * 1000000)::bigint
  || '.' || (position_after.last_of_page).grant_id;
comment on function artifacts.position_after(artifacts.grants) is
  'Where the page after this grant begins.';

create function artifacts.read_position(
  in next_page text,
  out after_live_until timestamptz,
  out after_grant_id text
)
language plpgsql
stable
set search_path = ''
as $$
begin
  after_live_until := timestamptz '1970-01-01Z'
    + nullif(split_part(read_position.next_page, '.', 1), '')::bigint * interval '1 microsecond';
  after_grant_id := split_part(read_position.next_page, '.', 2);
  if after_live_until is null or after_live_until <= now() then
    -- After every grant that ends exactly now: `~` sorts after every grant_id.
    after_live_until := now();
    after_grant_id := '~';
  end if;
end
$$;
comment on function artifacts.read_position(text) is
  'The end and the id of the grant after which a page begins, never before now. For null or an '
  'empty text: the first page.';

create function public.agent_api_list_grants(
  caller jsonb,
  agent_id text,
  artifact_id text,
  to_agent text,
  max_entries integer,
  cursor text,
  to_tag text default null,
  grant_id text default null
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  subject text := agents.subject_of(agent_api_list_grants.caller, agent_api_list_grants.agent_id);
  -- Empty: grants to anyone.
  grantees constant text[] := array_remove(
    array[artifacts.grantee(agent_api_list_grants.to_agent, agent_api_list_grants.to_tag)], null
  );
  answer json;
begin
  if agent_api_list_grants.grant_id is not null then
    select json_build_object(
      'grants', coalesce(
        json_agg(d.described || jsonb_build_object('ended', not (n.live_until > now() and d.has_artifact))),
        '[]'
      ),
      'next_cursor', null
    ) into answer
    from (
      select g as given, g.live_until
      from artifacts.grants g
      where g.grant_id = agent_api_list_grants.grant_id
        and g.from_agent = subject
        and (agent_api_list_grants.artifact_id is null or g.artifact_id = agent_api_list_grants.artifact_id)
        and (grantees = '{}' or g.grantee = any (grantees))
      limit 1
    ) n
    cross join artifacts.describe_any_grant(n.given) d;
    return answer;
  end if;
  with walked as (
    select g as given, row_number() over (order by g.live_until, g.grant_id) as number
    from artifacts.read_position(agent_api_list_grants.cursor) p
    cross join artifacts.given_grants(
      subject, agent_api_list_grants.artifact_id, nullif(grantees, '{}'), p.after_live_until,
      p.after_grant_id,
      -- One more than asked for tells whether there is a next page.
      agent_api_list_grants.max_entries + 1
    ) g
  ), page as (
    select w.* from walked w where w.number <= agent_api_list_grants.max_entries
  )
  select json_build_object(
    'grants', (
      select coalesce(json_agg(d.described order by p.number), '[]')
      from page p
      cross join artifacts.describe_grant(p.given) d
      -- What was revoked stays so if the clock goes back to before that.
      where (p.given).revoked_at is null
    ),
    'next_cursor', case
      when (select count(*) from walked) > agent_api_list_grants.max_entries then (
        select artifacts.position_after(p.given) from page p order by p.number desc limit 1
      )
    end
  ) into answer;
  return answer;
end
$$;
comment on function public.agent_api_list_grants(jsonb, text, text, text, integer, text, text, text) is
  'The live grants that an agent has given, those that end first. Optionally only those of one '
  'artifact, to one agent or to one tag. A page may be short or empty before the last. With '
  'grant_id: that grant, even if it has ended, and whether it has. Raises forbidden, '
  'invalid_request.';
