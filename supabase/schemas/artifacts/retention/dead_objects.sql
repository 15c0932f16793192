-- What the sweep must remove from the bucket: objects of ended artifacts, other dead objects, and
-- orphans. A dead object never becomes live again, so an outdated list of them does no harm.
-- An orphan is an object that has no row and is at least 14 days old. A restore that loses rows
-- makes orphans of content that somebody needs. So the sweep counts orphans, round by round, and
-- removes none while they are more than 5% of the objects. It removes an orphan only after a whole
-- round that began after the orphan was found: earlier counts say nothing about a restore since
-- then.

create function artifacts.objects_of_ended(max_artifacts integer) returns text[]
language plpgsql
volatile
set search_path = ''
as $$
declare
  ended_ids text[];
  paths text[];
begin
  ended_ids := array(
    select a.artifact_id
    from artifacts.artifacts a
    where a.ended_at is not null and a.removed_at is null
    order by a.ended_at
    limit objects_of_ended.max_artifacts
    for update skip locked
  );
  with found as (
    select e.artifact_id, o.name
    from unnest(ended_ids) with ordinality as e (artifact_id, position)
    left join lateral (
      select i.name
      from artifacts.current_objects i
      where i.name collate "C" = artifacts.incoming_path(e.artifact_id)
      union all
      select i.name
      from artifacts.current_objects i
      where i.name collate "C" > artifacts.sealed_folder(e.artifact_id)
        and i.name collate "C" < artifacts.end_of_folder(artifacts.sealed_folder(e.artifact_id))
    ) o on true
  ), cleared as (
    update artifacts.artifacts a
    set removed_at = clock_timestamp()
    from found f
    where a.artifact_id = f.artifact_id and f.name is null
  )
  select coalesce(array_agg(f.name), '{}') into paths from found f where f.name is not null;
  return paths;
end
$$;
comment on function artifacts.objects_of_ended(integer) is
  'The objects of the artifacts that ended first. An artifact without any objects left is marked '
  'as removed, and not checked again.';

create table artifacts.orphans (
  object_name text collate "C" primary key,
  deciding_round bigint not null
);
comment on table artifacts.orphans is
  'Objects without a row, from when the sweep finds them until it lists them for removal or finds '
  'that they are no longer orphans. While the sweep holds orphans back, it remembers none.';
comment on column artifacts.orphans.deciding_round is
  'The first round that counts every object after this one was found. Earlier counts say nothing '
  'about rows that a restore has lost since.';

create function artifacts.halves_of_bucket()
returns table (
  half text, after text, up_to text, is_done boolean, round bigint, looked_at bigint, orphans bigint,
  last_looked_at bigint, last_orphans bigint
)
language sql
stable
set search_path = ''
as $$
  -- Uploads are few, and many of them are dead. Walking over them separately checks each of them
  -- often.
  select h.half, coalesce(w.position ->> 0, h.first_name), h.up_to, coalesce(w.is_done, false),
    coalesce(w.round, 1), coalesce(w.looked_at, 0), coalesce(w.orphans, 0),
    coalesce(w.last_looked_at, 0), coalesce(w.last_orphans, 0)
  from (
    values
      ('uploads', '', artifacts.end_of_folder('incoming/')),
      ('the rest', 'incoming/~', U&'\+10FFFF')
  ) as h (half, first_name, up_to)
  left join artifacts.walks w on w.walk = h.half
$$;
comment on function artifacts.halves_of_bucket() is
  'The two walks over the names of the bucket: where each continues, where it ends, and what it '
  'has counted.';

