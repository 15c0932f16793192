-- The epoch of this database, and the transaction numbers in positions. A restored database could
-- hand out a position in a feed, or a config_version, that it has handed out before. So every
-- position contains the epoch, and after a restore the operator begins a new epoch
-- (agent_api_after_restore).

create function agents.new_epoch() returns text
language sql
volatile
-- A version 4 UUID begins with 48 random bits of the server's strong generator. The epoch is
-- random, because a counter would repeat itself if one backup were restored twice.
return left(replace(gen_random_uuid()::text, '-', ''), 12);
comment on function agents.new_epoch() is 'An epoch that no database has had.';

create table agents.epochs (
  only_row boolean primary key default true,
  epoch text collate "C" not null,
  begun_at timestamptz not null default now(),
  first_config_version bigint not null default 0,
  transaction_offset bigint not null default 0,
  first_version_after timestamptz,

  constraint there_is_only_one_row check (only_row),
  constraint epoch_is_well_formed check (epoch ~ '^[0-9a-f]{12}$')
);
comment on table agents.epochs is
  'One row: the present epoch. A restore brings back the epoch of the backup; only '
  'agent_api_after_restore begins another one.';
comment on column agents.epochs.first_config_version is
  'The first config_version of an agent that has none yet. A restore may have lost a '
  'config_version that the agent had.';
comment on column agents.epochs.first_version_after is
  'Files committed in this epoch get versions above all that were given out before this time; '
  'null: there was no restore.';
comment on column agents.epochs.transaction_offset is
  'What present_transaction adds to the transaction numbers of this cluster. If a dump is restored '
  'into another cluster, its rows have a transaction_id that is in the future there. '
  'agent_api_after_restore raises the offset beyond them.';

insert into agents.epochs (epoch) values (agents.new_epoch());

create function agents.present_epoch() returns text
language plpgsql
stable
set search_path = ''
as $$
begin
  return (select e.epoch from agents.epochs e);
end
$$;
comment on function agents.present_epoch() is 'The current epoch, which positions contain.';

create function agents.number_transaction() returns xid8
language plpgsql
stable
set search_path = ''
as $$
begin
  return set_config(
    'agents.present_transaction',
    -- xid8 has no arithmetic.
    (select (pg_current_xact_id()::text::bigint + e.transaction_offset)::text from agents.epochs e),
    true
  )::xid8;
end
$$;
comment on function agents.number_transaction() is
  'Computes what present_transaction returns, and keeps it in a setting that lasts for the '
  'transaction.';

create function agents.present_transaction() returns xid8
language sql
stable
-- Inlined, so only the first row that a transaction writes costs a call.
return coalesce(
  nullif(current_setting('agents.present_transaction', true), '')::xid8,
  agents.number_transaction()
);
comment on function agents.present_transaction() is
  'The number of this transaction, for columns named transaction_id. It is higher than the number '
  'of every transaction that ended before this one began, even in the cluster that a restored dump '
  'came from.';

create function agents.present_snapshot() returns pg_snapshot
language plpgsql
stable
set search_path = ''
as $$
declare
  snapshot constant pg_snapshot := pg_current_snapshot();
  transaction_offset constant bigint := (select e.transaction_offset from agents.epochs e);
begin
  if transaction_offset = 0 then
    return snapshot;
  end if;
  return format(
    '%s:%s:%s',
    pg_snapshot_xmin(snapshot)::text::bigint + transaction_offset,
    pg_snapshot_xmax(snapshot)::text::bigint + transaction_offset,
    (
      select string_agg((r.id::text::bigint + transaction_offset)::text, ',' order by r.id)
      from pg_snapshot_xip(snapshot) as r (id)
    )
  )::pg_snapshot;
end
$$;
comment on function agents.present_snapshot() is
  'The current snapshot, in the numbers of present_transaction.';

create function agents.horizon() returns xid8
language plpgsql
stable
set search_path = ''
as $$
begin
  return pg_snapshot_xmin(agents.present_snapshot());
end
$$;
comment on function agents.horizon() is
  'The oldest transaction that may still be writing. No transaction with a lower number can still '
  'commit. It stands still while a transaction of any database of the cluster is open that has '
  'written something; replication slots and transactions that only read do not hold it.';

create function agents.open_writers(max_entries integer) returns jsonb
language sql
stable
-- pg_stat_activity shows the sessions of other roles only to members of pg_read_all_stats. The
-- owner, postgres, is one on the platform; service_role is not. This function takes nothing from
-- its caller but a number, and returns no text of a query.
security definer
set search_path = ''
as $$
  select coalesce(jsonb_agg(w.writer order by w.id), '[]')
  from (
    select
      o.id,
      jsonb_build_object(
        'transaction', o.id,
        'pid', s.pid,
        'prepared', p.gid,
        'database', coalesce(s.datname, p.database),
        'role', coalesce(s.usename, p.owner),
        'application_name', s.application_name,
        'state', s.state,
        'seconds', floor(extract(epoch from clock_timestamp() - coalesce(s.xact_start, p.prepared)))
      ) as writer
    from pg_snapshot_xip(pg_current_snapshot()) as o (id)
    left join pg_catalog.pg_stat_activity s on s.backend_xid = o.id::xid
    left join pg_catalog.pg_prepared_xacts p on p.transaction = o.id::xid
    -- Some may have ended since the snapshot.
    where pg_xact_status(o.id) = 'in progress'
    order by o.id
    limit max_entries
  ) w
$$;
comment on function agents.open_writers(integer) is
  'The oldest transactions of the cluster that have written and are still open: [{transaction, '
  'pid | null, prepared | null, database, role, application_name, state, seconds}]. prepared is '
  'the name of a prepared transaction, which has no session. What the owner of this function may '
  'not see is null.';

create function agents.position_at(place text) returns text
language sql
stable
return agents.present_epoch() || '-' || position_at.place;
comment on function agents.position_at(text) is
  'The position that callers get for a place in a feed: <epoch>-<place>.';

create function agents.expire_position(field text) returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  raise sqlstate 'PT422' using
    message = 'position_expired',
    detail = json_build_object('path', expire_position.field);
end
$$;
comment on function agents.expire_position(text) is
  'Refuses the position in this field of the request. Raises position_expired.';

create function agents.place_of(position_text text, field text) returns text
language plpgsql
stable
set search_path = ''
as $$
begin
  -- A position without an epoch, from before positions had one, has expired, too.
  if split_part(place_of.position_text, '-', 1) <> agents.present_epoch() then
    perform agents.expire_position(place_of.field);
  end if;
  return split_part(place_of.position_text, '-', 2);
end
$$;
comment on function agents.place_of(text, text) is
  'The place in a feed that a position of this epoch stands for; null for null. `field` is the '
  'field of the request that contains the position. Raises position_expired.';
