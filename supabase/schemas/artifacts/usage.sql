-- Stores what the functions counted, together with what each agent holds at that time.

create function public.agent_api_record_usage(
  entries jsonb,
  activity jsonb default null
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  answer json;
begin
  -- Each insert has the same order in every process, so that concurrent writes cannot deadlock.
  insert into agents.key_uses as u (key_id, last_used_at)
  select r.key_id collate "C", max(r.used_at)
  from agents.reported_uses(agent_api_record_usage.entries) r
  -- A request whose credential was refused does not count as a use of the key.
  where r.key_id is not null
    and r.requests > coalesce((r.refusals ->> 'unauthenticated')::bigint, 0)
      + coalesce((r.refusals ->> 'superseded')::bigint, 0)
  group by 1
  order by 1
  on conflict on constraint key_uses_pkey do update
  set last_used_at = greatest(u.last_used_at, excluded.last_used_at);

  insert into agents.usage as u (agent_id, day, requests, refusals, artifacts, bytes, grants)
  select r.agent_id, r.day, r.requests, r.refusals,
    coalesce(t.committed + t.superseded, 0), coalesce(t.committed_bytes + t.superseded_bytes, 0),
    coalesce(t.grants, 0)
  from (
    select i.agent_id collate "C" as agent_id, (i.used_at at time zone 'UTC')::date as day,
      sum(i.requests) as requests,
      sum((select coalesce(sum(n.value::bigint), 0) from jsonb_each_text(i.refusals) n)) as refusals
    from agents.reported_uses(agent_api_record_usage.entries) i
    group by 1, 2
  ) r
  left join lateral (
    select s.* from artifacts.totals s where s.agent_id = r.agent_id limit 1
  ) t on true
  order by r.agent_id, r.day
  on conflict on constraint usage_pkey do update
  set requests = u.requests + excluded.requests,
      refusals = u.refusals + excluded.refusals,
      artifacts = excluded.artifacts,
      bytes = excluded.bytes,
      grants = excluded.grants;

  insert into agents.refusals as f (agent_id, hour, kind, count)
  select r.agent_id collate "C", date_trunc('hour', r.used_at, 'UTC'), n.key collate "C",
    sum(n.value::bigint)
  from agents.reported_uses(agent_api_record_usage.entries) r
  cross join lateral jsonb_each_text(r.refusals) n
  group by 1, 2, 3
  order by 1, 2, 3
  on conflict on constraint refusals_pkey do update set count = f.count + excluded.count;

  if agent_api_record_usage.activity is not null then
    perform agents.add_activity(agent_api_record_usage.activity);
  end if;

  select coalesce(
    json_object_agg(e.key_hash, json_build_object('agent_id', k.agent_id, 'key_id', k.key_id)), '{}'
  ) into answer
  from jsonb_to_recordset(agent_api_record_usage.entries) as e (key_hash text, is_unknown boolean)
  cross join lateral (
    select i.key_id, i.agent_id from agents.keys i where i.key_hash = e.key_hash limit 1
  ) k
  where e.is_unknown;
  return json_build_object('callers', answer);
end
$$;
comment on function public.agent_api_record_usage(jsonb, jsonb) is
  'Adds the counts of one process: entries is [{key_hash, or agent_id if no key was used, '
  'seconds_ago, requests, refusals: {<error code>: <count>}, is_unknown}]. requests includes the '
  'refused ones. activity: see add_activity. Returns {callers: {<key_hash>: {agent_id, key_id}}} '
  'for entries with is_unknown true whose key is in agents.keys.';
