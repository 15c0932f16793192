-- Made of supabase/schemas/operator/grants.sql by `deno task schema:squash`.

-- Who may read what, as the operator sees it.

create function artifacts.live_grants_after(
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
  if live_grants_after.to_agent is not null then
    return query
      select g.*
      from artifacts.grants g
      where g.to_agent = live_grants_after.to_agent
        and g.live_until >= live_grants_after.after_live_until
        and (g.live_until, g.grant_id) > (live_grants_after.after_live_until, live_grants_after.after_grant_id)
      order by g.to_agent, g.live_until, g.grant_id
      limit live_grants_after.max_entries;
  else
    return query
      select g.*
      from artifacts.grants g
      where g.live_until >= live_grants_after.after_live_until
        and (g.live_until, g.grant_id) > (live_grants_after.after_live_until, live_grants_after.after_grant_id)
      order by g.live_until, g.grant_id
      limit live_grants_after.max_entries;
  end if;
end
$$;
comment on function artifacts.live_grants_after(text, timestamptz, text, integer) is
  'As given_grants, whoever gave them: the next grants that are live, all or those to one agent.';

create function public.list_all_grants(
  max_entries integer,
  after text default '',
  from_agent text default null,
  artifact_id text default null,
  to_agent text default null
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  owner constant text := coalesce(
    list_all_grants.from_agent,
    (select a.agent_id from artifacts.artifacts a where a.artifact_id = list_all_grants.artifact_id)
  );
  -- The end of the grant that the page before ended with, in microseconds since 1970, and its id.
  after_end timestamptz := timestamptz '1970-01-01Z'
    + nullif(split_part(list_all_grants.after, '.', 1), '')::bigint * interval '1 microsecond';
  after_grant_id text := split_part(list_all_grants.after, '.', 2);
  answer json;
begin
  if after_end is null or after_end <= now() then
    -- Behind every grant that ends just now.
    after_end := now();
    after_grant_id := '~';
  end if;

  with page as (
    select g.*, row_number() over (order by g.live_until, g.grant_id) as number
    from (
      select *
      from artifacts.given_grants(
        owner, list_all_grants.artifact_id, list_all_grants.to_agent, after_end, after_grant_id,
        list_all_grants.max_entries
      )
      where owner is not null
      union all
      select *
      from artifacts.live_grants_after(
        list_all_grants.to_agent, after_end, after_grant_id, list_all_grants.max_entries
      )
      where owner is null and list_all_grants.artifact_id is null
    ) g
  )
  select json_build_object(
    'found', (
      select coalesce(
        json_agg(
          json_build_object(
            'grant_id', p.grant_id,
            'artifact_id', p.artifact_id,
            'key', a.key,
            'from_agent', p.from_agent,
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
    'next', (
      select (extract(epoch from p.live_until) * 1000000)::bigint || '.' || p.grant_id
      from page p
      where p.number = list_all_grants.max_entries
    )
  ) into answer;
  return answer;
end
$$;
comment on function public.list_all_grants(integer, text, text, text, text) is
  'The live grants that an agent gave, of an artifact, to an agent, or all, those that end first: '
  '{found: [{grant_id, artifact_id, key, from_agent, to_agent | null, granted_at, expires_at, '
  'max_downloads | null, downloads}], next: where the next page begins | null}.';
