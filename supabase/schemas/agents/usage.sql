-- What agents request, and how often they are refused. The functions count in memory; each process
-- writes its counts once a minute (record_usage). So the numbers are a minute behind, and
-- approximate: a killed process loses the counts it has not written.

create table agents.key_uses (
  key_id text collate "C" primary key,
  last_used_at timestamptz not null,

  constraint a_use_is_of_a_key foreign key (key_id) references agents.keys (key_id) on delete cascade
)
-- Room for the new version of each row beside the old one: no index is on what changes.
with (fillfactor = 50);
comment on table agents.key_uses is
  'When each agent key was last used, to about a minute. Separate from keys, so that recording a '
  'use is as cheap as possible. A key that was never used has no row.';

create table agents.usage (
  agent_id agents.agent_id not null,
  day date not null,
  requests bigint not null,
  refusals bigint not null,
  artifacts bigint not null,
  bytes bigint not null,
  grants bigint not null,

  primary key (agent_id, day)
);
comment on table agents.usage is
  'One row per agent and day (UTC) on which it sent a request. Refused requests count as '
  'requests, too.';
comment on column agents.usage.refusals is 'The sum of agents.refusals.';
comment on column agents.usage.artifacts is
  'How many artifacts the agent held, committed or superseded, when it was last active that day.';
comment on column agents.usage.bytes is 'The registered bytes of these artifacts.';
comment on column agents.usage.grants is
  'How many grants it had given at that time, including those that ended in the 30 days before.';

create index usage_by_day on agents.usage (day, agent_id);
-- Who asked most. Because of this index a row is not updated in place. Rows are written once a
-- minute, so that costs little.
create index usage_by_requests on agents.usage (day, requests);

create table agents.refusals (
  agent_id agents.agent_id not null,
  hour timestamptz not null,
  kind text collate "C" not null,
  count bigint not null,

  primary key (agent_id, hour, kind),
  constraint hour_is_a_full_hour check (hour = date_trunc('hour', hour, 'UTC')),
  constraint kind_is_an_error_code check (kind ~ '^[a-z_]{1,40}$')
)
with (fillfactor = 50);
comment on table agents.refusals is
  'How often an agent was refused: because its key has expired or was revoked (unauthenticated), '
  'because something is not its own (forbidden, artifact_not_found, grant_not_found, '
  'peer_not_found), or because it sent too many requests (rate_limited). One row per agent, hour '
  'and kind, so that probing shows but cannot fill the table.';
comment on column agents.refusals.kind is 'The error code.';

create index refusals_by_hour on agents.refusals (hour, agent_id, kind);

create function agents.reported_uses(entries jsonb)
returns table (key_id text, agent_id text, used_at timestamptz, requests bigint, refusals jsonb)
language sql
stable
set search_path = ''
as $$
  select k.key_id, coalesce(k.agent_id::text collate "C", e.agent_id collate "C"), u.used_at, e.requests,
    e.refusals
  from jsonb_to_recordset(reported_uses.entries)
    as e (key_hash text, agent_id text, seconds_ago double precision, requests bigint, refusals jsonb)
  cross join lateral (
    -- By this clock alone. Nothing is held back for a day.
    select now() - make_interval(secs => least(greatest(e.seconds_ago, 0), 86400)) as used_at
  ) u
  -- One look into the index per entry. A key that is over is still somebody's.
  left join lateral (
    select i.key_id, i.agent_id from agents.keys i where i.key_hash = e.key_hash limit 1
  ) k on true
  where coalesce(k.agent_id, e.agent_id) is not null
$$;
comment on function agents.reported_uses(jsonb) is
  'The entries of record_usage that belong to an agent. Requests with an unknown key are left '
  'out, so that nobody can fill tables without a key.';

create function public.record_usage(entries jsonb) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  answer json;
begin
  -- Each in the same order for every process that writes at the same time.
  insert into agents.key_uses as u (key_id, last_used_at)
  select r.key_id collate "C", max(r.used_at)
  from agents.reported_uses(record_usage.entries) r
  -- A refused credential is no use of it.
  where r.key_id is not null and r.requests > coalesce((r.refusals ->> 'unauthenticated')::bigint, 0)
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
    from agents.reported_uses(record_usage.entries) i
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
  from agents.reported_uses(record_usage.entries) r
  cross join lateral jsonb_each_text(r.refusals) n
  group by 1, 2, 3
  order by 1, 2, 3
  on conflict on constraint refusals_pkey do update set count = f.count + excluded.count;

  select coalesce(
    json_object_agg(e.key_hash, json_build_object('agent_id', k.agent_id, 'key_id', k.key_id)), '{}'
  ) into answer
  from jsonb_to_recordset(record_usage.entries) as e (key_hash text, is_unknown boolean)
  cross join lateral (
    select i.key_id, i.agent_id from agents.keys i where i.key_hash = e.key_hash limit 1
  ) k
  where e.is_unknown;
  return json_build_object('callers', answer);
end
$$;
comment on function public.record_usage(jsonb) is
  'Adds the counts of one process: entries is [{key_hash, or agent_id if no key was used, '
  'seconds_ago, requests, refusals: {<error code>: <count>}, is_unknown}]. requests includes the '
  'refused ones. Returns {callers: {<key_hash>: {agent_id, key_id}}} for entries with is_unknown '
  'true whose key was created here.';

create function public.forget_usage(caller jsonb, retention_days integer, max_entries integer) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  kept_since timestamptz := now() - make_interval(days => forget_usage.retention_days);
  first_day constant date := (kept_since at time zone 'UTC')::date;
  remaining integer;
begin
  perform agents.authenticate_operator(forget_usage.caller);

  -- By their places, which nobody changes while they are locked.
  delete from agents.usage u
  where u.ctid = any (array(
    select d.ctid
    from agents.usage d
    where d.day < first_day
    order by d.day
    limit forget_usage.max_entries
    for update skip locked
  ));
  delete from agents.refusals f
  where f.ctid = any (array(
    select d.ctid
    from agents.refusals d
    where d.hour < kept_since
    order by d.hour
    limit forget_usage.max_entries
    for update skip locked
  ));

  select count(*) into remaining
  from (
    (select from agents.usage u where u.day < first_day order by u.day limit 1000)
    union all
    (select from agents.refusals f where f.hour < kept_since order by f.hour limit 1000)
  ) later;
  return json_build_object('remaining', remaining);
end
$$;
comment on function public.forget_usage(jsonb, integer, integer) is
  'Deletes counts older than the given number of days, at most max_entries rows of each table. '
  'Returns {remaining}, which counts at most a few thousand. Raises forbidden for an agent.';
