-- What hosts report about their paths: whether each neighbour answers, and whether directly or
-- through a relay.
-- A report names up to 64 neighbours. Its time is in mesh.liveness, which every heartbeat writes
-- anyway. A row here is written only if its path has changed or is no longer named, so a mesh
-- without changes writes nothing here. A host with more neighbours names others in its next report,
-- and its earlier reports stay valid for the online window.
-- Locks: rows here come after pairs and before liveness. A report waits only for another report of
-- the same agent. It skips a pair that is locked, until the next report.

create table mesh.path_reports (
  agent_id agents.agent_id not null,
  other_agent agents.agent_id not null,
  low_agent agents.agent_id not null generated always as (least(agent_id, other_agent)) stored,
  high_agent agents.agent_id not null generated always as (greatest(agent_id, other_agent)) stored,
  via text collate "C" not null,
  endpoint mesh.endpoint,
  handshake_at timestamptz,
  since timestamptz not null,
  left_out_at timestamptz,
  confirmed_at timestamptz not null,

  constraint a_side_reports_a_path_once primary key (agent_id, other_agent),
  constraint a_path_is_of_a_pair foreign key (low_agent, high_agent)
    references mesh.pairs (low_agent, high_agent) on delete cascade,
  constraint via_is_a_way check (via in ('direct', 'relay', 'none'))
)
-- fillfactor leaves room for HOT updates: no index covers the columns that change often.
with (fillfactor = 50);

comment on table mesh.path_reports is
  'What each host last reported about its path to a neighbour. Valid only while '
  'mesh.time_of_report returns a time, and while the two share an active rule.';
comment on column mesh.path_reports.agent_id is 'The agent whose host reports.';
comment on column mesh.path_reports.other_agent is 'The neighbour that the path leads to.';
comment on column mesh.path_reports.via is 'direct, relay or none.';
comment on column mesh.path_reports.endpoint is
  'Where the host sees the neighbour: the outer address of its packets. Null: unknown, or of no '
  'use to other hosts.';
comment on column mesh.path_reports.handshake_at is
  'The time of their last handshake, accurate to 15 seconds; null: never.';
comment on column mesh.path_reports.since is
  'Since when, according to the reports, the path has worked this way, or has not worked.';
comment on column mesh.path_reports.left_out_at is
  'If the newest report does not name this path: when the last report that named it came. Null: '
  'the newest report names it.';
comment on column mesh.path_reports.confirmed_at is
  'When the path was last reported, accurate to a day. The sweep finds old rows by it.';

-- Finds what others report about an agent.
create index path_reports_by_other_agent on mesh.path_reports (other_agent);
-- For the deletion of pairs, which cascades.
create index path_reports_by_pair on mesh.path_reports (low_agent, high_agent);
create index path_reports_by_confirmation on mesh.path_reports (confirmed_at);

create function mesh.way_at(via text, handshake_at timestamptz, reported_at timestamptz) returns text
language sql
stable
return case
  -- WireGuard renews a session in use after 120 seconds, and ends a session after 180.
  when way_at.handshake_at >= way_at.reported_at - interval '180 seconds' then way_at.via
  else 'none'
end;
comment on function mesh.way_at(text, timestamptz, timestamptz) is
  'How a path worked when it was reported: direct, relay, or none (it did not work).';

create function mesh.paths_hold(liveness mesh.liveness, online_seconds integer) returns boolean
language sql
stable
return coalesce(
  (paths_hold.liveness).paths_reported_at > now() - make_interval(secs => paths_hold.online_seconds)
    -- Or the request that reported them is still waiting.
    or (paths_hold.liveness).paths_reported_at = (paths_hold.liveness).last_seen
      and (paths_hold.liveness).waits_until > now() - make_interval(secs => paths_hold.online_seconds),
  false
);
comment on function mesh.paths_hold(mesh.liveness, integer) is
  'Whether what a host last reported about its paths is still valid.';

create function mesh.time_of_report(
  left_out_at timestamptz, liveness mesh.liveness, online_seconds integer
) returns timestamptz
language sql
stable
return case
  when time_of_report.left_out_at is null then case
    when mesh.paths_hold(time_of_report.liveness, time_of_report.online_seconds)
      then (time_of_report.liveness).paths_reported_at
  end
  when time_of_report.left_out_at > now() - make_interval(secs => time_of_report.online_seconds)
    then time_of_report.left_out_at
end;
comment on function mesh.time_of_report(timestamptz, mesh.liveness, integer) is
  'When the host with this liveness last reported a path; null: not recently.';

create function mesh.note_paths(agent_id text, paths jsonb) returns timestamptz
language plpgsql
volatile
set search_path = ''
as $$
declare
  reported_at constant timestamptz := clock_timestamp();
  -- Null before the first report.
  last_reported_at constant timestamptz := (
    select l.paths_reported_at from mesh.liveness l where l.agent_id = note_paths.agent_id
  );
  neighbours constant text[] := array(
    select p.agent_id
    from jsonb_to_recordset(note_paths.paths) as p (agent_id text)
    where mesh.see_each_other(note_paths.agent_id, p.agent_id)
  );
  left_out tid[];
