-- Who may read what, as the operator sees it.

create function artifacts.live_grants_after(
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
  if live_grants_after.grantees is not null then
    return query
      select g.*
      from unnest(live_grants_after.grantees) as e (grantee)
      cross join lateral (
        select g.*
        from artifacts.grants g
        where g.grantee = e.grantee
          and g.live_until >= live_grants_after.after_live_until
          and (g.live_until, g.grant_id) > (live_grants_after.after_live_until, live_grants_after.after_grant_id)
        order by g.grantee, g.live_until, g.grant_id
        limit live_grants_after.max_entries
      ) g
      order by g.live_until, g.grant_id
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
comment on function artifacts.live_grants_after(text[], timestamptz, text, integer) is
  'Like given_grants, but from any agent: the next live grants, all or those to these agents and '
  'tags.';

create function public.agent_api_list_all_grants(
  max_entries integer,
  after text default '',
  from_agent text default null,
  artifact_id text default null,
  to_agent text default null,
  to_tag text default null,
  by_tags boolean default false
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  owner constant text := coalesce(
    agent_api_list_all_grants.from_agent,
    (select a.agent_id from artifacts.artifacts a where a.artifact_id = agent_api_list_all_grants.artifact_id)
  );
  grantees constant text[] := case
    when agent_api_list_all_grants.to_agent is null and agent_api_list_all_grants.to_tag is null then null
    when agent_api_list_all_grants.by_tags
      then (select h.grantees from artifacts.grantees_of(agent_api_list_all_grants.to_agent, null) h)
    else array[artifacts.grantee(agent_api_list_all_grants.to_agent, agent_api_list_all_grants.to_tag)]
  end;
  answer json;
begin
  with page as (
    select i.given, row_number() over (order by (i.given).live_until, (i.given).grant_id) as number
    from artifacts.read_position(agent_api_list_all_grants.after) p
    cross join lateral (
      select g as given
      from artifacts.given_grants(
        owner, agent_api_list_all_grants.artifact_id, grantees,
        p.after_live_until, p.after_grant_id, agent_api_list_all_grants.max_entries
      ) g
      where owner is not null
      union all
      select g as given
      from artifacts.live_grants_after(
        grantees, p.after_live_until, p.after_grant_id, agent_api_list_all_grants.max_entries
      ) g
      where owner is null and agent_api_list_all_grants.artifact_id is null
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
      -- What was revoked stays so if the clock goes back to before that.
      where (p.given).revoked_at is null
    ),
    'next', (
      select artifacts.position_after(p.given) from page p where p.number = agent_api_list_all_grants.max_entries
    )
  ) into answer;
  return answer;
end
$$;
comment on function public.agent_api_list_all_grants(integer, text, text, text, text, text, boolean) is
  'The live grants from an agent, of an artifact, to an agent (with by_tags: or to a tag that it '
  'has now), to a tag, or all, those that end first: {found: [{grant_id, artifact_id, key, '
  'from_agent, to_agent | null, to_tag, granted_at, expires_at, max_downloads | null, '
  'downloads, standing_id, and what artifacts.work_of returns}], next: where the next page begins | '
  'null}. Only a grant to a tag has to_tag, and only one that a standing grant made has standing_id.';
