-- Made of supabase/schemas/artifacts/dead_objects.sql by `deno task schema:squash`.

-- Which of the bucket's objects are live, as far as the rows tell. Only judge_objects decides it;
-- the sweep and fsck ask. A dead object never becomes live again, so a list of them that is out of
-- date when the removal happens is harmless.

create function artifacts.judge_objects(after text, up_to text, max_entries integer)
returns table (object_name text, standing text, is_pending boolean, stored_at timestamptz)
language sql
stable
set search_path = ''
as $$
  with named as materialized (
    -- Of nearly all objects the name is enough, which is in the index.
    select o.name collate "C" as name
    from storage.objects o
    where o.bucket_id = artifacts.bucket()
      and o.name collate "C" > judge_objects.after
      and o.name collate "C" < judge_objects.up_to
    order by o.name collate "C"
    limit judge_objects.max_entries
  ), placed as materialized (
    select n.name, a.committed_at, a.ended_at, a.rejected_attempts,
      a.state = 'pending' and a.ended_at is null as is_pending,
      held.is_content,
      -- 0: the upload itself. Null: a path that the row has not come to, as after a restore of the
      -- database beside a newer bucket.
      case
        when n.name = artifacts.incoming_path(a.artifact_id) then 0
        else (
          select attempt
          from generate_series(1, a.commit_attempts) as attempt
          where n.name = artifacts.sealed_path(a.artifact_id, attempt)
        )
      end as attempt
    from named n
    -- One look into the index per object, however many artifacts there are.
    left join lateral (
      select i.ended_at is null
        and n.name = artifacts.sealed_path(i.artifact_id, i.sealed_attempt) as is_content
      from artifacts.artifacts i
      where i.artifact_id = split_part(n.name, '/', 2)
      limit 1
    ) held on true
    -- For nearly all objects, no row is read.
    left join lateral (
      select i.*
      from artifacts.artifacts i
      where held.is_content is not true and i.artifact_id = split_part(n.name, '/', 2)
      limit 1
    ) a on true
  )
  select p.name,
    case
      when p.is_content then 'live'
      when p.attempt is null then 'unknown'
      when p.committed_at is not null or p.ended_at is not null then 'dead'
      -- A commit may be at work on the rest. Not even a delete makes that dead: only the sweep
      -- does, when it ends the artifact.
      when p.attempt between 1 and p.rejected_attempts then 'dead'
      else 'live'
    end,
    coalesce(p.is_pending, false),
    case
      when p.is_content is not true then (
        select o.created_at
        from storage.objects o
        where o.bucket_id = artifacts.bucket() and o.name = p.name
        limit 1
      )
    end
  from placed p
$$;
comment on function artifacts.judge_objects(text, text, integer) is
  'The first max_entries objects between two names, in byte order. standing: "live"; "dead", its '
  'row says so, and never takes that back; or "unknown", no row accounts for it. is_pending: a '
  'commit to come may still use the path. stored_at is null for the content of an artifact.';

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
      from storage.objects i
      where i.bucket_id = artifacts.bucket() and i.name = artifacts.incoming_path(e.artifact_id)
      union all
      select i.name
      from storage.objects i
      where i.bucket_id = artifacts.bucket()
        and i.name collate "C" > artifacts.sealed_folder(e.artifact_id)
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
  'The objects of the artifacts that ended first. An artifact that has none left is marked, and '
  'not looked at again.';

create function artifacts.halves_of_bucket()
returns table (half text, after text, up_to text)
language sql
stable
set search_path = ''
as $$
  -- Uploads are few, and many of them are dead. In a half of their own, their turn comes often.
  select h.half, coalesce(w.position ->> 0, h.first_name), h.up_to
  from (
    values
      ('uploads', '', artifacts.end_of_folder('incoming/')),
      ('the rest', 'incoming/~', U&'\+10FFFF')
  ) as h (half, first_name, up_to)
  left join artifacts.walks w on w.walk = h.half
$$;
comment on function artifacts.halves_of_bucket() is
  'The two walks over the names of the bucket: where each goes on, and where it ends.';

