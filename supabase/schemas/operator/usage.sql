-- What agents requested and were refused, in the order of time.

create function agents.usage_json(used agents.usage) returns json
language sql
stable
return json_build_object(
  'agent_id', used.agent_id,
  'day', used.day,
  'requests', used.requests,
  'refusals', used.refusals,
  'artifacts', used.artifacts,
  'bytes', used.bytes,
  'quota_bytes', (
    select l.quota_bytes from artifacts.agent_limits l where l.agent_id = used.agent_id limit 1
  ),
  'grants', used.grants
);
comment on function agents.usage_json(agents.usage) is
  'What an agent used on one day, as the operator sees it.';

create function public.agent_api_list_usage(
  max_entries integer,
  after text default '',
  since date default null,
  agent_id text default null
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  first_day constant date := coalesce(agent_api_list_usage.since, (now() at time zone 'UTC')::date);
  after_day constant date := coalesce(nullif(split_part(agent_api_list_usage.after, ' ', 1), '')::date, first_day);
  after_agent constant text := split_part(agent_api_list_usage.after, ' ', 2);
  page agents.usage[];
begin
  if agent_api_list_usage.agent_id is null then
    page := array(
      select u
      from agents.usage u
      where u.day >= after_day and (u.day, u.agent_id) > (after_day, after_agent)
      order by u.day, u.agent_id
      limit agent_api_list_usage.max_entries
    );
  else
    page := array(
      select u
      from agents.usage u
      where u.agent_id = agent_api_list_usage.agent_id
        and u.day >= after_day
        and (u.day > after_day or after_agent = '')
      order by u.agent_id, u.day
      limit agent_api_list_usage.max_entries
    );
  end if;
  return json_build_object(
    'found', (
      select coalesce(json_agg(agents.usage_json(p) order by p.day, p.agent_id), '[]')
      from unnest(page) p
    ),
    'next', case
      when cardinality(page) = agent_api_list_usage.max_entries
        then page[cardinality(page)].day || ' ' || page[cardinality(page)].agent_id
    end
  );
end
$$;
comment on function public.agent_api_list_usage(integer, text, date, text) is
  'What agents, or one of them, used on each day (UTC) from `since` on (null: from today): {found: '
  '[{agent_id, day, requests, refusals, artifacts, bytes, quota_bytes | null, grants}], next: '
  'where the next page begins | null}, in the order of days. A minute behind.';

create function public.agent_api_list_busiest(max_entries integer) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select json_build_object(
    'found', coalesce(
      json_agg(agents.usage_json(b.used) order by (b.used).requests desc, (b.used).agent_id), '[]'
    )
  )
  from (
    select u as used
    from agents.usage u
    where u.day = (now() at time zone 'UTC')::date
    order by u.day desc, u.requests desc
    limit agent_api_list_busiest.max_entries
  ) b
$$;
comment on function public.agent_api_list_busiest(integer) is
  'Today''s (UTC) usage of the agents with the most requests, those first: {found: in the form of '
  'agent_api_list_usage}. A minute behind.';

create function agents.refusals_json(page agents.refusals[], newest_first boolean default false) returns json
language sql
stable
set search_path = ''
as $$
  select coalesce(
    json_agg(
      json_build_object(
        'agent_id', p.agent_id,
        'hour', agents.iso_timestamp(p.hour),
        'kind', p.kind,
        'count', p.count
      )
      order by case when refusals_json.newest_first then p.hour end desc, p.hour, p.agent_id, p.kind
    ),
    '[]'
  )
  from unnest(refusals_json.page) p
$$;
comment on function agents.refusals_json(agents.refusals[], boolean) is
  'Refusals in the form of agent_api_list_refusals.';

create function public.agent_api_list_refusals(
  max_entries integer,
  after text default '',
  since timestamptz default null,
  agent_id text default null
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  first_hour constant timestamptz := date_trunc(
    'hour', coalesce(agent_api_list_refusals.since, now() - interval '1 day'), 'UTC'
  );
  after_hour constant timestamptz := coalesce(
    nullif(split_part(agent_api_list_refusals.after, ' ', 1), '')::timestamptz, first_hour
  );
  after_agent constant text := split_part(agent_api_list_refusals.after, ' ', 2);
  after_kind constant text := split_part(agent_api_list_refusals.after, ' ', 3);
  page agents.refusals[];
begin
  if agent_api_list_refusals.agent_id is null then
    page := array(
      select f
      from agents.refusals f
      where f.hour >= after_hour and (f.hour, f.agent_id, f.kind) > (after_hour, after_agent, after_kind)
      order by f.hour, f.agent_id, f.kind
      limit agent_api_list_refusals.max_entries
    );
  else
    page := array(
      select f
      from agents.refusals f
      where f.agent_id = agent_api_list_refusals.agent_id
        and f.hour >= after_hour
        and (f.hour, f.kind) > (after_hour, after_kind)
      order by f.agent_id, f.hour, f.kind
      limit agent_api_list_refusals.max_entries
    );
  end if;
  return json_build_object(
    'found', agents.refusals_json(page),
    'next', case
      when cardinality(page) = agent_api_list_refusals.max_entries then concat_ws(
        ' ',
        agents.iso_timestamp(page[cardinality(page)].hour),
        page[cardinality(page)].agent_id,
        page[cardinality(page)].kind
      )
    end
  );
end
$$;
comment on function public.agent_api_list_refusals(integer, text, timestamptz, text) is
  'How often agents, or one of them, were refused in each hour from the hour of `since` on (null: '
  'a day ago): {found: [{agent_id, hour, kind, count}], next: where the next page begins | null}, '
  'in the order of hours. `kind` is the error code. A minute behind.';

create function public.agent_api_list_newest_refusals(
  max_entries integer,
  agent_id text default null
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  first_hour constant timestamptz := date_trunc('hour', now() - interval '1 day', 'UTC');
  page agents.refusals[];
begin
  if agent_api_list_newest_refusals.agent_id is null then
    page := array(
      select f
      from agents.refusals f
      where f.hour >= first_hour
      order by f.hour desc, f.agent_id desc, f.kind desc
      limit agent_api_list_newest_refusals.max_entries
    );
  else
    page := array(
      select f
      from agents.refusals f
      where f.agent_id = agent_api_list_newest_refusals.agent_id and f.hour >= first_hour
      order by f.agent_id desc, f.hour desc, f.kind desc
      limit agent_api_list_newest_refusals.max_entries
    );
  end if;
  return json_build_object('found', agents.refusals_json(page, newest_first => true));
end
$$;
comment on function public.agent_api_list_newest_refusals(integer, text) is
  'How often agents, or one of them, were refused in the hours of the last day, newest first: '
  '{found: in the form of agent_api_list_refusals}. A minute behind.';