create function public.agent_api_collect_dead_objects(
  caller jsonb,
  max_entries integer,
  remove_many_orphans boolean
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  -- What one call looks at: ended artifacts, and names in each half of the bucket.
  ended_per_call constant integer := 1000;
  names_per_call constant integer := 200;
  -- How many remembered orphans one call checks in each half, because their objects may be gone.
  remembered_per_call constant integer := 400;
  paths_of_ended text[];
  answer json;
begin
  perform agents.authenticate_operator(agent_api_collect_dead_objects.caller);
  -- Where Storage keeps versions, it removes no bytes, and reports success.
  perform artifacts.require_bucket();
  -- Of two concurrent calls, one would skip names that neither has checked.
  perform artifacts.lock_sweep();
  paths_of_ended := artifacts.objects_of_ended(ended_per_call);

  with judged as materialized (
    select h.half, j.object_name collate "C" as object_name, j.stored_at, j.standing,
      j.standing = 'unknown' and not j.is_pending and j.stored_at < now() - interval '14 days'
        as is_orphan
    from artifacts.halves_of_bucket() h
    cross join lateral artifacts.judge_objects(h.after, h.up_to, names_per_call) j
  ), part as materialized (
    select h.*, j.last_name,
      -- A half that is done in this round was already counted.
      case when h.is_done then 0 else j.names end as names_now,
      case when h.is_done then 0 else j.orphans end as orphans_now
    from artifacts.halves_of_bucket() h
    cross join lateral (
      select count(*) as names, count(*) filter (where i.is_orphan) as orphans,
        case when count(*) = names_per_call then max(i.object_name) end as last_name
      from judged i
      where i.half = h.half
    ) j
  ), this_round as (
    select max(p.round) as round,
      bool_and(not p.is_done and p.looked_at = 0) as begins,
      bool_and(p.is_done or p.last_name is null) as is_whole,
      count(*) filter (where not p.is_done and p.last_name is not null) as unfinished,
      sum(p.looked_at + p.names_now) as looked_at,
      sum(p.orphans + p.orphans_now) as orphans,
      sum(p.last_looked_at) as last_looked_at,
      sum(p.last_orphans) as last_orphans
    from part p
  ), whole_round as (
    -- The last round that counted every object, including this call.
    select r.unfinished,
      r.round + case when r.begins then 0 else 1 end as deciding_round,
      r.orphans as orphans_so_far,
      greatest(r.looked_at, r.last_looked_at) as objects,
      r.round - case when r.is_whole then 0 else 1 end as round,
      case when r.is_whole then r.looked_at else r.last_looked_at end as looked_at,
      case when r.is_whole then r.orphans else r.last_orphans end as orphans
    from this_round r
  ), tally as (
    select w.unfinished, w.deciding_round, w.round, greatest(w.orphans, w.orphans_so_far) as orphans,
      -- So many orphans suggest that the database does not belong to this bucket.
      not agent_api_collect_dead_objects.remove_many_orphans
        and (w.orphans > 0.05 * w.looked_at or w.orphans_so_far > 0.05 * w.objects) as holds_orphans
    from whole_round w
  ), removable as (
    select e.path as object_name, false as is_orphan, null as half, '-infinity' as stored_at
    from unnest(paths_of_ended) as e (path)
    union all
    select j.object_name, j.is_orphan, j.half, j.stored_at
    from judged j
    cross join tally t
    left join lateral (
      select i.deciding_round
      from artifacts.orphans i
      where j.is_orphan and i.object_name = j.object_name
      limit 1
    ) o on true
    where j.standing = 'dead' and j.object_name not in (select unnest(paths_of_ended))
      or j.is_orphan
        and not t.holds_orphans
        and (
          agent_api_collect_dead_objects.remove_many_orphans
          or coalesce(o.deciding_round, t.deciding_round) <= t.round
        )
  ), listed as materialized (
    select r.object_name, r.is_orphan, r.half
    from removable r
    -- Oldest first, so that an agent that keeps adding dead objects cannot delay the removal of
    -- others.
    order by r.is_orphan, r.stored_at, r.object_name
    limit agent_api_collect_dead_objects.max_entries
  ), remembered as (
    insert into artifacts.orphans as o (object_name, deciding_round)
    select j.object_name, t.deciding_round
    from judged j
    cross join tally t
    where j.is_orphan and not t.holds_orphans and j.object_name not in (select l.object_name from listed l)
    on conflict on constraint orphans_pkey do update
    set deciding_round = excluded.deciding_round
    -- This happens only if a restore has set the rounds back.
    where o.deciding_round > excluded.deciding_round
  ), forgotten as (
    delete from artifacts.orphans o
    where o.object_name = any (array(
      select j.object_name from judged j where not j.is_orphan
      union all
      select l.object_name from listed l where l.is_orphan
      union all
      -- Remembered orphans whose objects are gone, although this never listed them.
      select i.object_name
      from part p
      cross join lateral (
        select m.object_name
        from artifacts.orphans m
        where m.object_name > p.after and m.object_name <= coalesce(p.last_name, p.up_to)
        order by m.object_name
        limit remembered_per_call
      ) i
      where i.object_name not in (select j.object_name from judged j)
    ))
  ), walked as (
    insert into artifacts.walks as w (walk, position, is_done, looked_at, orphans)
    select p.half,
      case
        -- The next call repeats this part if the list had no room for all removable objects.
        when s.is_to_repeat then to_jsonb(array[p.after])
        -- At the end, the walk begins again.
        else to_jsonb(array_remove(array[p.last_name], null))
      end,
      p.is_done or p.last_name is null and not s.is_to_repeat,
      p.looked_at + case when s.is_to_repeat then 0 else p.names_now end,
      -- A listed orphan no longer counts as one.
      p.orphans + case when s.is_to_repeat or p.is_done then 0 else p.orphans_now - s.listed end
    from part p
    cross join lateral (
      select
        (select count(*) from listed l where l.half = p.half and l.is_orphan) as listed,
        exists (
          select from removable r
          where r.half = p.half and r.object_name not in (select l.object_name from listed l)
        ) as is_to_repeat
    ) s
    -- The same order in every sweep prevents deadlocks.
    order by p.half
    on conflict on constraint walks_pkey do update
    set position = excluded.position,
        is_done = excluded.is_done,
        looked_at = excluded.looked_at,
        orphans = excluded.orphans
  )
  select json_build_object(
    'dead_paths', (select coalesce(json_agg(l.object_name), '[]') from listed l where not l.is_orphan),
    'orphan_paths', (select coalesce(json_agg(l.object_name), '[]') from listed l where l.is_orphan),
    'orphans_held', case when t.holds_orphans then t.orphans else 0 end,
    'remaining', (select count(*) from removable) - (select count(*) from listed) + t.unfinished + (
      select count(*)
      from (
        select from artifacts.artifacts a
        where a.ended_at is not null and a.removed_at is null
        order by a.ended_at
        offset ended_per_call
        limit 1000
      ) later
    )
  ) into answer
  from tally t;

  -- All walks start again together. Otherwise a caller that repeats this until nothing remains
  -- might wait until walks of different lengths happen to end in one call.
  if (answer ->> 'remaining')::bigint = 0
    and not exists (select from artifacts.walks w where not w.is_done)
  then
    update artifacts.walks w
    set position = '[]',
        is_done = false,
        round = w.round + 1,
        looked_at = 0,
        orphans = 0,
        last_looked_at = w.looked_at,
        last_orphans = w.orphans
    where w.is_done;
  end if;
  return answer;
end
$$;
comment on function public.agent_api_collect_dead_objects(jsonb, integer, boolean) is
  'Objects to remove once this is committed: {dead_paths, orphan_paths, orphans_held, remaining}. '
  'Each call looks at a bounded part of the bucket, and the next call continues there. remaining '
  'counts that part, plus 1 for each half of the bucket that is not finished. An orphan is an '
  'object that has been unknown for 14 days. It is listed once a whole round that began after it '
  'was found has counted at most 5% orphans. If there are more, none is listed and orphans_held '
  'says how many, unless remove_many_orphans. Raises forbidden for an agent, and misconfigured if '
  'the bucket is missing or keeps versions.';
