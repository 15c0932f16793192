-- Retention, in steps that can be repeated after a crash at any point and run several at once:
--   end        artifacts whose time is over are marked; from the commit of that on, every operation
--              refuses them
--   remove     the caller of sweep_artifacts removes the bytes of what is dead, by the Storage API
--   forget     tombstones go when they are 30 days old and nothing lies under them any more
-- A dead object never becomes live again, so a list of them that is out of date when the removal
-- happens is harmless.

-- When an artifact's time is over, or for a pending one, when it began: what the sweep looks for.
create index unended_artifacts_by_age on artifacts.artifacts (coalesce(deleted_at, expires_at, created_at))
  where ended_at is null;

create index tombstones_by_age on artifacts.artifacts (ended_at) where ended_at is not null;

create index grants_by_end on artifacts.grants (least(expires_at, revoked_at));

create function artifacts.is_over(artifact artifacts.artifacts, window_seconds integer) returns boolean
language sql
stable
set search_path = ''
as $$
  select case (is_over.artifact).state
    when 'pending' then
      -- The upload URL, which lives two hours, has run out for a day, or for an hour where it
      -- brought nothing of use.
      (
        (is_over.artifact).created_at < now() - interval '26 hours'
        or (is_over.artifact).created_at < now() - interval '3 hours'
          and artifacts.has_unfit_upload(is_over.artifact)
      )
      -- And nobody is at work on it.
      and not exists (
        select from artifacts.verifications v
        where v.artifact_id = (is_over.artifact).artifact_id
          and (v.progress_at >= now() - interval '1 day' or v.lease_expires_at > now())
      )
      -- A sealed upload may have been committed by a later state of this database, before a backup
      -- was restored.
      and not artifacts.has_sealed_objects((is_over.artifact).artifact_id, since => now() - interval '14 days')
    else
      -- Download URLs work until their window ends; a minute more, because they are signed after
      -- the decision.
      coalesce((is_over.artifact).deleted_at, (is_over.artifact).expires_at)
        < now() - make_interval(secs => is_over.window_seconds + 60)
  end
$$;
comment on function artifacts.is_over(artifacts.artifacts, integer) is
  'Whether the sweep may end an artifact: abandoned, expired or deleted, and no URL to it that the '
  'service gave works any more. window_seconds: the longest life of a download URL, at most a day.';

create function artifacts.end_artifacts(caller jsonb, max_entries integer, window_seconds integer) returns json
language plpgsql
volatile
set search_path = ''
as $$
declare
  -- Nothing younger is over; this is what the index can tell.
  begun_before timestamptz := now() - make_interval(secs => end_artifacts.window_seconds + 60);
  locked_ids text[];
  ended artifacts.artifacts;
  expired integer := 0;
  abandoned integer := 0;
  remaining integer;
begin
  locked_ids := array(
    select a.artifact_id
    from artifacts.artifacts a
    where a.ended_at is null
      and coalesce(a.deleted_at, a.expires_at, a.created_at) < begun_before
      and artifacts.is_over(a, end_artifacts.window_seconds)
    order by coalesce(a.deleted_at, a.expires_at, a.created_at)
    limit end_artifacts.max_entries
    for update skip locked
  );

  for ended in
    update artifacts.artifacts a
    set ended_at = clock_timestamp()
    where a.artifact_id = any (locked_ids)
      -- Asked again under the lock: a commit may have begun before it was taken.
      and artifacts.is_over(a, end_artifacts.window_seconds)
    returning a.*
  loop
    -- The holder of a lease that ran out decides nothing any more.
    delete from artifacts.verifications v where v.artifact_id = ended.artifact_id;
    if ended.state = 'pending' then
      abandoned := abandoned + 1;
      perform agents.record_event(
        end_artifacts.caller, null, 'artifact.abandoned', ended.agent_id, ended.artifact_id
      );
    else
      expired := expired + 1;
      -- What was deleted had its event then.
      if ended.state <> 'deleted' then
        perform agents.record_event(
          end_artifacts.caller, null, 'artifact.expired', ended.agent_id, ended.artifact_id
        );
      end if;
    end if;
  end loop;

  select count(*) into remaining
  from artifacts.artifacts a
  where a.ended_at is null
    and coalesce(a.deleted_at, a.expires_at, a.created_at) < begun_before
    and artifacts.is_over(a, end_artifacts.window_seconds);

  return json_build_object('expired', expired, 'abandoned', abandoned, 'remaining', remaining);
end
$$;
comment on function artifacts.end_artifacts(jsonb, integer, integer) is
  'Marks artifacts that are over, with one event for each that was not deleted before. Returns '
  '{expired, abandoned, remaining}; expired counts deleted ones too.';

