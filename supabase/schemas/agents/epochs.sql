-- The epoch of this database. A restore takes a database back in time, and what it then hands out
-- could coincide with what it handed out before: a position in a feed, a config_version. So every
-- position carries the epoch, and after a restore the operator begins another one (after_restore).

create function agents.new_epoch() returns text
language sql
volatile
-- A version 4 UUID begins with 48 random bits of the server's strong generator. Random, not
-- counted: a counter that was restored twice from one backup would repeat itself.
return left(replace(gen_random_uuid()::text, '-', ''), 12);
comment on function agents.new_epoch() is 'An epoch that no database has had.';

create table agents.epochs (
  only_row boolean primary key default true,
  epoch text collate "C" not null,
  begun_at timestamptz not null default now(),
  first_config_version bigint not null default 0,

  constraint there_is_only_one_row check (only_row),
  constraint epoch_is_well_formed check (epoch ~ '^[0-9a-f]{12}$')
);
comment on table agents.epochs is
  'One row: the present epoch. A restore brings the epoch of the backup back; only after_restore '
  'begins another one.';
comment on column agents.epochs.first_config_version is
  'Where the config_version of an agent begins that has none yet. It may have had one that the '
  'restore lost.';

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
comment on function agents.present_epoch() is 'The epoch that positions carry today.';

create function agents.position_at(place text) returns text
language sql
stable
return agents.present_epoch() || '-' || position_at.place;
comment on function agents.position_at(text) is
  'The position that callers are given for a place in a feed: <epoch>-<place>.';

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
  -- One without an epoch is from before positions had one.
  if split_part(place_of.position_text, '-', 1) <> agents.present_epoch() then
    perform agents.expire_position(place_of.field);
  end if;
  return split_part(place_of.position_text, '-', 2);
end
$$;
comment on function agents.place_of(text, text) is
  'The place in a feed that a position of this epoch stands for; null for null. `field` is the '
  'field of the request that has it. Raises position_expired.';