begin
  -- Found by ctid, which cannot change while the row is locked.
  left_out := array(
    select r.ctid
    from mesh.path_reports r
    where r.agent_id = note_paths.agent_id
      and r.left_out_at is null
      and r.other_agent <> all (neighbours)
    for update skip locked
  );
  delete from mesh.path_reports r
  where r.ctid = any (left_out) and not mesh.see_each_other(r.agent_id, r.other_agent);
  update mesh.path_reports r
  set left_out_at = coalesce(last_reported_at, reported_at)
  where r.ctid = any (left_out);

  with reported as (
    select p.agent_id as other_agent, p.via, p.endpoint, p.endpoint_ip,
      reported_at - make_interval(secs => p.handshake_age_seconds) as handshake_at,
      mesh.way_at(
        p.via, reported_at - make_interval(secs => p.handshake_age_seconds), reported_at
      ) as way
    from jsonb_to_recordset(note_paths.paths)
      as p (agent_id text, via text, endpoint text, endpoint_ip inet, handshake_age_seconds integer)
    where p.agent_id = any (neighbours)
  ), compared as (
    select n.other_agent, n.via, n.handshake_at,
      case
        when n.endpoint = r.endpoint then n.endpoint
        when not mesh.is_inside_the_mesh(n.endpoint_ip) then n.endpoint
      end as endpoint,
      case
        -- A session without a renewal ends after 180 seconds, so nothing is known about a longer
        -- gap.
        when n.way = r.way and r.told_at > reported_at - interval '180 seconds' then r.since
        when n.way <> 'none' then n.handshake_at
        else reported_at
      end as since,
      case
        when r.confirmed_at > reported_at - interval '1 day' then r.confirmed_at
        else reported_at
      end as confirmed_at,
      -- Two reports of one handshake differ by the network delay and by rounding to a second.
      coalesce(
        abs(extract(epoch from n.handshake_at - r.handshake_at)) < 15,
        n.handshake_at is null and r.handshake_at is null
      ) and n.way = r.way and n.via = r.via and r.left_out_at is null as is_same,
      r.endpoint as last_endpoint,
      r.since as last_since,
      r.confirmed_at as last_confirmed_at
    from reported n
    left join (
      select l.*, t.told_at, mesh.way_at(l.via, l.handshake_at, t.told_at) as way
      from mesh.path_reports l
      cross join lateral (select coalesce(l.left_out_at, last_reported_at) as told_at) t
      where l.agent_id = note_paths.agent_id and l.other_agent = any (neighbours)
    ) r on r.other_agent = n.other_agent
  ), changed as materialized (
    select c.*
    from compared c
    where c.is_same is not true
      or (c.endpoint, c.since, c.confirmed_at)
        is distinct from (c.last_endpoint, c.last_since, c.last_confirmed_at)
  )
  insert into mesh.path_reports as r (
    agent_id, other_agent, via, endpoint, handshake_at, since, confirmed_at
  )
  select note_paths.agent_id, c.other_agent, c.via, c.endpoint, c.handshake_at, c.since, c.confirmed_at
  from changed c
  -- This lock also checks whether the pair exists: the neighbour may not be registered.
  cross join lateral (
    select
    from mesh.pairs p
    where p.low_agent = least(c.other_agent collate "C", note_paths.agent_id collate "C")
      and p.high_agent = greatest(c.other_agent collate "C", note_paths.agent_id collate "C")
    limit 1
    for key share skip locked
  ) p
  order by c.other_agent
  on conflict on constraint a_side_reports_a_path_once do update
  set via = excluded.via,
      endpoint = excluded.endpoint,
      handshake_at = excluded.handshake_at,
      since = excluded.since,
      left_out_at = null,
      confirmed_at = excluded.confirmed_at;
  return reported_at;
end
$$;
comment on function mesh.note_paths(text, jsonb) is
  'Records what an agent reports about its paths: paths is [{agent_id, via, endpoint | null, '
  'endpoint_ip | null, handshake_age_seconds | null}], each agent once. Ignores agents that share '
  'no active rule with it. Returns the time of the report, for note_sign_of_life.';

create function mesh.path_json(report mesh.path_reports, reported_at timestamptz) returns json
-- PL/pgSQL, because every statement that calls an SQL function plans it if it cannot be inlined.
language plpgsql
stable
set search_path = ''
as $$
begin
  if path_json.reported_at is null or report.agent_id is null then
    return null;
  end if;
  return json_build_object(
    'works', mesh.way_at(report.via, report.handshake_at, path_json.reported_at) <> 'none',
    'via', report.via,
    'since', agents.iso_timestamp(report.since),
    'handshake_age_seconds', greatest(
      floor(extract(epoch from path_json.reported_at - report.handshake_at))::integer, 0
    ),
    'endpoint', report.endpoint,
    'reported_at', agents.iso_timestamp(path_json.reported_at)
  );
end
$$;
comment on function mesh.path_json(mesh.path_reports, timestamptz) is
  'A path as one side reported it at that time; null without a report or a time.';

create function public.agent_api_forget_paths(caller jsonb, max_entries integer) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  -- A path that is still reported is confirmed once a day.
  kept_since constant timestamptz := now() - interval '2 days';
  remaining integer;
begin
  perform agents.authenticate_operator(agent_api_forget_paths.caller);
  delete from mesh.path_reports r
  where r.ctid = any (array(
    select d.ctid
    from mesh.path_reports d
    where d.confirmed_at < kept_since
    order by d.confirmed_at
    limit agent_api_forget_paths.max_entries
    for update skip locked
  ));
  select count(*) into remaining
  from (
    select from mesh.path_reports r
    where r.confirmed_at < kept_since
    order by r.confirmed_at
    limit 1000
  ) later;
  return json_build_object('remaining', remaining);
end
$$;
comment on function public.agent_api_forget_paths(jsonb, integer) is
  'Deletes up to max_entries reports of paths that were not repeated for two days, because they '
  'contain addresses. Returns {remaining}, which counts at most a thousand. Raises forbidden for '
  'an agent.';