create function artifacts.list_dead_objects(max_entries integer, remove_many_orphans boolean) returns json
language sql
stable
set search_path = ''
as $$
  with judged as materialized (
    select j.object_name, j.stored_at, j.standing,
      j.standing = 'unknown' and not j.is_pending and j.stored_at < now() - interval '14 days' as is_orphan
    from artifacts.judge_objects() j
  ), tally as (
    select count(*) filter (where j.standing = 'dead') as dead,
      count(*) filter (where j.is_orphan) as orphans,
      -- So many at once mean that the database is not the bucket's, rather than that the bucket is
      -- full of orphans.
      not list_dead_objects.remove_many_orphans
        and count(*) filter (where j.is_orphan)
          > 0.05 * (select count(*) from storage.objects o where o.bucket_id = 'agent-artifacts') as holds_orphans
    from judged j
  ), listed as (
    select j.object_name, j.is_orphan
    from judged j, tally t
    where j.standing = 'dead' or (j.is_orphan and not t.holds_orphans)
    -- Oldest first: whoever adds dead objects again and again cannot keep those of others from
    -- their turn.
    order by j.is_orphan, j.stored_at, j.object_name collate "C"
    limit list_dead_objects.max_entries
  )
  select json_build_object(
    'dead_paths', (select coalesce(json_agg(l.object_name), '[]') from listed l where not l.is_orphan),
    'orphan_paths', (select coalesce(json_agg(l.object_name), '[]') from listed l where l.is_orphan),
    'orphans_held', case when t.holds_orphans then t.orphans else 0 end,
    'remaining', t.dead + case when t.holds_orphans then 0 else t.orphans end - (select count(*) from listed)
  )
  from tally t
$$;
comment on function artifacts.list_dead_objects(integer, boolean) is
  'Objects to remove: {dead_paths, orphan_paths, orphans_held, remaining}. An orphan is unknown '
  'for 14 days; when more than 5% of the bucket are, none is listed and orphans_held says how '
  'many, unless remove_many_orphans.';

create function artifacts.forget_ended(max_entries integer) returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
  oldest timestamptz := now() - interval '30 days';
  remaining integer;
begin
  with forgotten as (
    select a.artifact_id
    from artifacts.artifacts a
    where a.ended_at < oldest and not artifacts.has_objects(a.artifact_id)
    order by a.ended_at
    limit forget_ended.max_entries
    for update skip locked
  )
  delete from artifacts.artifacts a using forgotten f where a.artifact_id = f.artifact_id;

  with forgotten as (
    select g.grant_id
    from artifacts.grants g
    where least(g.expires_at, g.revoked_at) < oldest
    order by least(g.expires_at, g.revoked_at)
    limit forget_ended.max_entries
    for update skip locked
  )
  delete from artifacts.grants g using forgotten f where g.grant_id = f.grant_id;

  select
    (
      select count(*) from artifacts.artifacts a
      where a.ended_at < oldest and not artifacts.has_objects(a.artifact_id)
    ) + (
      select count(*) from artifacts.grants g where least(g.expires_at, g.revoked_at) < oldest
    )
  into remaining;
  return remaining;
end
$$;
comment on function artifacts.forget_ended(integer) is
  'Deletes tombstones that are 30 days old, of artifacts (with their grants) and of grants. '
  'Returns how many more there are.';

create function public.sweep_artifacts(
  caller jsonb,
  max_entries integer,
  window_seconds integer,
  remove_many_orphans boolean
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  ended json;
  forgettable integer;
  found json;
begin
  perform agents.authenticate_operator(sweep_artifacts.caller);

  ended := artifacts.end_artifacts(
    sweep_artifacts.caller, sweep_artifacts.max_entries, sweep_artifacts.window_seconds
  );
  forgettable := artifacts.forget_ended(sweep_artifacts.max_entries);
  found := artifacts.list_dead_objects(sweep_artifacts.max_entries, sweep_artifacts.remove_many_orphans);

  return json_build_object(
    'expired', ended -> 'expired',
    'abandoned', ended -> 'abandoned',
    'dead_paths', found -> 'dead_paths',
    'orphan_paths', found -> 'orphan_paths',
    'orphans_held', found -> 'orphans_held',
    'remaining', (ended ->> 'remaining')::integer + forgettable + (found ->> 'remaining')::integer
  );
end
$$;
comment on function public.sweep_artifacts(jsonb, integer, integer, boolean) is
  'One bounded step of retention: {expired, abandoned, dead_paths, orphan_paths, orphans_held, '
  'remaining}. The objects at both lists of paths are to be removed once this is committed. Raises '
  'forbidden for an agent.';
