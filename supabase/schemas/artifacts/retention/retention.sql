-- Retention, in steps. Each is a separate call and transaction that touches a bounded number of
-- rows, can be repeated after a crash at any point, and can run several times at once. After
-- agent_api_record_surplus_uploads (surplus_uploads.sql):
--   agent_api_end_artifacts         marks expired, deleted and abandoned artifacts; from its commit
--                                   on, every operation refuses them
--   agent_api_collect_dead_objects  lists the bytes to remove through the Storage API
--   agent_api_forget_ended          deletes tombstones 30 days old that have no objects left

-- For artifacts that are not pending, the times alone decide whether they have ended. Pending
-- artifacts are checked one by one.
create index unended_artifacts_by_end on artifacts.artifacts (coalesce(deleted_at, expires_at))
  where ended_at is null and state <> 'pending';
create index pending_artifacts_by_age on artifacts.artifacts (created_at, artifact_id)
  where ended_at is null and state = 'pending';
create index ended_artifacts_with_bytes on artifacts.artifacts (ended_at)
  where ended_at is not null and removed_at is null;
create index tombstones_by_age on artifacts.artifacts (ended_at) where removed_at is not null;

create table artifacts.walks (
  walk text collate "C" primary key,
  position jsonb not null,
  is_done boolean not null,
  round bigint not null default 1,
  looked_at bigint not null default 0,
  orphans bigint not null default 0,
  last_looked_at bigint not null default 0,
  last_orphans bigint not null default 0
);
comment on table artifacts.walks is
  'Where the sweep continues, one row per walk that is too long for one call: over the pending '
  'artifacts, and over the two halves of the bucket. At its end a walk starts again. When all of '
  'them are done, the next round begins.';
comment on column artifacts.walks.is_done is 'Whether the walk has reached its end in this round.';
comment on column artifacts.walks.looked_at is
  'How many objects the walk has counted in this round, each once.';
comment on column artifacts.walks.orphans is
  'How many of these objects were orphans (agent_api_collect_dead_objects) and were not removed.';
comment on column artifacts.walks.last_looked_at is 'The value of looked_at in the previous round.';
comment on column artifacts.walks.last_orphans is 'The value of orphans in the previous round.';

create function artifacts.lock_sweep() returns void
language sql
volatile
set search_path = ''
as $$
  select pg_advisory_xact_lock(hashtextextended('sweep', 0));
  select set_config('artifacts.has_turn', 'yes', true);
$$;
comment on function artifacts.lock_sweep() is
  'Makes changes to artifacts of several agents run one at a time: two at once could deadlock on '
  'the agents'' totals.';

create function artifacts.abandoned_among(artifact_ids text[]) returns text[]
language sql
stable
set search_path = ''
as $$
  select coalesce(array_agg(a.artifact_id order by a.created_at), '{}')
  from unnest(abandoned_among.artifact_ids) as named (artifact_id)
  -- One index lookup per id.
  cross join lateral (
    select i.* from artifacts.artifacts i where i.artifact_id = named.artifact_id limit 1
  ) a
  where a.state = 'pending'
    and a.ended_at is null
    -- The upload URL, which works for two hours, expired at least a day ago or, if the upload has a
    -- wrong size, at least an hour ago.
    and (
      a.created_at < now() - interval '26 hours'
      or a.created_at < now() - interval '3 hours' and exists (
        select from artifacts.current_objects o
        where o.name collate "C" = artifacts.incoming_path(a.artifact_id)
          and (o.metadata ->> 'size')::bigint <> a.size_bytes
      )
    )
    -- No commit is verifying it.
    and not exists (
      select from artifacts.verifications v
      where v.artifact_id = a.artifact_id
        and (v.progress_at >= now() - interval '1 day' or v.lease_expires_at > now())
    )
    -- If a backup was restored, the database may have lost the commit of a sealed upload. So a
    -- sealed object keeps the artifact for 14 days.
    and not exists (
      select from artifacts.current_objects o
      where o.name collate "C" > artifacts.sealed_folder(a.artifact_id)
        and o.name collate "C" < artifacts.end_of_folder(artifacts.sealed_folder(a.artifact_id))
        and o.created_at > now() - interval '14 days'
    )
