-- Which standing grants are deleted, and when.

create function artifacts.forget_standing(ended_before timestamptz, max_entries integer) returns void
language plpgsql
volatile
set search_path = ''
-- For the same reason as in grant_ids_since.
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  delete from artifacts.standing_grants s
  where s.standing_id = any (array(
    select m.standing_id
    from artifacts.standing_grants m
    where m.live_until < forget_standing.ended_before
      -- Its owner may still want to end its grants.
      and not exists (
        select from artifacts.grants g
        where g.standing_id = m.standing_id and g.live_until > now()
      )
    order by m.live_until
    limit forget_standing.max_entries
    for update skip locked
  ));
end
$$;
comment on function artifacts.forget_standing(timestamptz, integer) is
  'Deletes up to max_entries standing grants that ended before a time and have no live grant.';

create function artifacts.erase_standing(name text, max_entries integer) returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
  erased integer;
begin
  delete from artifacts.standing_grants s
  where s.standing_id = any (array(
    (
      select i.standing_id from artifacts.standing_grants i
      where i.from_agent = erase_standing.name
      order by i.from_agent, i.live_until
      limit erase_standing.max_entries
    )
    union
    (
      select i.standing_id from artifacts.standing_grants i
      where i.grantee = erase_standing.name
      order by i.grantee, i.live_until
      limit erase_standing.max_entries
    )
  ));
  get diagnostics erased = row_count;
  return erased;
end
$$;
comment on function artifacts.erase_standing(text, integer) is
  'Erases up to max_entries standing grants from an agent, and as many to it; returns how many. '
  'Their grants are erased like all others.';
