-- What agents request, and how often they are refused. The functions count in memory; each process
-- writes its counts once a minute (agent_api_record_usage). So the numbers are a minute behind, and
-- approximate: a killed process loses the counts it has not written.

create table agents.key_uses (
  key_id text collate "C" primary key,
  last_used_at timestamptz not null,

  constraint a_use_is_of_a_key foreign key (key_id) references agents.keys (key_id) on delete cascade
)
-- fillfactor leaves room for HOT updates: no index covers the columns that change.
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
-- Finds the agents with the most requests. This index prevents HOT updates, which costs little,
-- because rows are written once a minute.
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
  'How often an agent was refused: because its key has expired or was revoked (unauthenticated, '
  'superseded), '
  'because something is not its own (forbidden, artifact_not_found, grant_not_found, '
  'peer_not_found), or because it sent too many requests (rate_limited). One row per agent, hour '
  'and kind, so that probing shows but cannot fill the table.';
comment on column agents.refusals.kind is 'The error code.';

create index refusals_by_hour on agents.refusals (hour, agent_id, kind);

create table agents.activity (
  function_name text collate "C" not null,
  kind text collate "C" not null,
  code text collate "C" not null default '',
  count bigint not null,

  primary key (function_name, kind, code),
  constraint activity_is_of_a_function check (function_name in ('agent-artifacts', 'agent-mesh')),
  constraint there_are_four_kinds check (
    kind in ('requests', 'errors', 'upstream_calls', 'upstream_failures')
  ),
  constraint code_is_an_error_code check (
    code ~ '^[a-z_]{1,40}$' and kind = 'errors' or code = '' and kind <> 'errors'
  )
)
with (fillfactor = 50);
comment on table agents.activity is
  'The sum of the counts of all processes of a function. Alerts can use it, because it never '
  'decreases. The counts of a single process begin at 0 again with each new process. A few rows, '
  'never deleted.';
comment on column agents.activity.code is 'The error code, for errors.';

create function agents.add_activity(counts jsonb) returns void
language sql
volatile
set search_path = ''
as $$
  insert into agents.activity as a (function_name, kind, code, count)
  select add_activity.counts ->> 'function_name', n.kind, n.code, n.count
  from (
    select i.key as kind, '' as code, i.value::bigint as count
    from jsonb_each_text(add_activity.counts - array['function_name', 'errors']) i
    union all
    select 'errors', i.key, i.value::bigint
    from jsonb_each_text(coalesce(add_activity.counts -> 'errors', '{}')) i
  ) n
  where n.count > 0
  -- The same order in every process, so that concurrent writes cannot deadlock.
  order by n.kind collate "C", n.code collate "C"
  on conflict on constraint activity_pkey do update set count = a.count + excluded.count
$$;
comment on function agents.add_activity(jsonb) is
  'Adds what one process has counted since it last wrote: {function_name, requests, errors: '
  '{<error code>: <count>}, upstream_calls, upstream_failures}.';

create function agents.activity_of(function_name text) returns json
language sql
stable
set search_path = ''
as $$
  select json_build_object(
    'requests', coalesce(sum(a.count) filter (where a.kind = 'requests'), 0),
    'errors', coalesce(json_object_agg(a.code, a.count) filter (where a.kind = 'errors'), '{}'),
    'upstream_calls', coalesce(sum(a.count) filter (where a.kind = 'upstream_calls'), 0),
    'upstream_failures', coalesce(sum(a.count) filter (where a.kind = 'upstream_failures'), 0)
  )
  from agents.activity a
  where a.function_name = activity_of.function_name
$$;
comment on function agents.activity_of(text) is
  'What all processes of a function have counted: {requests, errors, upstream_calls, '
  'upstream_failures}, as add_activity takes them.';

-- Without keys from enrolments: enrolled agents get their next key by themselves.
create index keys_by_expiry on agents.keys (expires_at)
where revoked_at is null and enrolment_id is null;

create function agents.count_expiring(within interval) returns bigint
language sql
stable
set search_path = ''
as $$
  select count(distinct k.agent_id)
  from (
    select i.agent_id
    from agents.keys i
    where i.revoked_at is null
      and i.enrolment_id is null
      and i.expires_at > now()
      and i.expires_at <= now() + count_expiring.within
    order by i.expires_at
    limit 1000
  ) k
  where not exists (
    select from agents.keys o
    where o.agent_id = k.agent_id
      and o.revoked_at is null
      and (o.expires_at is null or o.expires_at > now() + count_expiring.within)
  )
$$;
comment on function agents.count_expiring(interval) is
  'How many agents will have no live agent key left when this interval has passed. Counts only '
  'agents with a key that expires until then and is not from an enrolment, among the 1000 such '
  'keys that expire first.';

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
    -- Entries contain an age, so that only the database's clock counts. No process holds counts
    -- back for a day.
    select now() - make_interval(secs => least(greatest(e.seconds_ago, 0), 86400)) as used_at
  ) u
  -- One index lookup per entry. A key that has ended still belongs to an agent.
  left join lateral (
    select i.key_id, i.agent_id from agents.keys i where i.key_hash = e.key_hash limit 1
  ) k on true
  where coalesce(k.agent_id, e.agent_id) is not null
$$;
comment on function agents.reported_uses(jsonb) is
  'The entries of agent_api_record_usage that belong to an agent. Requests with an unknown key are '
  'left out, so that nobody can fill tables without a key.';

create function public.agent_api_forget_usage(
  caller jsonb,
  retention_days integer,
  max_entries integer
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  kept_since timestamptz := now() - make_interval(days => agent_api_forget_usage.retention_days);
  first_day constant date := (kept_since at time zone 'UTC')::date;
  remaining integer;
begin
  perform agents.authenticate_operator(agent_api_forget_usage.caller);

  -- Delete by ctid, which cannot change while the row is locked.
  delete from agents.usage u
  where u.ctid = any (array(
    select d.ctid
    from agents.usage d
    where d.day < first_day
    order by d.day
    limit agent_api_forget_usage.max_entries
    for update skip locked
  ));
  delete from agents.refusals f
  where f.ctid = any (array(
    select d.ctid
    from agents.refusals d
    where d.hour < kept_since
    order by d.hour
    limit agent_api_forget_usage.max_entries
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
comment on function public.agent_api_forget_usage(jsonb, integer, integer) is
  'Deletes counts older than the given number of days, at most max_entries rows of each table. '
  'Returns {remaining}, which counts at most a few thousand. Raises forbidden for an agent.';
