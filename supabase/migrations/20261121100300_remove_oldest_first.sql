-- By name, uploads to `incoming/` always came before what lies under `sealed/`: enough of them, again and again, and the
-- sweep came to nothing else.

create or replace function artifacts.list_dead_objects(max_entries integer, remove_many_orphans boolean) returns json
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
      -- So many at once mean that the database is not the bucket's, rather than that the bucket is full of orphans.
      not list_dead_objects.remove_many_orphans
        and count(*) filter (where j.is_orphan)
          > 0.05 * (select count(*) from storage.objects o where o.bucket_id = 'agent-artifacts') as holds_orphans
    from judged j
  ), listed as (
    select j.object_name, j.is_orphan
    from judged j, tally t
    where j.standing = 'dead' or (j.is_orphan and not t.holds_orphans)
    -- Oldest first: whoever adds dead objects again and again cannot keep those of others from their turn.
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
