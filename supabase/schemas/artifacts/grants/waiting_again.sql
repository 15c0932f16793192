-- Tasks that wait again: what an agent that has seen their grants is told a second time.

create function artifacts.ids_waiting_again(
  queues text[],
  since pg_snapshot,
  max_entries integer
) returns text[]
language plpgsql
stable
set search_path = ''
-- For the same reason as in grant_ids_since.
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  return array(
    select t.grant_id
    from unnest(ids_waiting_again.queues) as q (queue)
    cross join lateral (
      select t.grant_id
      from artifacts.tasks t
      where t.queue = q.queue and t.waits_again_since >= pg_snapshot_xmin(ids_waiting_again.since)
      order by t.queue, t.waits_again_since
      limit ids_waiting_again.max_entries
    ) t
    limit ids_waiting_again.max_entries
  );
end
$$;
comment on function artifacts.ids_waiting_again(text[], pg_snapshot, integer) is
  'A bounded number of grants whose tasks in these queues wait again since a snapshot.';

create function artifacts.waits_again(grant_id text, queues text[], since pg_snapshot) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return exists (
    select
    from artifacts.tasks t
    where t.grant_id = waits_again.grant_id
      and t.queue = any (waits_again.queues)
      and not pg_visible_in_snapshot(t.waits_again_since, waits_again.since)
  );
end
$$;
comment on function artifacts.waits_again(text, text[], pg_snapshot) is
  'Whether the task of a grant in these queues waits again since a snapshot.';