$$;
comment on function artifacts.abandoned_among(text[]) is
  'Those of these artifacts that the sweep may end because nobody will commit them any more, '
  'oldest first.';

create function artifacts.next_pending(max_entries integer) returns text[]
language plpgsql
volatile
set search_path = ''
as $$
declare
  after jsonb;
  next_ids text[];
  last_position jsonb;
begin
  select w.position into after from artifacts.walks w where w.walk = 'pending';

  select array_agg(n.artifact_id), (array_agg(n.position))[next_pending.max_entries]
  into next_ids, last_position
  from (
    select a.artifact_id, jsonb_build_array(a.created_at, a.artifact_id) as position
    from artifacts.artifacts a
    where a.state = 'pending'
      and a.ended_at is null
      and a.created_at < now() - interval '3 hours'
      and (a.created_at, a.artifact_id)
        > (coalesce((after ->> 0)::timestamptz, '-infinity'), coalesce(after ->> 1, ''))
    order by a.created_at, a.artifact_id
    limit next_pending.max_entries
  ) n;

  -- At the end, the walk begins again.
  insert into artifacts.walks as w (walk, position, is_done)
  values ('pending', coalesce(last_position, '[]'), last_position is null)
  on conflict on constraint walks_pkey do update
  set position = excluded.position, is_done = w.is_done or excluded.is_done;
  return coalesce(next_ids, '{}');
end
$$;
comment on function artifacts.next_pending(integer) is
  'The next pending artifacts that are old enough to check. Each call continues after the previous '
  'one.';

