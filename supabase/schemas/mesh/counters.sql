-- How many rules and PSKs the project has, updated with every change, so that /metrics need not
-- count.

create table mesh.counters (
  counter text collate "C" not null,
  shard integer not null,
  value bigint not null,

  primary key (counter, shard)
)
with (fillfactor = 10);
comment on table mesh.counters is
  'rules.active, rules.requested and psks.<id of the encryption key>, in shards: the value of a '
  'counter is the sum of its rows. Each connection adds to separate rows, so that changes do not '
  'wait for each other.';

create function mesh.add_to_counters(counters text[], changes bigint[]) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  insert into mesh.counters as k (counter, shard, value)
  select c.counter collate "C", pg_backend_pid() % 256, sum(c.change)
  from unnest(add_to_counters.counters, add_to_counters.changes) as c (counter, change)
  group by 1
  having sum(c.change) <> 0
  order by 1
  on conflict on constraint counters_pkey do update set value = k.value + excluded.value;
end
$$;
comment on function mesh.add_to_counters(text[], bigint[]) is
  'Adds each change to the counter at the same place in the array. Step 5 of the lock order.';

create function mesh.counter_of_rule(active boolean) returns text
language sql
immutable
return case when active then 'rules.active' else 'rules.requested' end;
comment on function mesh.counter_of_rule(boolean) is 'The counter that a rule counts in.';

create function mesh.count_rules() returns trigger
language plpgsql
set search_path = ''
as $$
declare
  counters text[] := '{}';
  changes bigint[] := '{}';
begin
  -- An insert has no old rows, and a delete no new rows: these transition tables do not exist.
  if tg_op <> 'INSERT' then
    select counters || array_agg(mesh.counter_of_rule(o.active)), changes || array_agg(-o.rules)
    into counters, changes
    from (select r.active, count(*) as rules from old_rows r group by r.active) o;
  end if;
  if tg_op <> 'DELETE' then
    select counters || array_agg(mesh.counter_of_rule(n.active)), changes || array_agg(n.rules)
    into counters, changes
    from (select r.active, count(*) as rules from new_rows r group by r.active) n;
  end if;
  perform mesh.add_to_counters(counters, changes);
  return null;
end
$$;
comment on function mesh.count_rules() is 'Updates mesh.counters when rules change.';

create trigger inserted_rules_count after insert on mesh.rules
  referencing new table as new_rows
  for each statement execute function mesh.count_rules();
create trigger updated_rules_count after update on mesh.rules
  referencing old table as old_rows new table as new_rows
  for each statement execute function mesh.count_rules();
create trigger deleted_rules_count after delete on mesh.rules
  referencing old table as old_rows
  for each statement execute function mesh.count_rules();

create function mesh.count_psks() returns trigger
language plpgsql
set search_path = ''
as $$
declare
  counters text[] := '{}';
  changes bigint[] := '{}';
begin
  if tg_op <> 'INSERT' then
    select counters || array_agg('psks.' || o.encryption_key_id), changes || array_agg(-o.psks)
    into counters, changes
    from (
      select p.encryption_key_id, count(*) as psks
      from old_rows p
      where p.encryption_key_id is not null
      group by p.encryption_key_id
    ) o;
  end if;
  if tg_op <> 'DELETE' then
    select counters || array_agg('psks.' || n.encryption_key_id), changes || array_agg(n.psks)
    into counters, changes
    from (
      select p.encryption_key_id, count(*) as psks
      from new_rows p
      where p.encryption_key_id is not null
      group by p.encryption_key_id
    ) n;
  end if;
  perform mesh.add_to_counters(counters, changes);
  return null;
end
$$;
comment on function mesh.count_psks() is
  'Updates mesh.counters when PSKs are made, replaced and removed.';

create trigger inserted_psks_count after insert on mesh.pairs
  referencing new table as new_rows
  for each statement execute function mesh.count_psks();
create trigger updated_psks_count after update on mesh.pairs
  referencing old table as old_rows new table as new_rows
  for each statement execute function mesh.count_psks();
create trigger deleted_psks_count after delete on mesh.pairs
  referencing old table as old_rows
  for each statement execute function mesh.count_psks();
