-- What GET /metrics of agent-mesh returns. Rules and PSKs are counted as they change. Who is online
-- changes with time alone, and a heartbeat must stay as cheap as possible. So peers are counted
-- when /metrics is called, at most once a minute and in bounded steps. In between, the answer is
-- the last count.

create table mesh.censuses (
  census text collate "C" primary key,
  online bigint not null default 0,
  offline bigint not null default 0,
  never_seen bigint not null default 0,
  behind bigint not null default 0,
  after_agent agents.agent_id,
  counted_at timestamptz not null default now(),

  constraint there_are_two_censuses check (census in ('last', 'under way'))
);
comment on table mesh.censuses is
  'Peers by state: the last complete count, and the count under way.';
comment on column mesh.censuses.behind is
  'Online peers that reported another configuration than the current one.';
comment on column mesh.censuses.after_agent is 'Where the count under way continues.';

create function mesh.continue_census(
  online_seconds integer,
  max_peers integer,
  rendering_revision integer default 0
) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  under_way mesh.censuses;
  counted mesh.censuses;
  peers integer;
begin
  if exists (
      select from mesh.censuses c where c.census = 'last' and c.counted_at > now() - interval '1 minute'
    )
    -- Another call is counting.
    or not pg_try_advisory_xact_lock(hashtextextended('mesh census', 0))
  then
    return;
  end if;
  select c.* into under_way from mesh.censuses c where c.census = 'under way';

  select count(*), max(s.agent_id),
    coalesce(under_way.online, 0) + count(*) filter (where s.online),
    coalesce(under_way.offline, 0) + count(*) filter (where not s.online and s.was_seen),
    coalesce(under_way.never_seen, 0) + count(*) filter (where not s.was_seen),
    coalesce(under_way.behind, 0) + count(*) filter (where s.online and s.lags)
  into peers, counted.after_agent, counted.online, counted.offline, counted.never_seen, counted.behind
  from (
    select l.agent_id,
      l.last_seen is not null as was_seen,
      mesh.is_online(l, continue_census.online_seconds) as online,
      mesh.lags(l, v.version, continue_census.rendering_revision) as lags
    from mesh.liveness l
    join mesh.config_versions v on v.agent_id = l.agent_id
    where l.agent_id > coalesce(under_way.after_agent, '')
    order by l.agent_id
    limit continue_census.max_peers
  ) s;

  if peers < continue_census.max_peers then
    counted.census := 'last';
    counted.after_agent := null;
    delete from mesh.censuses c where c.census = 'under way';
  else
    counted.census := 'under way';
  end if;
  counted.counted_at := now();
  insert into mesh.censuses values (counted.*)
  on conflict on constraint censuses_pkey do update
  set online = excluded.online,
      offline = excluded.offline,
      never_seen = excluded.never_seen,
      behind = excluded.behind,
      after_agent = excluded.after_agent,
      counted_at = excluded.counted_at;
end
$$;
comment on function mesh.continue_census(integer, integer, integer) is
  'Counts the next max_peers peers, if the last count is older than a minute.';

create function mesh.psk_counts()
returns table (encryption_key_id text, count bigint, oldest_made_at timestamptz)
language sql
stable
set search_path = ''
as $$
  select c.key_id, c.value, (
    select p.made_at
    from mesh.pairs p
    where p.encrypted_psk is not null and p.encryption_key_id = c.key_id collate "C"
    order by p.encryption_key_id, p.made_at
    limit 1
  )
  from (
    select substr(k.counter, length('psks.') + 1) as key_id, sum(k.value)::bigint as value
    from mesh.counters k
    where k.counter >= 'psks.' and k.counter < 'psks/'
    group by k.counter
  ) c
  where c.value > 0
$$;
comment on function mesh.psk_counts() is
  'How many PSKs each encryption key encrypts, and when the oldest of them was made.';

create function public.agent_api_read_mesh_metrics(
  caller jsonb,
  online_seconds integer,
  rendering_revision integer default 0
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  peers_per_call constant integer := 2000;
  answer json;
begin
  perform agents.authenticate_operator(agent_api_read_mesh_metrics.caller);
  perform mesh.continue_census(
    agent_api_read_mesh_metrics.online_seconds, peers_per_call,
    agent_api_read_mesh_metrics.rendering_revision
  );

  select json_build_object(
    'peers', json_build_object(
      'online', coalesce(max(c.online), 0),
      'offline', coalesce(max(c.offline), 0),
      'never_seen', coalesce(max(c.never_seen), 0)
    ),
    'activity', agents.activity_of('agent-mesh'),
    'peers_behind', coalesce(max(c.behind), 0),
    'peers_counted_at', extract(epoch from max(c.counted_at)),
    'rules', json_build_object(
      'active', (
        select coalesce(sum(k.value), 0) from mesh.counters k where k.counter = 'rules.active'
      ),
      'requested', (
        select coalesce(sum(k.value), 0) from mesh.counters k where k.counter = 'rules.requested'
      )
    ),
    'psks', (
      select coalesce(
        json_agg(
          json_build_object(
            'encryption_key_id', p.encryption_key_id,
            'count', p.count,
            'oldest_made_at', extract(epoch from p.oldest_made_at)
          )
          order by p.encryption_key_id
        ),
        '[]'
      )
      from mesh.psk_counts() p
    )
  ) into answer
  from mesh.censuses c
  where c.census = 'last';
  return answer;
end
$$;
comment on function public.agent_api_read_mesh_metrics(jsonb, integer, integer) is
  'What agent-mesh returns at /metrics: {peers, activity, peers_behind, peers_counted_at, rules, '
  'psks}; times are seconds since 1970, or null. peers_behind counts the peers that '
  'agent_api_check_mesh reports as version_lags with the same online_seconds and '
  'rendering_revision. Raises unauthenticated, forbidden.';