create function public.agent_api_end_artifacts(
  caller jsonb,
  max_entries integer,
  window_seconds integer
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  -- Wait until download URLs have expired: their window, and a minute more because they are signed
  -- after access was checked.
  over_before timestamptz := now() - make_interval(secs => agent_api_end_artifacts.window_seconds + 60);
  -- How many pending artifacts one call looks at.
  pending_per_call constant integer := 200;
  expired_ids text[];
  pending_ids text[];
  abandoned_ids text[];
  ended artifacts.artifacts;
  expired integer := 0;
  abandoned integer := 0;
  remaining integer;
begin
  perform agents.authenticate_operator(agent_api_end_artifacts.caller);
  perform artifacts.lock_sweep();

  expired_ids := array(
    select a.artifact_id
    from artifacts.artifacts a
    where a.ended_at is null and a.state <> 'pending' and coalesce(a.deleted_at, a.expires_at) < over_before
    order by coalesce(a.deleted_at, a.expires_at)
    limit agent_api_end_artifacts.max_entries
    for update skip locked
  );
  pending_ids := artifacts.next_pending(pending_per_call);
  abandoned_ids := artifacts.abandoned_among(pending_ids);
  remaining := greatest(0, cardinality(abandoned_ids) + cardinality(expired_ids) - agent_api_end_artifacts.max_entries);
  if remaining > 0 then
    -- Not all of the found artifacts can end in this call. The walk begins again, to find the
    -- others.
    update artifacts.walks w set position = '[]', is_done = false where w.walk = 'pending';
  end if;
  remaining := remaining
    + (select count(*) from artifacts.walks w where w.walk = 'pending' and not w.is_done);
  abandoned_ids := array(
    select a.artifact_id
    from artifacts.artifacts a
    where a.artifact_id = any (abandoned_ids)
    order by a.created_at
    limit agent_api_end_artifacts.max_entries - cardinality(expired_ids)
    for update skip locked
  );

  -- Check again under the row locks: a commit may have begun before they were taken.
  abandoned_ids := artifacts.abandoned_among(abandoned_ids);

  for ended in
    update artifacts.artifacts a
    set ended_at = clock_timestamp()
    where a.artifact_id = any (expired_ids || abandoned_ids)
    returning a.*
  loop
    -- A commit whose lease has expired can no longer give a verdict.
    delete from artifacts.verifications v where v.artifact_id = ended.artifact_id;
    if ended.state = 'pending' then
      abandoned := abandoned + 1;
      perform agents.record_event(
        agent_api_end_artifacts.caller, null, 'artifact.abandoned', ended.agent_id, ended.artifact_id,
        jsonb_build_object('key', ended.key)
      );
    else
      expired := expired + 1;
      -- A deleted artifact got its event when it was deleted.
      if ended.state <> 'deleted' then
        perform agents.record_event(
          agent_api_end_artifacts.caller, null, 'artifact.expired', ended.agent_id, ended.artifact_id,
          jsonb_build_object('key', ended.key)
        );
      end if;
    end if;
  end loop;

  select remaining + count(*) into remaining
  from (
    select from artifacts.artifacts a
    where a.ended_at is null and a.state <> 'pending' and coalesce(a.deleted_at, a.expires_at) < over_before
    limit 1000
  ) later;
  return json_build_object('expired', expired, 'abandoned', abandoned, 'remaining', remaining);
end
$$;
comment on function public.agent_api_end_artifacts(jsonb, integer, integer) is
  'Marks expired, deleted and abandoned artifacts, and writes one event for each that was not '
  'deleted before. Returns {expired, abandoned, remaining}. expired includes deleted ones. '
  'remaining counts at most a few thousand, plus 1 for pending artifacts until all were looked '
  'at. window_seconds: the longest life of a download URL, at most a day. Raises forbidden for an '
  'agent.';

create function public.agent_api_forget_ended(caller jsonb, max_entries integer) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  oldest timestamptz := now() - interval '30 days';
  forgotten_ids text[];
  remaining integer;
begin
  perform agents.authenticate_operator(agent_api_forget_ended.caller);
  perform artifacts.lock_sweep();

  forgotten_ids := array(
    select a.artifact_id
    from artifacts.artifacts a
    where a.removed_at is not null and a.ended_at < oldest
    order by a.ended_at
    limit agent_api_forget_ended.max_entries
    for update skip locked
  );
  -- Delete grants first, and in bounded numbers: one artifact may have any number of them.
  delete from artifacts.grants g
  where g.grant_id = any (array(
    select m.grant_id
    from artifacts.grants m
    where m.artifact_id = any (forgotten_ids)
    limit agent_api_forget_ended.max_entries
  ));
  delete from artifacts.grants g
  where g.grant_id = any (array(
    select m.grant_id
    from artifacts.grants m
    where m.live_until < oldest
    order by m.live_until
    limit agent_api_forget_ended.max_entries
    for update skip locked
  ));
  perform artifacts.forget_standing(oldest, agent_api_forget_ended.max_entries);
  perform artifacts.keep_spent_versions(forgotten_ids);
  delete from artifacts.artifacts a
  where a.artifact_id = any (forgotten_ids)
    and not exists (select from artifacts.grants g where g.artifact_id = a.artifact_id)
    -- A slow move, or a slow PUT, may have added objects since.
    and not artifacts.has_objects(a.artifact_id);

  select count(*) into remaining
  from (
    (
      select from artifacts.artifacts a
      where a.removed_at is not null and a.ended_at < oldest and not artifacts.has_objects(a.artifact_id)
      limit 1000
    )
    union all
    (
      select from artifacts.grants g where g.live_until < oldest order by g.live_until limit 1000
    )
  ) later;
  -- This is the last step of a sweep.
  update artifacts.sweeps s set swept_at = clock_timestamp() where s.only_row;
  return json_build_object('remaining', remaining);
end
$$;
comment on function public.agent_api_forget_ended(jsonb, integer) is
  'Deletes tombstones that are 30 days old, of artifacts (with their grants) and of grants. '
  'Returns {remaining}, which counts at most a few thousand. Raises forbidden for an agent.';
