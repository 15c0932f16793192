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
  'Like given_grants, but from any agent: the next live grants, all or those to one agent.';

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
  answer json;
begin
  with page as (
    select i.given, row_number() over (order by (i.given).live_until, (i.given).grant_id) as number
    from artifacts.read_position(list_all_grants.after) p
    cross join lateral (
      select g as given
      from artifacts.given_grants(
        owner, list_all_grants.artifact_id, list_all_grants.to_agent,
        p.after_live_until, p.after_grant_id, list_all_grants.max_entries
      ) g
      where owner is not null
      union all
      select g as given
      from artifacts.live_grants_after(
        list_all_grants.to_agent, p.after_live_until, p.after_grant_id, list_all_grants.max_entries
      ) g
      where owner is null and list_all_grants.artifact_id is null
    ) i
  )
  select json_build_object(
    'found', (
      select coalesce(
        json_agg(
          jsonb_build_object('from_agent', (p.given).from_agent) || d.described
          order by p.number
        ),
        '[]'
      )
      from page p
      cross join artifacts.describe_grant(p.given) d
    ),
    'next', (
      select artifacts.position_after(p.given) from page p where p.number = list_all_grants.max_entries
    )
  ) into answer;
  return answer;
end
$$;
comment on function public.list_all_grants(integer, text, text, text, text) is
  'The live grants from an agent, of an artifact, to an agent, or all, those that end first: '
  '{found: [{grant_id, artifact_id, key, from_agent, to_agent | null, granted_at, expires_at, '
  'max_downloads | null, downloads}], next: where the next page begins | null}.';