create function public.find_dead_objects(
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
  -- What it remembers of the objects before these, in each half: enough to tell, and no more. Many
  -- that are in order must not hide many that are not.
  names_remembered constant integer := 800;
  paths_of_ended text[];
  answer json;
begin
  perform agents.authenticate_operator(find_dead_objects.caller);
  -- Of two at once, one would go past names that nobody has looked at.
  perform artifacts.lock_sweep();
  paths_of_ended := artifacts.objects_of_ended(ended_per_call);

  with judged as materialized (
    select h.half, j.object_name, j.stored_at, j.standing,
      j.standing = 'unknown' and not j.is_pending and j.stored_at < now() - interval '14 days'
        as is_orphan
    from artifacts.halves_of_bucket() h
    cross join lateral artifacts.judge_objects(h.after, h.up_to, names_per_call) j
  ), tally as (
    select count(*) filter (where j.is_orphan) as orphans,
      -- So many orphans at once are rather a sign that the database is not the one of this bucket.
      -- What the walks have just gone past counts, too: a part alone is too small to tell.
      not find_dead_objects.remove_many_orphans
        and count(*) filter (where j.is_orphan) + (select coalesce(sum(w.orphans), 0) from artifacts.walks w)
          > 0.05 * (count(*) + (select coalesce(sum(w.looked_at), 0) from artifacts.walks w))
        as holds_orphans
    from judged j
  ), removable as (
    select e.path as object_name, false as is_orphan, null as half, '-infinity' as stored_at
    from unnest(paths_of_ended) as e (path)
    union all
    select j.object_name, j.is_orphan, j.half, j.stored_at
    from judged j, tally t
    where j.standing = 'dead' and j.object_name not in (select unnest(paths_of_ended))
      or j.is_orphan and not t.holds_orphans
  ), listed as (
    select r.object_name, r.is_orphan
    from removable r
    -- Oldest first, so that nobody who adds dead objects again and again puts off those of others.
    order by r.is_orphan, r.stored_at, r.object_name
    limit find_dead_objects.max_entries
  ), walked as (
    insert into artifacts.walks as w (walk, position, is_done, looked_at, orphans)
    select h.half,
      case
        -- What was not listed is looked at again.
        when s.is_to_repeat then to_jsonb(array[h.after])
        -- At the end it begins again.
        else to_jsonb(array_remove(array[s.last_name], null))
      end,
      s.last_name is null,
      case when s.is_to_repeat then 0 else s.looked_at end,
      case when s.is_to_repeat then 0 else s.orphans end
    from artifacts.halves_of_bucket() h
    cross join lateral (
      select count(*) as looked_at, count(*) filter (where j.is_orphan) as orphans,
        case when count(*) = names_per_call then max(j.object_name) end as last_name,
        exists (
          select from removable r
          where r.half = h.half and r.object_name not in (select l.object_name from listed l)
        ) as is_to_repeat
      from judged j where j.half = h.half
    ) s
    -- In the same order for every sweep.
    order by h.half
    on conflict on constraint walks_pkey do update
    set position = excluded.position,
        is_done = w.is_done or excluded.is_done,
        looked_at = case
          -- The operator has said that they are to go.
          when find_dead_objects.remove_many_orphans then 0
          else least(w.looked_at, names_remembered) + excluded.looked_at
        end,
        orphans = case
          when find_dead_objects.remove_many_orphans then 0
          else w.orphans * least(w.looked_at, names_remembered) / greatest(w.looked_at, 1)
            + excluded.orphans
        end
    returning w.is_done
  )
  select json_build_object(
    'dead_paths', (select coalesce(json_agg(l.object_name), '[]') from listed l where not l.is_orphan),
    'orphan_paths', (select coalesce(json_agg(l.object_name), '[]') from listed l where l.is_orphan),
    'orphans_held', case when t.holds_orphans then t.orphans else 0 end,
    'remaining', (select count(*) from removable) - (select count(*) from listed) + (
      select count(*) from walked w where not w.is_done
    ) + (
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

  -- All begin anew together. Else who repeats this until nothing remains might wait until all of
  -- them, of different lengths, happen to end in one call.
  if (answer ->> 'remaining')::bigint = 0
    and not exists (select from artifacts.walks w where not w.is_done)
  then
    update artifacts.walks w set position = '[]', is_done = false where w.is_done;
  end if;
  return answer;
end
$$;
comment on function public.find_dead_objects(jsonb, integer, boolean) is
  'Objects to remove once this is committed: {dead_paths, orphan_paths, orphans_held, remaining}. '
  'It looks at a bounded part of the bucket and goes on from there in the next call; remaining is '
  'about that part, and 1 more for each half of the bucket until it has come to its end. An '
  'orphan is unknown for 14 days; when more than 5% are, of the part and some 800 names before it, '
  'none is listed and orphans_held says how many of the part, unless remove_many_orphans. '
  'Raises forbidden for an agent.';
