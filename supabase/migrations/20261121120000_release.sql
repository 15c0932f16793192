-- Written by `deno task schema:squash` from supabase/schemas/: edit it there.

-- schemas/agents/agents.sql

-- What both functions share about agents: agent keys, the event log, and the identification of
-- callers.
-- An agent is only an identifier: it exists as soon as something names it.

create schema agents;
comment on schema agents is
  'Agent keys, the event log, and the identification of callers. Not exposed by the API.';

create function agents.own_schemas() returns text[]
language sql
immutable
return array['agents', 'artifacts', 'mesh'];
comment on function agents.own_schemas() is
  'The schemas that contain only this project''s objects. In public, the project has only '
  'functions, whose names begin with agent_api_.';

create function agents.is_agent_id(name text) returns boolean
language sql
immutable
-- Check the length separately: matching {0,127} takes ten times as long, and a request writes many
-- identifiers.
return length(is_agent_id.name) <= 128
  and is_agent_id.name collate "C" ~ '^[A-Za-z0-9][A-Za-z0-9._:@-]*$';
comment on function agents.is_agent_id(text) is 'Whether this can be an agent''s identifier.';

create domain agents.agent_id as text collate "C"
  constraint agent_id_is_well_formed check (agents.is_agent_id(value));
comment on domain agents.agent_id is
  'An agent''s identifier. In byte order (collate "C"), because agents see lists in this order.';

create function agents.iso_timestamp(instant timestamptz) returns text
language sql
stable
-- PostgreSQL resolves the names in an SQL-standard body when it creates the function. So the
-- function needs no search_path, and can be inlined.
return to_char(iso_timestamp.instant at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
comment on function agents.iso_timestamp(timestamptz) is
  'The format of every timestamp in an answer: ISO 8601, UTC, milliseconds, Z.';

create function agents.access_lock(agent_id text) returns bigint
language sql
immutable
return hashtextextended('access of ' || agent_id, 0);
comment on function agents.access_lock(text) is
  'The advisory lock of an agent''s access. The agent''s writes take it in shared mode, and ending '
  'its access takes it exclusively. A transaction takes it before every other lock except '
  'enrolment_lock.';

create function agents.end_access(agent_id text) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform pg_advisory_xact_lock(agents.access_lock(end_access.agent_id));
end
$$;
comment on function agents.end_access(text) is
  'Call this before the first change of a transaction that ends an agent''s keys or its access as '
  'a user: it waits for the agent''s admitted writes, and holds back new ones.';

-- schemas/agents/keys.sql

-- The table of agent keys. key_changes.sql creates and revokes them.

create table agents.keys (
  key_id text collate "C" primary key,
  agent_id agents.agent_id not null,
  key_hash text collate "C" not null,
  label text,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  revoked_at timestamptz,
  enrolment_id text collate "C",
  generation integer,
  instance text collate "C",
  first_used_at timestamptz,
  superseded_at timestamptz,

  constraint key_id_is_well_formed check (
    length(key_id) = 36 and key_id ~ '^key_[0-9a-f]*$'
  ),
  constraint key_hash_is_a_sha256 check (length(key_hash) = 64 and key_hash ~ '^[0-9a-f]*$'),
  constraint key_hash_is_unique unique (key_hash),
  constraint an_enrolled_key_has_an_end_and_a_generation check (
    (enrolment_id is null) = (generation is null)
    and (enrolment_id is null or expires_at is not null)
  ),
  constraint an_instance_has_a_short_name check (
    instance is null
    or enrolment_id is not null and length(instance) <= 64 and instance ~ '^[A-Za-z0-9_-]+$'
  ),
  constraint a_superseded_key_is_revoked check (superseded_at is null or revoked_at is not null)
);
comment on table agents.keys is
  'Agent keys. Only the SHA-256 of a key is stored; the key itself is shown once, when it is '
  'created.';
comment on column agents.keys.enrolment_id is
  'The enrolment that the key came from; null: the operator made it.';
comment on column agents.keys.generation is
  'Which enrolment of the agent, or of this instance, created the key: 1 for the first. Null: the '
  'key is not from an enrolment.';
comment on column agents.keys.instance is
  'Which of several instances of the agent enrolled, if the instance named itself.';
comment on column agents.keys.first_used_at is
  'When a key from an enrolment was first used. Until then, the key of the previous generation '
  'stays live.';
comment on column agents.keys.superseded_at is
  'When a newer generation ended the key. A caller that still uses it gets the error superseded, '
  'not unauthenticated.';

create index keys_by_agent on agents.keys (agent_id);
-- For the sweep, which deletes expired keys from enrolments: a fleet gets new keys as long as it
-- lives.
create index enrolled_keys_by_expiry on agents.keys (expires_at) where enrolment_id is not null;

-- schemas/agents/epochs.sql

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

-- schemas/agents/events.sql

-- The log of events: who changed which access on whom, and when.

create table agents.events (
  event_id bigint generated always as identity primary key,
  transaction_id xid8 not null default agents.present_transaction(),
  occurred_at timestamptz not null default clock_timestamp(),
  actor_kind text not null,
  actor_agent_id agents.agent_id,
  actor_user_id uuid,
  actor_key_id text collate "C",
  action text not null,
  subject_agent_id agents.agent_id,
  other_agent_id agents.agent_id,
  object_id text collate "C",
  details jsonb not null default '{}',
  request_id text,

  constraint actor_kind_is_known check (
    actor_kind in ('agent', 'user', 'operator', 'grant_token', 'enrolment')
  ),
  constraint agents_are_named_when_they_act check (
    (actor_kind in ('agent', 'user')) = (actor_agent_id is not null)
  ),
  constraint users_are_named_when_they_act check ((actor_kind = 'user') = (actor_user_id is not null))
);
comment on table agents.events is
  'Append-only: who changed which access on whom, and when. Written in the transaction of the '
  'change itself. Contains no secrets. Only agent_api_forget_events deletes rows, and only old '
  'ones. Only agent_api_erase_agent changes rows: it replaces a name.';
comment on column agents.events.transaction_id is
  'event_id is not assigned in commit order: a transaction that commits late has lower numbers '
  'than events that were already read. A reader misses nothing if it reads in the order of '
  '(transaction_id, event_id), and only below horizon().';
comment on column agents.events.actor_user_id is
  'The signed-in user who acted as the agent: the sub of the token.';
comment on column agents.events.actor_key_id is
  'The agent key that the agent acted with. Null if no agent key was used.';
comment on column agents.events.object_id is
  'What was acted on: an artifact_id, grant_id or key_id, if there is one.';
comment on column agents.events.subject_agent_id is
  'The agent whose access changed, or whose object was acted on.';
comment on column agents.events.other_agent_id is
  'The second agent that the event concerns, if any: the owner of what was granted, or the other '
  'side of a rule or a pair. Both agents find the event in their feeds.';

create function agents.artifact_of_event(object_id text, details jsonb) returns text
language sql
immutable
return coalesce(details ->> 'artifact_id', case when starts_with(object_id, 'art_') then object_id end)
  collate "C";
comment on function agents.artifact_of_event(text, jsonb) is
  'The artifact that an event is about, wherever the event names it; null: none.';

create index events_by_name on agents.events (((details ->> 'key') collate "C"), event_id)
  where action = 'artifact.registered';
comment on index agents.events_by_name is
  'Finds the artifacts that had a name (`key`), even after their tombstones were deleted. Each '
  'artifact has one entry.';

-- These indexes find the events that concern an agent, that it caused, or that concern an artifact,
-- each in commit order. Old events are found by event_id, which rises with time.
create index events_by_subject on agents.events (subject_agent_id, transaction_id, event_id);
create index events_by_other on agents.events (other_agent_id, transaction_id, event_id)
  where other_agent_id is not null;
create index events_by_actor on agents.events (actor_agent_id, transaction_id, event_id)
  where actor_agent_id <> subject_agent_id;
create index events_by_transaction on agents.events (transaction_id, event_id);
create index events_by_artifact
  on agents.events (agents.artifact_of_event(object_id, details), transaction_id, event_id)
  where agents.artifact_of_event(object_id, details) is not null;

create function agents.refuse_changes_to_events() returns trigger
language plpgsql
set search_path = ''
as $$
begin
  raise exception 'agents.events is append-only' using errcode = '42501';
end
$$;
comment on function agents.refuse_changes_to_events() is
  'Keeps the event log append-only, whatever privileges a role has.';

create trigger events_are_append_only
  before truncate on agents.events
  for each statement execute function agents.refuse_changes_to_events();

create function agents.refuse_removal_of_events() returns trigger
language plpgsql
set search_path = ''
as $$
begin
  if not exists (
      select
      from agents.events e
      where e.subject_agent_id is null
        and e.transaction_id = agents.present_transaction()
        and e.action = 'events.forgotten'
        and (e.details -> 'removed', e.details -> 'first_event_id', e.details -> 'last_event_id') = (
          select to_jsonb(count(*)), to_jsonb(min(r.event_id)), to_jsonb(max(r.event_id)) from removed r
        )
    )
    or exists (select from removed r where r.occurred_at > now() - interval '30 days')
  then
    raise exception 'agents.events is append-only: only agent_api_forget_events removes rows' using errcode = '42501';
  end if;
  return null;
end
$$;
comment on function agents.refuse_removal_of_events() is
  'Refuses to delete rows, whatever privileges a role has, unless they are 30 days old and the '
  'same transaction has written the event that says which rows and how many they are.';

create trigger events_are_forgotten_by_the_rules
  after delete on agents.events
  referencing old table as removed
  for each statement execute function agents.refuse_removal_of_events();

create function agents.find_acting_key(caller jsonb) returns text
language plpgsql
stable
set search_path = ''
as $$
begin
  if find_acting_key.caller ->> 'kind' <> 'agent' or find_acting_key.caller ->> 'key_hash' is null then
    return find_acting_key.caller ->> 'key_id';
  end if;
  return (select k.key_id from agents.keys k where k.key_hash = find_acting_key.caller ->> 'key_hash');
end
$$;
comment on function agents.find_acting_key(jsonb) is
  'What acting_key returns, if this transaction has not authenticated the caller by an agent key.';

create function agents.acting_key(caller jsonb) returns text
language sql
stable
-- Inlined. authenticate has already found the key. A change holds locks when it writes its event,
-- so it should not look the key up again.
return case
  when caller ->> 'kind' = 'agent'
    and split_part(current_setting('agents.acting_key', true), ' ', 1) = caller ->> 'key_hash'
  then split_part(current_setting('agents.acting_key', true), ' ', 2)
  else agents.find_acting_key(caller)
end;
comment on function agents.acting_key(jsonb) is
  'The id of the agent key that a caller used; null: none. For changes and reads that were counted '
  'and are reported later, the caller contains key_id.';

create function agents.record_event(
  caller jsonb,
  caller_agent text,
  action text,
  subject_agent_id text,
  object_id text default null,
  details jsonb default '{}',
  other_agent_id text default null
) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  insert into agents.events (
    actor_kind, actor_agent_id, actor_user_id, actor_key_id, action, subject_agent_id, other_agent_id, object_id,
    details, request_id
  )
  values (
    record_event.caller ->> 'kind',
    record_event.caller_agent,
    (record_event.caller ->> 'user_id')::uuid,
    agents.acting_key(record_event.caller),
    record_event.action,
    record_event.subject_agent_id,
    record_event.other_agent_id,
    record_event.object_id,
    record_event.details,
    record_event.caller ->> 'request_id'
  );
end
$$;
comment on function agents.record_event(jsonb, text, text, text, text, jsonb, text) is
  'Appends to agents.events. caller_agent is what authenticate returned: null for the operator.';

create function agents.held_log() returns jsonb
language plpgsql
stable
set search_path = ''
as $$
declare
  first_held timestamptz;
begin
  select e.occurred_at into first_held
  from agents.events e
  where e.transaction_id >= agents.horizon()
  order by e.transaction_id, e.event_id
  limit 1;
  if not found then
    return null;
  end if;
  return jsonb_build_object(
    'since', agents.iso_timestamp(first_held),
    'seconds', greatest(0, floor(extract(epoch from clock_timestamp() - first_held))),
    'writers', agents.open_writers(5)
  );
end
$$;
comment on function agents.held_log() is
  'If events are committed that no feed shows yet: {since, seconds, writers: what open_writers '
  'returns}. since is when the first of these events happened. Null: there are none.';

-- schemas/agents/reads.sql

-- Repeated reads. A reader's first read of an object writes an event at once. Reads in the minute
-- after it are only counted, in place. The next event of that reader and object reports their
-- number: the first read after the minute writes it, or the sweep if no more reads come. So the log
-- shows a read as soon as reading begins, and counts every read in the end.

create table agents.reads (
  object_id text collate "C" not null,
  reader text collate "C" not null,
  user_id text collate "C" not null default '',
  key_id text collate "C" not null default '',
  actor_kind text not null,
  action text not null,
  subject_agent_id agents.agent_id,
  other_agent_id agents.agent_id,
  details jsonb not null,
  told_at timestamptz not null,
  told_reads bigint not null,
  untold_reads bigint not null default 0,
  reads bigint not null default 1,
  last_read_at timestamptz not null,

  primary key (object_id, reader, user_id, key_id)
)
-- fillfactor leaves room for HOT updates: counting a read changes no indexed column.
with (fillfactor = 50);
comment on table agents.reads is
  'One row per object and recent reader: what their next event will report. The sweep deletes '
  'rows whose minute has passed.';
comment on column agents.reads.reader is
  'The calling agent, or empty for the operator and for a grant token.';
comment on column agents.reads.user_id is
  'The signed-in user who called as that agent, or empty.';
comment on column agents.reads.key_id is
  'The agent key that was used, or empty. Reads with another key of the agent are counted '
  'separately.';
comment on column agents.reads.told_at is 'When the last event about these reads was written.';
comment on column agents.reads.told_reads is 'How many reads that event stands for.';
comment on column agents.reads.untold_reads is 'How many reads came after it.';
comment on column agents.reads.reads is 'How many reads came after the row was created.';

create index reads_by_age on agents.reads (told_at);

create function agents.record_read(
  caller jsonb,
  caller_agent text,
  action text,
  subject_agent_id text,
  object_id text,
  details jsonb default '{}',
  other_agent_id text default null
) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  who constant text := coalesce(record_read.caller_agent, '');
  who_in_person constant text := coalesce(record_read.caller ->> 'user_id', '');
  which_key constant text := coalesce(agents.acting_key(record_read.caller), '');
  read_at constant timestamptz := clock_timestamp();
  minute_began constant timestamptz := read_at - interval '1 minute';
  counts_only constant boolean := pg_current_xact_id_if_assigned() is null;
  reads bigint;
begin
  loop
    update agents.reads r
    set untold_reads = r.untold_reads + 1, reads = r.reads + 1, last_read_at = read_at
    where r.object_id = record_read.object_id
      and r.reader = who
      and r.user_id = who_in_person
      and r.key_id = which_key
      and r.told_at > minute_began;
    if found then
      -- Concurrent reads wait for each other's lock on the row until commit. So a transaction that
      -- only counts does not wait for the disk. A crash of the server may lose the counts of its
      -- last second, but never an event.
      if counts_only then
        perform set_config('synchronous_commit', 'off', true);
      end if;
      return;
    end if;

    insert into agents.reads as r (
      object_id, reader, user_id, key_id, actor_kind, action, subject_agent_id, other_agent_id, details, told_at,
      told_reads, last_read_at
    )
    values (
      record_read.object_id, who, who_in_person, which_key, record_read.caller ->> 'kind', record_read.action,
      record_read.subject_agent_id, record_read.other_agent_id, record_read.details, read_at, 1, read_at
    )
    on conflict on constraint reads_pkey do update
    set told_at = excluded.told_at,
      told_reads = r.untold_reads + 1,
      untold_reads = 0,
      reads = r.reads + 1,
      last_read_at = excluded.last_read_at
    where r.told_at <= minute_began
    returning r.told_reads into reads;
    if found then
      perform agents.record_event(
        record_read.caller, record_read.caller_agent, record_read.action, record_read.subject_agent_id,
        record_read.object_id, record_read.details || jsonb_build_object('reads', reads),
        record_read.other_agent_id
      );
      return;
    end if;
    -- A concurrent read has begun the minute: the next pass counts this one.
  end loop;
end
$$;
comment on function agents.record_read(jsonb, text, text, text, text, jsonb, text) is
  'Like record_event, for reads: at most one event a minute per object, reader and agent key. '
  '`reads` in its details is the number of reads it stands for: this one, and those since the '
  'previous event. Must be the last step of a transaction.';

-- schemas/agents/repeated_changes.sql

-- Changes to the mesh that an agent repeats: endpoints that flip, rules that are put and revoked.
-- The first few changes of the same thing each write an event at once. If the agent goes on, one
-- event a minute reports the latest change and the number of changes. The first change after the
-- minute writes it, or the sweep if the agent has stopped. So no agent can fill the log, and the
-- log still shows the final state of every thing.

create table agents.repeated_changes (
  actor agents.agent_id not null,
  user_id text collate "C" not null default '',
  kind text collate "C" not null,
  subject_agent_id agents.agent_id not null,
  other_agent_id text collate "C" not null default '',
  thing text collate "C" not null default '',
  actor_kind text not null,
  key_id text collate "C",
  action text not null,
  details jsonb not null,
  told_at timestamptz not null,
  told integer not null default 1,
  told_times bigint not null default 1,
  untold bigint not null default 0,
  last_at timestamptz not null,
  due_at timestamptz not null,

  primary key (actor, user_id, kind, subject_agent_id, other_agent_id, thing)
)
-- fillfactor leaves room for HOT updates: after the first counted change of a minute, counting
-- changes no indexed column.
with (fillfactor = 50);
comment on table agents.repeated_changes is
  'One row per actor and thing that it changed within the last hour: what the next event about it '
  'will report.';
comment on column agents.repeated_changes.user_id is
  'The signed-in user who called as the agent, or empty.';
comment on column agents.repeated_changes.kind is 'The prefix of the actions: peer, rule, psk.';
comment on column agents.repeated_changes.thing is
  'Which thing between the two agents, such as `tcp 443`, or empty.';
comment on column agents.repeated_changes.key_id is
  'The agent key of the last change; null: none was used.';
comment on column agents.repeated_changes.action is 'The last change. details belongs to it.';
comment on column agents.repeated_changes.told_at is 'When the last minute began.';
comment on column agents.repeated_changes.told is 'How many events were written in that minute.';
comment on column agents.repeated_changes.told_times is
  'How many changes the last event stands for.';
comment on column agents.repeated_changes.untold is 'How many changes came after that event.';
comment on column agents.repeated_changes.due_at is
  'When the sweep must check the row: a minute after told_at if a change is unreported, otherwise '
  'an hour.';

create index repeated_changes_by_due_time on agents.repeated_changes (due_at);

create function agents.is_same_thing(one agents.repeated_changes, other agents.repeated_changes) returns boolean
language sql
immutable
-- Inlined, so that a query needs one lookup in the primary key.
return (one).actor = (other).actor
  and (one).user_id = (other).user_id
  and (one).kind = (other).kind
  and (one).subject_agent_id = (other).subject_agent_id
  and (one).other_agent_id = (other).other_agent_id
  and (one).thing = (other).thing;
comment on function agents.is_same_thing(agents.repeated_changes, agents.repeated_changes) is
  'Whether two rows are about the same thing, changed by the same actor.';

create table agents.changed_things (
  actor agents.agent_id primary key,
  hour_began_at timestamptz not null,
  things integer not null
)
with (fillfactor = 50);
comment on table agents.changed_things is
  'How many different things an agent has changed in its current hour. The first change after '
  'that hour starts the next one.';

create function agents.count_changed_thing(actor text) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  insert into agents.changed_things as t (actor, hour_began_at, things)
  values (count_changed_thing.actor, now(), 1)
  on conflict on constraint changed_things_pkey do update
  set (hour_began_at, things) = (
    select
      case when is_over then excluded.hour_began_at else t.hour_began_at end,
      case when is_over then 1 else t.things + 1 end
    from (select t.hour_began_at <= now() - interval '1 hour' as is_over) s
  );
end
$$;
comment on function agents.count_changed_thing(text) is
  'Counts a thing that an agent had not changed within the hour.';

create function agents.record_repeated(change agents.repeated_changes, request_id text, more jsonb default '{}')
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform agents.record_event(
    jsonb_build_object(
      'kind', (record_repeated.change).actor_kind,
      'user_id', nullif((record_repeated.change).user_id, ''),
      'key_id', (record_repeated.change).key_id,
      'request_id', record_repeated.request_id
    ),
    (record_repeated.change).actor,
    (record_repeated.change).action,
    (record_repeated.change).subject_agent_id,
    null,
    (record_repeated.change).details || record_repeated.more || case
      when (record_repeated.change).told_times > 1
      then jsonb_build_object('times', (record_repeated.change).told_times)
      else '{}'
    end,
    nullif((record_repeated.change).other_agent_id, '')
  );
end
$$;
comment on function agents.record_repeated(agents.repeated_changes, text, jsonb) is
  'Appends the event that a row must report now. It stands for told_times changes.';

create function agents.record_change(
  caller jsonb,
  caller_agent text,
  action text,
  subject_agent_id text,
  details jsonb default '{}',
  other_agent_id text default null,
  thing text default '',
  max_things integer default 2000
) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  -- Enough to report at once that a thing was created, undone and created again.
  told_at_once constant integer := 5;
  changed_at constant timestamptz := clock_timestamp();
  minute_began constant timestamptz := changed_at - interval '1 minute';
  change agents.repeated_changes;
begin
  if record_change.caller_agent is null then
    -- Every change by the operator writes an event.
    perform agents.record_event(
      record_change.caller, null, record_change.action, record_change.subject_agent_id, null,
      record_change.details, record_change.other_agent_id
    );
    return;
  end if;

  change.actor := record_change.caller_agent;
  change.user_id := coalesce(record_change.caller ->> 'user_id', '');
  change.kind := split_part(record_change.action, '.', 1);
  change.subject_agent_id := record_change.subject_agent_id;
  change.other_agent_id := coalesce(record_change.other_agent_id, '');
  change.thing := record_change.thing;
  -- An agent cannot fill the log with invented names either. After max_things different things
  -- within an hour, changes of further things are reported together, to the agent itself and to the
  -- operator.
  if exists (
    select
    from agents.changed_things t
    where t.actor = change.actor
      and t.things >= record_change.max_things
      and t.hour_began_at > now() - interval '1 hour'
  ) and not exists (
    select from agents.repeated_changes c where agents.is_same_thing(c, change)
  ) then
    change.subject_agent_id := change.actor;
    change.other_agent_id := '';
    change.thing := 'others';
  end if;

  -- An agent's changes to the mesh run one at a time: each has locked the agent.
  insert into agents.repeated_changes as c (
    actor, user_id, kind, subject_agent_id, other_agent_id, thing, actor_kind, key_id, action, details,
    told_at, last_at, due_at
  )
  values (
    change.actor, change.user_id, change.kind, change.subject_agent_id, change.other_agent_id,
    change.thing, record_change.caller ->> 'kind', agents.acting_key(record_change.caller),
    record_change.action, record_change.details,
    changed_at, changed_at, changed_at + interval '1 hour'
  )
  on conflict on constraint repeated_changes_pkey do update
  set action = excluded.action,
    key_id = excluded.key_id,
    details = excluded.details,
    last_at = excluded.last_at,
    (told_at, told, told_times, untold, due_at) = (
      select
        case when s.is_over then excluded.told_at else c.told_at end,
        case
          -- An agent that has not stopped gets one event a minute.
          when s.is_over and c.untold > 0 then told_at_once
          when s.is_over then 1
          else least(c.told + 1, told_at_once)
        end,
        case when s.is_told then c.untold + 1 else c.told_times end,
        case when s.is_told then 0 else c.untold + 1 end,
        case when s.is_told then excluded.due_at else c.told_at + interval '1 minute' end
      from (
        select
          c.told_at <= minute_began as is_over,
          c.told_at <= minute_began or c.told < told_at_once as is_told
      ) s
    )
  returning c.* into change;
  if change.untold = 0 then
    perform agents.record_repeated(change, record_change.caller ->> 'request_id');
    if change.told_at = changed_at and record_change.max_things is not null then
      perform agents.count_changed_thing(change.actor);
    end if;
  end if;
end
$$;
comment on function agents.record_change(jsonb, text, text, text, jsonb, text, text, integer) is
  'Like record_event, for changes to the mesh that an agent may repeat. If an event stands for '
  'more than one change of the thing, `times` in its details says how many. max_things is null if '
  'the agent cannot invent what it changes.';

-- schemas/agents/names/erased_names.sql

-- The names of erased agents, as keyed hashes: an erasure leaves no name, but keeps the agent out.

create table agents.name_secret (
  only_row boolean primary key default true,
  secret bytea not null,

  constraint there_is_only_one_row check (only_row),
  constraint secret_has_32_bytes check (length(secret) = 32)
);
comment on table agents.name_secret is
  'One row: the key of hash_of_name. Random, and never shown.';

-- Two version 4 UUIDs carry 244 random bits of the server's strong generator; no extension is
-- needed.
insert into agents.name_secret (secret)
values (sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

create table agents.erased_names (
  name_hash bytea primary key,
  erased_at timestamptz not null default clock_timestamp(),

  constraint name_hash_is_a_sha256 check (length(name_hash) = 32)
);
comment on table agents.erased_names is
  'Agents that were erased and not readmitted since. They stay out like removed agents, but the '
  'table has only a keyed hash of each name. Without the key, in name_secret, nobody can test which '
  'name a row stands for.';

create function agents.hash_of_name(name text) returns bytea
language plpgsql
stable
set search_path = ''
as $$
begin
  -- Two rounds, so that the hash of a name says nothing about that of a longer one.
  return (
    select sha256(s.secret || sha256(s.secret || convert_to(hash_of_name.name, 'UTF8')))
    from agents.name_secret s
  );
end
$$;
comment on function agents.hash_of_name(text) is
  'A hash of a name that only this database can compute.';

-- schemas/agents/names/names.sql

-- Whose a name is. A name belongs to the way by which its agent first came: the operator, one
-- enrolment, or the project's users. Other ways in are refused until the operator hands the name
-- over (packages/operator/names/).

create table agents.names (
  agent_id agents.agent_id primary key,
  ways text[] collate "C" not null,
  taken_at timestamptz not null default clock_timestamp(),
  held_since xid8,

  constraint there_are_three_ways check (
    array_to_string(ways, ' ') ~ '^((operator|users|enr_[0-9a-f]{32})( |$))*$'
  )
);
comment on table agents.names is
  'The ways by which somebody can become an agent. The row stays as long as anything names the '
  'agent, so that nobody else gets what it had.';
comment on column agents.names.ways is
  'operator, users, or enrolment ids. Empty: the name is being taken over, and nobody can come in.';
comment on column agents.names.held_since is
  'The transaction in which the present holder took the name over from another one, whose events '
  'it does not see; null: there was no other one.';

create function agents.has_way(agent_id text, way text) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return coalesce(
    (
      select has_way.way = any (n.ways)
      from agents.names n
      where n.agent_id = has_way.agent_id
    ),
    false
  );
end
$$;
comment on function agents.has_way(text, text) is
  'Whether a name belongs to a way in. False for a free name.';

create function agents.is_known(agent_id text) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return exists (select from agents.names n where n.agent_id = is_known.agent_id);
end
$$;
comment on function agents.is_known(text) is
  'Whether anybody has had this name, as far as is remembered.';

create function agents.claim_name(agent_id text, way text) returns boolean
language plpgsql
volatile
set search_path = ''
as $$
begin
  if agents.has_way(claim_name.agent_id, claim_name.way) then
    return true;
  end if;
  -- Of two ways that come at the same time, the second waits here until the first has committed.
  insert into agents.names (agent_id, ways)
  values (claim_name.agent_id, array[claim_name.way])
  on conflict do nothing;
  return found or agents.has_way(claim_name.agent_id, claim_name.way);
end
$$;
comment on function agents.claim_name(text, text) is
  'Gives a free name to a way in. Returns whether the name now belongs to that way.';

create function agents.refuse_taken_name(agent_id text) returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  raise sqlstate 'PT409' using
    message = 'agent_name_taken',
    detail = json_build_object('held_by', (
      select case when n.ways = '{}' then 'a take-over that is not finished' else array_to_string(n.ways, ', ') end
      from agents.names n
      where n.agent_id = refuse_taken_name.agent_id
    ));
end
$$;
comment on function agents.refuse_taken_name(text) is
  'Refuses the operator, who learns whose the name is. Raises agent_name_taken.';

create function agents.add_way(agent_id text, way text) returns boolean
language plpgsql
volatile
set search_path = ''
as $$
begin
  if agents.claim_name(add_way.agent_id, add_way.way) then
    return false;
  end if;
  update agents.names n
  -- An agent has one enrolment at a time.
  set ways = array(
    select w from unnest(n.ways) w
    where not (starts_with(add_way.way, 'enr_') and starts_with(w, 'enr_'))
  ) || add_way.way
  where n.agent_id = add_way.agent_id and n.ways <> '{}';
  if not found then
    perform agents.refuse_taken_name(add_way.agent_id);
  end if;
  perform agents.record_event(
    '{"kind": "operator"}', null, 'agent.shared', add_way.agent_id, null,
    jsonb_build_object('way', add_way.way)
  );
  return true;
end
$$;
comment on function agents.add_way(text, text) is
  'Hands a name over to another way in, which then shares it with the others; a free name belongs '
  'to it alone. An enrolment takes the place of an earlier one. Returns whether the name had '
  'another holder. Raises agent_name_taken while the name is being taken over.';

-- schemas/agents/names/removed_agents.sql

-- Agents that the operator removed or erased. A revoked agent key stays revoked, but a signed-in
-- user keeps a token and gets new ones. So the agent's name itself is refused until the operator
-- readmits it.

create table agents.removed_agents (
  agent_id agents.agent_id primary key,
  removed_at timestamptz not null default clock_timestamp()
);
comment on table agents.removed_agents is
  'Agents whose users are refused, whatever their tokens say: one row per agent that was removed '
  'and not readmitted since. Agent keys are not affected.';

create function agents.is_kept_out(agent_id text) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return exists (select from agents.removed_agents r where r.agent_id = is_kept_out.agent_id)
    or exists (
      select from agents.erased_names e where e.name_hash = agents.hash_of_name(is_kept_out.agent_id)
    );
end
$$;
comment on function agents.is_kept_out(text) is
  'Whether an agent was removed or erased, and not readmitted since: nobody can enrol or call as a '
  'user under its name.';

create function agents.agent_of_user(caller jsonb) returns text
language plpgsql
stable
set search_path = ''
as $$
declare
  named constant text := case
    when caller ->> 'kind' = 'user' and (caller ->> 'expires_at')::timestamptz > now()
    then caller ->> 'agent_id'
  end;
begin
  if named is null or agents.is_kept_out(named) then
    return null;
  end if;
  if exists (select from agents.names n where n.agent_id = named and 'users' <> all (n.ways)) then
    raise sqlstate 'PT409' using message = 'agent_name_taken';
  end if;
  return named;
end
$$;
comment on function agents.agent_of_user(jsonb) is
  'The agent that a signed-in user is; null if the caller is not a user, the token has expired, or '
  'the agent was removed or erased. Raises agent_name_taken if the name does not belong to the '
  'project''s users.';

-- schemas/agents/key_changes.sql

-- Only the operator creates and revokes agent keys: by rpc with the secret key, or in SQL.

create function public.agent_api_create_agent_key(
  agent_id text,
  label text default null,
  expires_at timestamptz default null,
  max_live_keys integer default 100,
  share boolean default false
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  -- Two version 4 UUIDs carry 244 random bits of the server's strong generator; no extension is
  -- needed.
  agent_key text := 'ak_' || encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex');
  made agents.keys;
begin
  if agents.is_agent_id(agent_api_create_agent_key.agent_id) is not true then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_id", "message": "Must be 1 to 128 of A-Z a-z 0-9 . _ : @ - and begin with a letter or digit."}]}';
  end if;
  if agent_api_create_agent_key.expires_at <= clock_timestamp() then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "expires_at", "message": "Must lie in the future."}]}';
  end if;

  perform pg_advisory_xact_lock(hashtextextended('keys of ' || agent_api_create_agent_key.agent_id, 0));
  if agent_api_create_agent_key.share then
    perform agents.add_way(agent_api_create_agent_key.agent_id, 'operator');
  end if;
  if not agents.claim_name(agent_api_create_agent_key.agent_id, 'operator') then
    perform agents.refuse_taken_name(agent_api_create_agent_key.agent_id);
  end if;
  if (
    select count(*)
    from agents.keys k
    where k.agent_id = agent_api_create_agent_key.agent_id
      and k.revoked_at is null
      and (k.expires_at is null or k.expires_at > clock_timestamp())
  ) >= agent_api_create_agent_key.max_live_keys then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object('limit', 'agent_keys', 'maximum', agent_api_create_agent_key.max_live_keys);
  end if;

  insert into agents.keys (key_id, agent_id, key_hash, label, expires_at)
  values (
    'key_' || replace(gen_random_uuid()::text, '-', ''),
    agent_api_create_agent_key.agent_id,
    encode(sha256(convert_to(agent_key, 'UTF8')), 'hex'),
    agent_api_create_agent_key.label,
    agent_api_create_agent_key.expires_at
  )
  returning * into made;

  perform agents.record_event('{"kind": "operator"}', null, 'key.created', made.agent_id, made.key_id);

  return json_build_object(
    'key_id', made.key_id,
    'agent_id', made.agent_id,
    'key', agent_key,
    'label', made.label,
    'created_at', agents.iso_timestamp(made.created_at),
    'expires_at', agents.iso_timestamp(made.expires_at)
  );
end
$$;
comment on function public.agent_api_create_agent_key(text, text, timestamptz, integer, boolean) is
  'Creates an agent key and returns it with its id, once: only its hash is stored. An agent may '
  'have up to max_live_keys live keys. With share, the operator joins the ways that the name '
  'belongs to. Raises invalid_request, agent_name_taken, limit_exceeded.';

create function public.agent_api_revoke_agent_key(key_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  revoked agents.keys;
begin
  perform agents.end_access(
    (select k.agent_id from agents.keys k where k.key_id = agent_api_revoke_agent_key.key_id)
  );
  update agents.keys k
  set revoked_at = clock_timestamp()
  where k.key_id = agent_api_revoke_agent_key.key_id and k.revoked_at is null
  returning * into revoked;

  if not found then
    return json_build_object('revoked', 0);
  end if;
  perform agents.record_event('{"kind": "operator"}', null, 'key.revoked', revoked.agent_id, revoked.key_id);
  return json_build_object('revoked', 1);
end
$$;
comment on function public.agent_api_revoke_agent_key(text) is
  'Revokes one agent key. Idempotent: {"revoked": 0} the second time.';

create function public.agent_api_revoke_agent_keys(agent_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  revoked agents.keys;
  revoked_count integer := 0;
begin
  perform agents.end_access(agent_api_revoke_agent_keys.agent_id);
  for revoked in
    update agents.keys k
    set revoked_at = clock_timestamp()
    where k.agent_id = agent_api_revoke_agent_keys.agent_id and k.revoked_at is null
    returning *
  loop
    perform agents.record_event('{"kind": "operator"}', null, 'key.revoked', revoked.agent_id, revoked.key_id);
    revoked_count := revoked_count + 1;
  end loop;
  return json_build_object('revoked', revoked_count);
end
$$;
comment on function public.agent_api_revoke_agent_keys(text) is 'Revokes every live key of an agent.';

-- schemas/agents/tags.sql

-- Tags of agents, by which grants and the policy name many agents at once. They come from the
-- operator and from enrolments, never from a request of the agent. operator/tags.sql sets them.

create function agents.is_tag(name text) returns boolean
language sql
immutable
return length(is_tag.name) <= 67 and is_tag.name collate "C" ~ '^tag:[a-z0-9][a-z0-9-]*$';
comment on function agents.is_tag(text) is 'Whether this can be a tag.';

create domain agents.tag as text collate "C"
  constraint tag_is_well_formed check (agents.is_tag(value));
comment on domain agents.tag is 'A tag of an agent, such as tag:builder.';

create table agents.agent_tags (
  agent_id agents.agent_id not null,
  tag agents.tag not null,
  enrolment_id text collate "C",
  transaction_id xid8 not null default agents.present_transaction(),

  constraint an_agent_has_a_tag_once primary key (agent_id, tag)
);
comment on table agents.agent_tags is 'Which agents have which tags.';
comment on column agents.agent_tags.enrolment_id is
  'The enrolment that gave the tag and can take it away; null: the operator gave it.';
comment on column agents.agent_tags.transaction_id is
  'The transaction that gave the tag. If the snapshot of an earlier read does not include it, the '
  'agent got the tag after that read.';

create index agent_tags_by_tag on agents.agent_tags (tag, agent_id);
create index agent_tags_by_enrolment on agents.agent_tags (enrolment_id, agent_id)
  where enrolment_id is not null;

create function agents.tags_of(agent_id text) returns text[]
language plpgsql
stable
set search_path = ''
as $$
begin
  return (
    select coalesce(array_agg(t.tag::text order by t.tag), '{}')
    from agents.agent_tags t
    where t.agent_id = tags_of.agent_id
  );
end
$$;
comment on function agents.tags_of(text) is 'The tags of an agent, in byte order.';

-- schemas/agents/enrolments.sql

-- Enrolments. Each says which proof of origin gives an agent key, and to which agent. The operator
-- creates them. An enrolment changes only in these ways: its uses are counted, the keys of its
-- issuer are replaced, the operator changes how many agents or bytes it may have, it is revoked, or
-- an erasure replaces a name in it.

create table agents.enrolments (
  enrolment_id text collate "C" primary key,
  kind text not null,
  label text,
  key_hash text collate "C",
  issuer text collate "C",
  audience text collate "C",
  jwks jsonb,
  conditions jsonb,
  agent_id agents.agent_id,
  agent_template text,
  agent_prefix text collate "C",
  tags text[] not null default '{}',
  uses_left integer,
  session_seconds integer not null,
  ephemeral_seconds integer,
  single_use_tokens boolean not null default false,
  max_token_age_seconds integer,
  max_agents integer not null default 1000,
  max_instances integer not null default 1,
  quota_bytes bigint,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz,
  revoked_at timestamptz,

  constraint enrolment_id_is_well_formed check (
    length(enrolment_id) = 36 and enrolment_id ~ '^enr_[0-9a-f]*$'
  ),
  constraint there_are_two_kinds check (
    case kind
      when 'key' then key_hash is not null
        and num_nulls(issuer, audience, jwks, conditions, max_token_age_seconds) = 5
        and num_nonnulls(agent_id, agent_template, agent_prefix) <= 1
        and not single_use_tokens
      when 'trust' then key_hash is null
        and num_nulls(issuer, audience, conditions) = 0
        and num_nonnulls(agent_id, agent_template) = 1
        and num_nulls(agent_prefix, uses_left) = 2
      else false
    end
  ),
  constraint enrolment_key_hash_is_a_sha256 check (
    length(key_hash) = 64 and key_hash ~ '^[0-9a-f]*$'
  ),
  constraint enrolment_key_hash_is_unique unique (key_hash),
  constraint a_trust_has_conditions check (
    jsonb_typeof(conditions) = 'array' and jsonb_array_length(conditions) > 0
  ),
  constraint a_session_lasts_a_minute_to_a_day check (session_seconds between 60 and 86400),
  constraint an_ephemeral_agent_lasts_five_minutes_to_thirty_days check (
    ephemeral_seconds between 300 and 2592000
  ),
  constraint uses_are_counted_down_to_none check (uses_left >= 0),
  -- Each enrolment of another agent counts up to this many.
  constraint an_enrolment_has_up_to_a_hundred_thousand_agents check (
    max_agents between 1 and 100000
  ),
  constraint an_agent_has_up_to_a_hundred_instances check (max_instances between 1 and 100),
  constraint quota_of_an_enrolment_is_not_negative check (quota_bytes >= 0),
  constraint tags_of_an_enrolment_are_few check (cardinality(tags) <= 32)
);
comment on table agents.enrolments is
  'Which proofs of origin give an agent key: an enrolment key (only its SHA-256 is stored), or '
  'tokens of a trusted issuer.';
comment on column agents.enrolments.conditions is
  'The conditions that a token''s claims must meet: [{claim, equals | prefix}].';
comment on column agents.enrolments.agent_template is
  'A template for the agent''s name, with claims in braces. Of an enrolment key: with {agent_name}, '
  'the name that the agent asks for.';
comment on column agents.enrolments.agent_prefix is
  'What the name that an agent asks for must begin with.';
comment on column agents.enrolments.uses_left is
  'How many more times the enrolment can be used; null: any number of times.';
comment on column agents.enrolments.ephemeral_seconds is
  'How long after its last contact the sweep removes an agent; null: never.';

comment on column agents.enrolments.max_agents is
  'How many of its agents may exist at a time. An agent that has ended does not count.';
comment on column agents.enrolments.max_instances is
  'How many instances of one agent may have live keys at a time. With 1, the newest key ends the '
  'others, whatever its instance is called.';
comment on column agents.enrolments.quota_bytes is
  'How many bytes its agents may hold together; 0: any number; null: a multiple of the project''s '
  'quota for one agent.';

create index live_trusts_by_issuer on agents.enrolments (issuer)
  where kind = 'trust' and revoked_at is null;
create index enrolments_by_age on agents.enrolments (created_at, enrolment_id);

create table agents.enrolled_agents (
  agent_id agents.agent_id primary key,
  enrolment_id text collate "C" not null,
  generation integer not null,
  enrolled_at timestamptz not null,
  due_at timestamptz,
  ended_at timestamptz,
  kept_until timestamptz,
  cut smallint not null default 0,

  constraint cut_is_nothing_access_or_grants check (cut between 0 and 2),
  constraint an_agent_came_by_an_enrolment
    foreign key (enrolment_id) references agents.enrolments (enrolment_id)
);
comment on table agents.enrolled_agents is
  'Which agent enrolled with which enrolment. The row stays after the agent has ended, so that the '
  'agent can come back under its name and nobody else gets that name.';
comment on column agents.enrolled_agents.generation is
  'How often the agent has enrolled. If its enrolment allows several instances: how often without '
  'naming one.';
comment on column agents.enrolled_agents.due_at is
  'When the sweep checks whether an ephemeral agent is still in contact; null: not ephemeral.';
comment on column agents.enrolled_agents.ended_at is
  'When its keys last ended because it left, was removed, or its enrolment was revoked; null: the '
  'agent has not ended.';

comment on column agents.enrolled_agents.kept_until is
  'The sweep found that the ended agent had left something. It looks again 30 days after this; '
  'null: it has not looked.';
comment on column agents.enrolled_agents.cut is
  'What a revocation of the enrolment has ended: 0: nothing; 1: peer, rules and tags; 2: the grants '
  'that the agent gave, too, or there were none.';

create index enrolled_agents_by_enrolment on agents.enrolled_agents (enrolment_id, cut, ended_at, agent_id);
create index ephemeral_agents_by_due_time on agents.enrolled_agents (due_at)
  where due_at is not null and ended_at is null;
create index enrolled_agents_by_end on agents.enrolled_agents (greatest(ended_at, kept_until))
  where ended_at is not null;

create table agents.former_holders (
  agent_id agents.agent_id,
  enrolment_id text collate "C" not null,
  taken_in xid8 not null default agents.present_transaction(),

  constraint former_holders_pkey primary key (agent_id, enrolment_id),
  constraint a_former_holder_came_by_an_enrolment
    foreign key (enrolment_id) references agents.enrolments (enrolment_id)
);
comment on table agents.former_holders is
  'From which enrolments another one took an agent. Their later revocation still ends the grants '
  'that the agent had given by then. Each row is a decision of the operator, so there are few.';
comment on column agents.former_holders.taken_in is
  'The transaction of the take-over. Grants of an earlier transaction are from before it. Times '
  'cannot tell, because clocks go back.';

create index former_holders_by_enrolment on agents.former_holders (enrolment_id, agent_id);

create table agents.used_tokens (
  enrolment_id text collate "C" not null,
  token_id text collate "C" not null,
  key_id text collate "C" not null,
  expires_at timestamptz not null,

  constraint a_token_is_used_once primary key (enrolment_id, token_id),
  constraint token_id_is_a_sha256 check (length(token_id) = 64 and token_id ~ '^[0-9a-f]*$')
);
comment on table agents.used_tokens is
  'The tokens that enrolments for single-use tokens have seen, until they expire.';
comment on column agents.used_tokens.token_id is 'The jti of the token, else its SHA-256.';
comment on column agents.used_tokens.key_id is
  'The agent key that the token was exchanged for. Until that key is first used, the same token '
  'can be exchanged again.';

create index used_tokens_by_expiry on agents.used_tokens (expires_at);

create function agents.enrolment_lock(enrolment_id text) returns bigint
language sql
immutable
return hashtextextended('enrolment ' || enrolment_id, 0);
comment on function agents.enrolment_lock(text) is
  'The advisory lock of an enrolment. Enrolling takes it in shared mode, and revoking the '
  'enrolment takes it exclusively. A transaction takes it before any agent''s access_lock.';

create function agents.enrolment_json(enrolment agents.enrolments) returns jsonb
language sql
stable
return jsonb_build_object(
  'enrolment_id', enrolment.enrolment_id,
  'kind', enrolment.kind,
  'label', enrolment.label,
  'issuer', enrolment.issuer,
  'audience', enrolment.audience,
  'jwks', enrolment.jwks,
  'conditions', enrolment.conditions,
  'agent_id', enrolment.agent_id,
  'agent_template', enrolment.agent_template,
  'agent_prefix', enrolment.agent_prefix,
  'tags', enrolment.tags,
  'uses_left', enrolment.uses_left,
  'session_seconds', enrolment.session_seconds,
  'ephemeral_seconds', enrolment.ephemeral_seconds,
  'single_use_tokens', enrolment.single_use_tokens,
  'max_token_age_seconds', enrolment.max_token_age_seconds,
  'max_agents', enrolment.max_agents,
  'max_instances', enrolment.max_instances,
  'quota_bytes', enrolment.quota_bytes,
  'created_at', agents.iso_timestamp(enrolment.created_at),
  'expires_at', agents.iso_timestamp(enrolment.expires_at),
  'revoked_at', agents.iso_timestamp(enrolment.revoked_at)
);
comment on function agents.enrolment_json(agents.enrolments) is
  'An enrolment as the operator sees it, without its key.';

-- schemas/agents/callers.sql

-- Identifies the caller. Every operation takes `caller` as its first argument, so authentication is
-- part of the operation's transaction and costs no extra round trip:
--   {"kind": "agent", "key_hash": "<sha256 of the agent key, hex>", "request_id": "…"}
--   {"kind": "user", "agent_id": "…", "user_id": "<uuid>", "expires_at": "<timestamp>",
--     "request_id": "…"}, which the function reads from a signed-in user's verified token
--   {"kind": "operator", "request_id": "…"}
--   {"kind": "grant_token", "request_id": "…"}, for agent_api_redeem_grant_token alone
--   {"kind": "enrolment", "request_id": "…"}, for enrolments alone, which prove themselves

create function agents.authenticate(caller jsonb) returns text
language plpgsql
stable
set search_path = ''
as $$
declare
  -- A variable: PostgreSQL would evaluate an expression again for each row that it compares.
  presented_hash constant text := case
    when caller ->> 'kind' = 'agent' then caller ->> 'key_hash'
  end;
  caller_agent text;
  caller_key text;
  came_by text;
  is_first_use boolean;
begin
  if caller ->> 'kind' = 'operator' then
    return null;
  end if;

  if caller ->> 'kind' = 'user' then
    caller_agent := agents.agent_of_user(caller);
    if caller_agent is not null
      and not exists (select from agents.names n where n.agent_id = caller_agent)
    then
      perform set_config('response.headers', '[{"x-caller": "first"}]', true);
    end if;
  else
    select k.agent_id, k.key_id, k.enrolment_id, k.first_used_at is null
    into caller_agent, caller_key, came_by, is_first_use
    from agents.keys k
    where k.key_hash = presented_hash
      and k.revoked_at is null
      and (k.expires_at is null or k.expires_at > clock_timestamp());
    if found then
      -- Recorded before anything is done for it: the keys of earlier generations end with the first
      -- use, and an exchange that is repeated before it replaces this key.
      if came_by is not null and is_first_use then
        raise sqlstate 'PT425' using message = 'first_use';
      end if;
      -- The Edge Function reads this header for its log and its counts, and does not pass it on. A
      -- header of PostgREST's answer costs no extra round trip. No agent_id needs escaping.
      perform set_config(
        'response.headers',
        '[{"x-caller": "' || caller_agent || ' ' || caller_key
          || coalesce(' ' || came_by, '') || '"}]',
        true
      ),
      -- For acting_key, in this transaction.
      set_config('agents.acting_key', presented_hash || ' ' || caller_key, true);
    end if;
  end if;

  if caller_agent is null then
    -- If an agent was cloned, the clone with the older key learns why it was refused. So it stops
    -- instead of enrolling again.
    if exists (
      select
      from agents.keys k
      where k.key_hash = presented_hash
        and k.superseded_at is not null
    ) then
      raise sqlstate 'PT401' using message = 'superseded';
    end if;
    raise sqlstate 'PT401' using message = 'unauthenticated';
  end if;
  return caller_agent;
end
$$;
comment on function agents.authenticate(jsonb) is
  'The calling agent''s identifier, or null for the operator. If an agent key identifies the '
  'caller, the answer''s header x-caller is `<agent_id> <key_id>`, followed by the enrolment that '
  'the key is from. Raises first_use for a key from an enrolment that was not used yet: '
  'agent_api_note_first_use must be called, and the request repeated. For the first user of a '
  'name, the header is `first`, and agent_api_note_first_use must be called after it. Raises '
  'agent_name_taken for a user whose name belongs to another way in. Raises superseded for a key '
  'that a newer generation ended. Raises unauthenticated for any other key that is unknown, expired '
  'or revoked, and for a user whose token has expired or whose agent was removed.';

create function agents.require_self(caller_agent text, agent_id text) returns text
language plpgsql
immutable
set search_path = ''
as $$
begin
  if caller_agent <> require_self.agent_id then
    raise sqlstate 'PT403' using message = 'forbidden';
  end if;
  if caller_agent is null and require_self.agent_id is null then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_id", "message": "Required from the operator."}]}';
  end if;
  return coalesce(caller_agent, require_self.agent_id);
end
$$;
comment on function agents.require_self(text, text) is
  'The agent that a request is about: the calling agent, or the one that the operator (whose '
  'caller_agent is null) names. An agent need not name itself. Raises forbidden when an agent '
  'names another, and invalid_request when the operator names nobody.';

create function agents.require_one_of(caller_agent text, one_agent text, other_agent text) returns text
language plpgsql
immutable
set search_path = ''
as $$
begin
  if caller_agent not in (require_one_of.one_agent, require_one_of.other_agent) then
    raise sqlstate 'PT403' using message = 'forbidden';
  end if;
  return caller_agent;
end
$$;
comment on function agents.require_one_of(text, text, text) is
  'The caller_agent, or null for the operator. Raises forbidden for an agent that is neither of '
  'the two.';

create function agents.claim_for_operator(caller_agent text, agent_id text) returns text
language plpgsql
volatile
set search_path = ''
as $$
begin
  if claim_for_operator.caller_agent is null then
    perform agents.claim_name(claim_for_operator.agent_id, 'operator');
  end if;
  return claim_for_operator.agent_id;
end
$$;
comment on function agents.claim_for_operator(text, text) is
  'Returns agent_id. If the operator acts for an agent whose name is free (caller_agent is null), '
  'the name is the operator''s from now on.';

create function agents.subject_of(caller jsonb, agent_id text) returns text
language sql
stable
return agents.require_self(agents.authenticate(caller), agent_id);
comment on function agents.subject_of(jsonb, text) is
  'The agent that a read is about. Raises the errors of authenticate and require_self.';

create function agents.authenticate_operator(caller jsonb) returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  if agents.authenticate(authenticate_operator.caller) is not null then
    raise sqlstate 'PT403' using message = 'forbidden';
  end if;
end
$$;
comment on function agents.authenticate_operator(jsonb) is
  'Lets the operator through. Raises unauthenticated, and forbidden for an agent.';

create function agents.actor_of(caller jsonb) returns text
language plpgsql
stable
set search_path = ''
as $$
declare
  -- A variable: see authenticate.
  presented_hash constant text := actor_of.caller ->> 'key_hash';
begin
  return case actor_of.caller ->> 'kind'
    when 'user' then actor_of.caller ->> 'agent_id'
    when 'agent' then (select k.agent_id from agents.keys k where k.key_hash = presented_hash)
  end;
end
$$;
comment on function agents.actor_of(jsonb) is
  'Who a caller was, even if its key or token has expired or been revoked since. For the later '
  'steps of a request, after the first step authenticated it.';

-- An operation that writes admits its caller before it does anything else. Whatever ends an
-- agent's access waits for the writes that were admitted, and holds back others until it has
-- committed. So a removal finds everything that the agent wrote, and nothing is written after it.

create function agents.admit(caller jsonb) returns text
language plpgsql
volatile
set search_path = ''
as $$
declare
  admitted text;
begin
  -- For the operator, and for an unknown key, this locks nothing.
  perform pg_advisory_xact_lock_shared(agents.access_lock(agents.actor_of(admit.caller)));
  -- A separate statement, so that it sees what was committed while this transaction waited for the
  -- lock.
  admitted := agents.authenticate(admit.caller);
  if admit.caller ->> 'kind' = 'user' and not agents.claim_name(admitted, 'users') then
    raise sqlstate 'PT409' using message = 'agent_name_taken';
  end if;
  return admitted;
end
$$;
comment on function agents.admit(jsonb) is
  'Like authenticate, for an operation that writes: the caller''s access cannot end before the '
  'transaction does. A free name belongs to the users from their first change on.';

create function public.agent_api_describe_caller(caller jsonb) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(agent_api_describe_caller.caller);
  answer json;
begin
  if caller_agent is null then
    return json_build_object(
      'kind', 'operator', 'agent_id', null, 'key_id', null, 'expires_at', null, 'tags', json_build_array()
    );
  end if;
  if agent_api_describe_caller.caller ->> 'kind' = 'user' then
    return json_build_object(
      'kind', 'user',
      'agent_id', caller_agent,
      'key_id', null,
      'expires_at',
      agents.iso_timestamp((agent_api_describe_caller.caller ->> 'expires_at')::timestamptz),
      'tags', to_json(agents.tags_of(caller_agent))
    );
  end if;
  select json_build_object(
    'kind', 'agent',
    'agent_id', k.agent_id,
    'key_id', k.key_id,
    'expires_at', agents.iso_timestamp(k.expires_at),
    'tags', to_json(agents.tags_of(caller_agent))
  ) into answer
  from agents.keys k
  where k.key_hash = agent_api_describe_caller.caller ->> 'key_hash';
  return answer;
end
$$;
comment on function public.agent_api_describe_caller(jsonb) is
  'How the service identifies a caller: {kind, agent_id, key_id, expires_at, tags}. A user has no '
  'key_id, and expires_at is the token''s. Raises unauthenticated.';

create function public.agent_api_check_operator(caller jsonb) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
begin
  perform agents.authenticate_operator(agent_api_check_operator.caller);
  return json_build_object('kind', 'operator');
end
$$;
comment on function public.agent_api_check_operator(jsonb) is
  'Lets the operator through, for operations that need nothing else from the database. Raises '
  'unauthenticated, forbidden.';

create function public.agent_api_check_health() returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select json_build_object('status', 'ok')
$$;
comment on function public.agent_api_check_health() is 'Answers if the database does. /health calls it.';

-- schemas/agents/usage.sql

-- What agents request, and how often they are refused. The functions count in memory; each process
-- writes its counts once a minute (agent_api_record_usage). So the numbers are a minute behind, and
-- approximate: a killed process loses the counts it has not written.

create table agents.key_uses (
  key_id text collate "C" primary key,
  last_used_at timestamptz not null,

  constraint a_use_is_of_a_key foreign key (key_id) references agents.keys (key_id) on delete cascade
)
-- fillfactor leaves room for HOT updates: no index covers the columns that change.
with (fillfactor = 50);
comment on table agents.key_uses is
  'When each agent key was last used, to about a minute. Separate from keys, so that recording a '
  'use is as cheap as possible. A key that was never used has no row.';

create table agents.usage (
  agent_id agents.agent_id not null,
  day date not null,
  requests bigint not null,
  refusals bigint not null,
  artifacts bigint not null,
  bytes bigint not null,
  grants bigint not null,

  primary key (agent_id, day)
);
comment on table agents.usage is
  'One row per agent and day (UTC) on which it sent a request. Refused requests count as '
  'requests, too.';
comment on column agents.usage.refusals is 'The sum of agents.refusals.';
comment on column agents.usage.artifacts is
  'How many artifacts the agent held, committed or superseded, when it was last active that day.';
comment on column agents.usage.bytes is 'The registered bytes of these artifacts.';
comment on column agents.usage.grants is
  'How many grants it had given at that time, including those that ended in the 30 days before.';

create index usage_by_day on agents.usage (day, agent_id);
-- Finds the agents with the most requests. This index prevents HOT updates, which costs little,
-- because rows are written once a minute.
create index usage_by_requests on agents.usage (day, requests);

create table agents.refusals (
  agent_id agents.agent_id not null,
  hour timestamptz not null,
  kind text collate "C" not null,
  count bigint not null,

  primary key (agent_id, hour, kind),
  constraint hour_is_a_full_hour check (hour = date_trunc('hour', hour, 'UTC')),
  constraint kind_is_an_error_code check (kind ~ '^[a-z_]{1,40}$')
)
with (fillfactor = 50);
comment on table agents.refusals is
  'How often an agent was refused: because its key has expired or was revoked (unauthenticated, '
  'superseded), '
  'because something is not its own (forbidden, artifact_not_found, grant_not_found, '
  'peer_not_found), or because it sent too many requests (rate_limited). One row per agent, hour '
  'and kind, so that probing shows but cannot fill the table.';
comment on column agents.refusals.kind is 'The error code.';

create index refusals_by_hour on agents.refusals (hour, agent_id, kind);

create table agents.activity (
  function_name text collate "C" not null,
  kind text collate "C" not null,
  code text collate "C" not null default '',
  count bigint not null,

  primary key (function_name, kind, code),
  constraint activity_is_of_a_function check (function_name in ('agent-artifacts', 'agent-mesh')),
  constraint there_are_four_kinds check (
    kind in ('requests', 'errors', 'upstream_calls', 'upstream_failures')
  ),
  constraint code_is_an_error_code check (
    code ~ '^[a-z_]{1,40}$' and kind = 'errors' or code = '' and kind <> 'errors'
  )
)
with (fillfactor = 50);
comment on table agents.activity is
  'The sum of the counts of all processes of a function. Alerts can use it, because it never '
  'decreases. The counts of a single process begin at 0 again with each new process. A few rows, '
  'never deleted.';
comment on column agents.activity.code is 'The error code, for errors.';

create function agents.add_activity(counts jsonb) returns void
language sql
volatile
set search_path = ''
as $$
  insert into agents.activity as a (function_name, kind, code, count)
  select add_activity.counts ->> 'function_name', n.kind, n.code, n.count
  from (
    select i.key as kind, '' as code, i.value::bigint as count
    from jsonb_each_text(add_activity.counts - array['function_name', 'errors']) i
    union all
    select 'errors', i.key, i.value::bigint
    from jsonb_each_text(coalesce(add_activity.counts -> 'errors', '{}')) i
  ) n
  where n.count > 0
  -- The same order in every process, so that concurrent writes cannot deadlock.
  order by n.kind collate "C", n.code collate "C"
  on conflict on constraint activity_pkey do update set count = a.count + excluded.count
$$;
comment on function agents.add_activity(jsonb) is
  'Adds what one process has counted since it last wrote: {function_name, requests, errors: '
  '{<error code>: <count>}, upstream_calls, upstream_failures}.';

create function agents.activity_of(function_name text) returns json
language sql
stable
set search_path = ''
as $$
  select json_build_object(
    'requests', coalesce(sum(a.count) filter (where a.kind = 'requests'), 0),
    'errors', coalesce(json_object_agg(a.code, a.count) filter (where a.kind = 'errors'), '{}'),
    'upstream_calls', coalesce(sum(a.count) filter (where a.kind = 'upstream_calls'), 0),
    'upstream_failures', coalesce(sum(a.count) filter (where a.kind = 'upstream_failures'), 0)
  )
  from agents.activity a
  where a.function_name = activity_of.function_name
$$;
comment on function agents.activity_of(text) is
  'What all processes of a function have counted: {requests, errors, upstream_calls, '
  'upstream_failures}, as add_activity takes them.';

-- Without keys from enrolments: enrolled agents get their next key by themselves.
create index keys_by_expiry on agents.keys (expires_at)
where revoked_at is null and enrolment_id is null;

create function agents.count_expiring(within interval) returns bigint
language sql
stable
set search_path = ''
as $$
  select count(distinct k.agent_id)
  from (
    select i.agent_id
    from agents.keys i
    where i.revoked_at is null
      and i.enrolment_id is null
      and i.expires_at > now()
      and i.expires_at <= now() + count_expiring.within
    order by i.expires_at
    limit 1000
  ) k
  where not exists (
    select from agents.keys o
    where o.agent_id = k.agent_id
      and o.revoked_at is null
      and (o.expires_at is null or o.expires_at > now() + count_expiring.within)
  )
$$;
comment on function agents.count_expiring(interval) is
  'How many agents will have no live agent key left when this interval has passed. Counts only '
  'agents with a key that expires until then and is not from an enrolment, among the 1000 such '
  'keys that expire first.';

create function agents.reported_uses(entries jsonb)
returns table (key_id text, agent_id text, used_at timestamptz, requests bigint, refusals jsonb)
language sql
stable
set search_path = ''
as $$
  select k.key_id, coalesce(k.agent_id::text collate "C", e.agent_id collate "C"), u.used_at, e.requests,
    e.refusals
  from jsonb_to_recordset(reported_uses.entries)
    as e (key_hash text, agent_id text, seconds_ago double precision, requests bigint, refusals jsonb)
  cross join lateral (
    -- Entries contain an age, so that only the database's clock counts. No process holds counts
    -- back for a day.
    select now() - make_interval(secs => least(greatest(e.seconds_ago, 0), 86400)) as used_at
  ) u
  -- One index lookup per entry. A key that has ended still belongs to an agent.
  left join lateral (
    select i.key_id, i.agent_id from agents.keys i where i.key_hash = e.key_hash limit 1
  ) k on true
  where coalesce(k.agent_id, e.agent_id) is not null
$$;
comment on function agents.reported_uses(jsonb) is
  'The entries of agent_api_record_usage that belong to an agent. Requests with an unknown key are '
  'left out, so that nobody can fill tables without a key.';

create function public.agent_api_forget_usage(
  caller jsonb,
  retention_days integer,
  max_entries integer
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  kept_since timestamptz := now() - make_interval(days => agent_api_forget_usage.retention_days);
  first_day constant date := (kept_since at time zone 'UTC')::date;
  remaining integer;
begin
  perform agents.authenticate_operator(agent_api_forget_usage.caller);

  -- Delete by ctid, which cannot change while the row is locked.
  delete from agents.usage u
  where u.ctid = any (array(
    select d.ctid
    from agents.usage d
    where d.day < first_day
    order by d.day
    limit agent_api_forget_usage.max_entries
    for update skip locked
  ));
  delete from agents.refusals f
  where f.ctid = any (array(
    select d.ctid
    from agents.refusals d
    where d.hour < kept_since
    order by d.hour
    limit agent_api_forget_usage.max_entries
    for update skip locked
  ));

  select count(*) into remaining
  from (
    (select from agents.usage u where u.day < first_day order by u.day limit 1000)
    union all
    (select from agents.refusals f where f.hour < kept_since order by f.hour limit 1000)
  ) later;
  return json_build_object('remaining', remaining);
end
$$;
comment on function public.agent_api_forget_usage(jsonb, integer, integer) is
  'Deletes counts older than the given number of days, at most max_entries rows of each table. '
  'Returns {remaining}, which counts at most a few thousand. Raises forbidden for an agent.';

-- schemas/webhooks/webhooks.sql

-- Webhooks: where the operator wants to be told of events. Every event that a webhook matches adds
-- a row to agents.webhook_deliveries, in the event's own transaction. /webhooks/deliver sends them.

create table agents.webhooks (
  webhook_id text collate "C" primary key,
  url text collate "C" not null,
  label text,
  agent_id agents.agent_id,
  tag agents.tag,
  types text[] collate "C",
  encrypted_secret text collate "C" not null,
  previous_encrypted_secret text collate "C",
  previous_valid_until timestamptz,
  created_at timestamptz not null default now(),
  ended_at timestamptz,
  end_reason text,

  constraint webhook_id_is_well_formed check (webhook_id ~ '^whk_[0-9a-f]{32}$'),
  constraint url_is_http check (url ~ '^https?://[^[:space:]]+$' and length(url) <= 2048),
  constraint label_is_short check (length(label) between 1 and 200),
  constraint agent_or_tag check (num_nonnulls(agent_id, tag) <= 1),
  constraint types_are_named check (cardinality(types) between 1 and 100),
  constraint secret_is_encrypted check (encrypted_secret ~ '^v1\.[0-9a-f]{16}\.[A-Za-z0-9+/=]+$'),
  constraint previous_secret_is_encrypted check (
    previous_encrypted_secret ~ '^v1\.[0-9a-f]{16}\.[A-Za-z0-9+/=]+$'
  ),
  constraint previous_secret_has_an_end check (
    (previous_encrypted_secret is null) = (previous_valid_until is null)
  ),
  constraint ends_have_a_reason check (
    (ended_at is null) = (end_reason is null)
  ),
  constraint end_reason_is_known check (end_reason in ('deleted', 'gone', 'erased'))
);
comment on table agents.webhooks is
  'Where the operator wants to be told of events. An ended one stays until the sweep has deleted '
  'its deliveries.';
comment on column agents.webhooks.url is 'May contain a secret, so it is in no log and no event.';
comment on column agents.webhooks.agent_id is
  'Only events that concern this agent; null: of every agent, or of those with the tag.';
comment on column agents.webhooks.tag is
  'Only events that concern an agent that has this tag when the event is written; null: of every '
  'agent, or of the one that is named.';
comment on column agents.webhooks.types is 'Only events of these types; null: of every type.';
comment on column agents.webhooks.encrypted_secret is
  'Signs the deliveries. Encrypted with a key of PSK_ENCRYPTION_KEYS, as the PSKs are.';
comment on column agents.webhooks.previous_encrypted_secret is
  'The secret before the last rotation. Until previous_valid_until, it also signs.';
comment on column agents.webhooks.previous_valid_until is
  'Until when the previous secret signs; null: there is none.';
comment on column agents.webhooks.ended_at is 'When it ended; null: it has not.';
comment on column agents.webhooks.end_reason is
  'deleted: by the operator; gone: the receiver answered 410; erased: it named an erased agent. '
  'Null: not ended.';

create index webhooks_for_all on agents.webhooks (webhook_id)
  where ended_at is null and agent_id is null and tag is null;
create index webhooks_by_agent on agents.webhooks (agent_id) where agent_id is not null;
create index webhooks_by_tag on agents.webhooks (tag) where tag is not null;
create index ended_webhooks on agents.webhooks (ended_at) where ended_at is not null;
create index webhooks_by_age on agents.webhooks (created_at, webhook_id);

-- No foreign keys: each event would lock the rows of its webhooks.
create table agents.webhook_deliveries (
  webhook_id text collate "C" not null,
  event_id bigint not null,
  message_id text collate "C" not null,
  next_at timestamptz not null default clock_timestamp(),
  leased_until timestamptz,
  attempts integer not null default 0,
  first_attempt_at timestamptz,
  last_status integer,
  last_error text,
  delivered_at timestamptz,
  parked_at timestamptz,
  forget_at timestamptz,

  primary key (webhook_id, event_id),
  constraint webhook_id_is_well_formed check (webhook_id ~ '^whk_[0-9a-f]{32}$'),
  constraint message_id_is_well_formed check (message_id ~ '^evt_[0-9]+(-[0-9a-f]{12})?$'),
  constraint error_is_a_word check (last_error ~ '^[a-z_]{1,40}$'),
  constraint ends_once check (num_nonnulls(delivered_at, parked_at) <= 1),
  constraint what_has_ended_is_forgotten check (
    (num_nonnulls(delivered_at, parked_at) = 1) = (forget_at is not null)
  )
);
comment on table agents.webhook_deliveries is
  'The outbox of webhooks: one row per event and webhook that it concerns. The sweep deletes rows a '
  'day after their delivery, and 30 days after they were parked.';
comment on column agents.webhook_deliveries.message_id is
  'The header webhook-id: evt_ and the number of the event. After a restore, numbers are given out '
  'again. So the ids of later events end in the epoch: receivers drop an id that they have seen.';
comment on column agents.webhook_deliveries.next_at is
  'When it may be sent. While it is being sent: when the lease ends.';
comment on column agents.webhook_deliveries.leased_until is
  'While it is being sent: until when nobody else sends it. Null: it is not being sent.';
comment on column agents.webhook_deliveries.attempts is
  'How often it was sent, or leased to be sent, since it began or was requeued.';
comment on column agents.webhook_deliveries.first_attempt_at is
  'When the attempts began. It is parked if it fails 24 hours later.';
comment on column agents.webhook_deliveries.last_status is
  'The HTTP status of the last attempt; null: there was no answer.';
comment on column agents.webhook_deliveries.last_error is
  'Why the last attempt had no answer that counts, as one word; null: it had one.';
comment on column agents.webhook_deliveries.delivered_at is 'When it arrived; null: it has not.';
comment on column agents.webhook_deliveries.forget_at is
  'When the sweep may delete the row; null: it still waits.';
comment on column agents.webhook_deliveries.parked_at is
  'When it was given up. The operator can requeue it.';

-- Finds what is due, webhook by webhook, whatever else waits or is parked.
create index deliveries_by_due_time on agents.webhook_deliveries (webhook_id, next_at, event_id)
  where forget_at is null;
create index leased_deliveries on agents.webhook_deliveries (webhook_id, leased_until)
  where leased_until is not null;
create index parked_deliveries on agents.webhook_deliveries (webhook_id, event_id)
  where parked_at is not null;
create index deliveries_by_end on agents.webhook_deliveries (forget_at) where forget_at is not null;

create table agents.webhook_kicks (
  only_row boolean primary key default true,
  kicked_at timestamptz not null default '-infinity',
  url_secret text,
  key_secret text,

  constraint there_is_only_one_row check (only_row)
);
comment on table agents.webhook_kicks is
  'One row: when somebody was last told that deliveries wait.';
comment on column agents.webhook_kicks.kicked_at is 'When somebody was last told.';
comment on column agents.webhook_kicks.key_secret is 'As url_secret, for the secret key.';
comment on column agents.webhook_kicks.url_secret is
  'The Vault secrets by which pg_net can call the function; null: the sweep is not scheduled by '
  'agent_api_schedule_sweep.';

insert into agents.webhook_kicks default values;

create function agents.kick_deliveries() returns void
language plpgsql
volatile
-- service_role may not read the Vault on every project. This takes no argument, and sends a fixed
-- request to the project's own function.
security definer
set search_path = ''
as $$
declare
  kick agents.webhook_kicks;
begin
  -- At most once a second, and without waiting for another transaction that does the same: a call
  -- of /webhooks/deliver goes on looking for a while.
  update agents.webhook_kicks k
  set kicked_at = clock_timestamp()
  where k.ctid = any (array(
    select c.ctid
    from agents.webhook_kicks c
    where c.kicked_at < clock_timestamp() - interval '1 second'
      and exists (select from agents.webhooks w where w.ended_at is null)
    for update skip locked
  ))
  returning k.* into kick;
  if not found then
    return;
  end if;
  -- For the local stack.
  notify agent_webhooks;
  if kick.url_secret is not null then
    -- The schemas may be missing. `supabase db lint` checks constant dynamic SQL, so `format` hides
    -- their names until this runs.
    execute format(
      'select %1$I.http_post('
      || 'url := (select decrypted_secret from %2$I.decrypted_secrets where name = $1) '
      || '|| ''/functions/v1/agent-artifacts/webhooks/deliver'', '
      || 'headers := jsonb_build_object(''content-type'', ''application/json'', ''apikey'', '
      || '(select decrypted_secret from %2$I.decrypted_secrets where name = $2)), '
      || 'body := ''{}''::jsonb, timeout_milliseconds := 60000)',
      'net', 'vault'
    ) using kick.url_secret, kick.key_secret;
  end if;
exception when others then
  -- An event must not fail because nobody can be told of it. The schedule of the sweep delivers.
  raise log 'agents.kick_deliveries: %', sqlstate;
end
$$;
comment on function agents.kick_deliveries() is
  'Tells whoever delivers that deliveries wait: pg_net, if the sweep is scheduled with it, and '
  'listeners of the channel agent_webhooks. At most once a second.';

-- schemas/webhooks/queueing.sql

-- The outbox is written in the transaction of the event. Without live webhooks, an event costs one
-- look that finds none.

create function agents.message_id_of(event_id bigint) returns text
language plpgsql
stable
set search_path = ''
as $$
begin
  return 'evt_' || message_id_of.event_id || coalesce(
    (select '-' || e.epoch from agents.epochs e where e.first_version_after is not null), ''
  );
end
$$;
comment on function agents.message_id_of(bigint) is
  'The webhook-id of an event that is written now. See agents.webhook_deliveries.';

create function agents.queue_deliveries() returns trigger
language plpgsql
set search_path = ''
as $$
declare
  concerned constant text[] := array[new.subject_agent_id, new.other_agent_id, new.actor_agent_id];
begin
  -- A statement of its own, whose plan has no parameters: it is made once per session.
  if not exists (select from agents.webhooks w where w.ended_at is null) then
    return null;
  end if;
  if new.action = 'webhook.tested' then
    return null;
  end if;
  insert into agents.webhook_deliveries (webhook_id, event_id, message_id)
  -- A subquery, so that it runs once if a webhook matches, and not at all otherwise.
  select w.webhook_id, new.event_id, (select agents.message_id_of(new.event_id))
  from (
    select a.webhook_id, a.types
    from agents.webhooks a
    where a.ended_at is null and a.agent_id is null and a.tag is null
    union all
    select a.webhook_id, a.types
    from agents.webhooks a
    where a.agent_id = any (concerned) and a.ended_at is null
    union all
    select a.webhook_id, a.types
    from agents.webhooks a
    where a.ended_at is null
      -- Checked first, so that the agents' tags are read only if a webhook has a tag.
      and a.tag is not null
      and a.tag = any (array(select t.tag from agents.agent_tags t where t.agent_id = any (concerned)))
  ) w
  where w.types is null or new.action = any (w.types);
  if found then
    perform agents.kick_deliveries();
  end if;
  return null;
end
$$;
comment on function agents.queue_deliveries() is
  'Adds one delivery for each live webhook that an event concerns. The tags are those of this '
  'moment.';

create trigger events_reach_webhooks
  after insert on agents.events
  for each row execute function agents.queue_deliveries();

-- schemas/webhooks/managing.sql

-- The operator creates, rotates, tests, lists and deletes webhooks. The functions make and encrypt
-- the secrets, because only they have the encryption keys.

create function agents.webhook_json(webhook agents.webhooks) returns jsonb
language sql
stable
return jsonb_build_object(
  'webhook_id', webhook.webhook_id,
  'url', webhook.url,
  'label', webhook.label,
  'agent_id', webhook.agent_id,
  'tag', webhook.tag,
  'types', webhook.types,
  'created_at', agents.iso_timestamp(webhook.created_at),
  'previous_secret_until', case
    when webhook.previous_valid_until > now() then agents.iso_timestamp(webhook.previous_valid_until)
  end,
  'ended_at', agents.iso_timestamp(webhook.ended_at),
  'end_reason', webhook.end_reason
);
comment on function agents.webhook_json(agents.webhooks) is
  'A webhook as the operator sees it, without its secrets.';

create function agents.live_webhook(webhook_id text) returns agents.webhooks
language plpgsql
volatile
set search_path = ''
as $$
declare
  found_webhook agents.webhooks;
begin
  select w.* into found_webhook
  from agents.webhooks w
  where w.webhook_id = live_webhook.webhook_id and w.ended_at is null
  for no key update;
  if not found then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "webhook_id", "message": "No live webhook has this identifier."}]}';
  end if;
  return found_webhook;
end
$$;
comment on function agents.live_webhook(text) is
  'Locks a webhook that has not ended, and returns it. Raises invalid_request.';

create function public.agent_api_create_webhook(caller jsonb, webhook jsonb) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  most_webhooks constant integer := 1000;
  made agents.webhooks;
begin
  perform agents.authenticate_operator(agent_api_create_webhook.caller);
  -- Two calls at once would both count the same webhooks.
  perform pg_advisory_xact_lock(hashtextextended('webhooks', 0));
  if (select count(*) from agents.webhooks w where w.ended_at is null) >= most_webhooks then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object('limit', 'webhooks', 'maximum', most_webhooks);
  end if;
  insert into agents.webhooks (webhook_id, url, label, agent_id, tag, types, encrypted_secret)
  select w.webhook_id, w.url, w.label, w.agent_id, w.tag, w.types, w.encrypted_secret
  from jsonb_to_record(agent_api_create_webhook.webhook) as w (
    webhook_id text,
    url text,
    label text,
    agent_id text,
    tag text,
    types text[],
    encrypted_secret text
  )
  -- A call that got no answer is repeated.
  on conflict on constraint webhooks_pkey do nothing
  returning * into made;
  if not found then
    select w.* into made
    from agents.webhooks w
    where w.webhook_id = agent_api_create_webhook.webhook ->> 'webhook_id';
    return agents.webhook_json(made);
  end if;
  perform agents.record_event(
    agent_api_create_webhook.caller, null, 'webhook.created', null, made.webhook_id
  );
  return agents.webhook_json(made);
end
$$;
comment on function public.agent_api_create_webhook(jsonb, jsonb) is
  'Creates a webhook with these fields: {webhook_id, url, label, agent_id, tag, types, '
  'encrypted_secret}. Returns it without the secret. Raises limit_exceeded, and forbidden for an '
  'agent.';

create function public.agent_api_rotate_webhook(
  caller jsonb,
  webhook_id text,
  encrypted_secret text,
  overlap_seconds integer
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  rotated agents.webhooks;
begin
  perform agents.authenticate_operator(agent_api_rotate_webhook.caller);
  rotated := agents.live_webhook(agent_api_rotate_webhook.webhook_id);
  -- A call that got no answer is repeated.
  if rotated.encrypted_secret = agent_api_rotate_webhook.encrypted_secret then
    return agents.webhook_json(rotated);
  end if;
  update agents.webhooks w
  set previous_encrypted_secret = case
      when agent_api_rotate_webhook.overlap_seconds > 0 then w.encrypted_secret
    end,
    previous_valid_until = case
      when agent_api_rotate_webhook.overlap_seconds > 0
      then now() + make_interval(secs => agent_api_rotate_webhook.overlap_seconds)
    end,
    encrypted_secret = agent_api_rotate_webhook.encrypted_secret
  where w.webhook_id = rotated.webhook_id
  returning w.* into rotated;
  perform agents.record_event(
    agent_api_rotate_webhook.caller, null, 'webhook.rotated', null, rotated.webhook_id
  );
  return agents.webhook_json(rotated);
end
$$;
comment on function public.agent_api_rotate_webhook(jsonb, text, text, integer) is
  'Gives a webhook another secret. For overlap_seconds, deliveries are signed with both; 0: from '
  'now on with the new one alone. A secret from before the previous rotation ends at once. Returns '
  'the webhook. Raises invalid_request, and forbidden for an agent.';

create function agents.end_webhook(webhook_id text, reason text) returns boolean
language plpgsql
volatile
set search_path = ''
as $$
begin
  update agents.webhooks w
  set ended_at = clock_timestamp(), end_reason = end_webhook.reason,
    previous_encrypted_secret = null, previous_valid_until = null
  where w.webhook_id = end_webhook.webhook_id and w.ended_at is null;
  if not found then
    return false;
  end if;
  perform agents.record_event(
    '{"kind": "operator"}', null, 'webhook.ended', null, end_webhook.webhook_id,
    jsonb_build_object('reason', end_webhook.reason)
  );
  return true;
end
$$;
comment on function agents.end_webhook(text, text) is
  'Ends a webhook: nothing more is queued or sent. The sweep deletes its deliveries in steps. False '
  'if it has ended before.';

create function public.agent_api_delete_webhook(webhook_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
  return json_build_object(
    'deleted', agents.end_webhook(agent_api_delete_webhook.webhook_id, 'deleted')::integer
  );
end
$$;
comment on function public.agent_api_delete_webhook(text) is
  'Ends a webhook. Returns {deleted: 1}, or 0 if there is no live one. Deliveries that are being '
  'sent may still arrive.';

create function public.agent_api_test_webhook(webhook_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  tested agents.webhooks := agents.live_webhook(agent_api_test_webhook.webhook_id);
  test_event bigint;
begin
  perform agents.record_event('{"kind": "operator"}', null, 'webhook.tested', null, tested.webhook_id);
  select e.event_id into test_event
  from agents.events e
  where e.transaction_id = agents.present_transaction()
  order by e.transaction_id desc, e.event_id desc
  limit 1;
  insert into agents.webhook_deliveries (webhook_id, event_id, message_id)
  values (tested.webhook_id, test_event, agents.message_id_of(test_event));
  perform agents.kick_deliveries();
  return json_build_object('event_id', 'evt_' || test_event);
end
$$;
comment on function public.agent_api_test_webhook(text) is
  'Writes an event of the type webhook.tested, which only this webhook gets, whatever its filter '
  'is. Returns {event_id}. Raises invalid_request.';

create function public.agent_api_list_webhook_secrets(newest_key_id text, max_entries integer)
returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select coalesce(json_agg(s), '[]')
  from (
    select w.webhook_id, w.encrypted_secret, w.previous_encrypted_secret
    from agents.webhooks w
    where w.ended_at is null
      and (
        split_part(w.encrypted_secret, '.', 2) <> agent_api_list_webhook_secrets.newest_key_id
        or split_part(w.previous_encrypted_secret, '.', 2) <> agent_api_list_webhook_secrets.newest_key_id
      )
    limit agent_api_list_webhook_secrets.max_entries
  ) s
$$;
comment on function public.agent_api_list_webhook_secrets(text, integer) is
  'Some of the live webhooks with a secret that is not encrypted with the newest key: [{webhook_id, '
  'encrypted_secret, previous_encrypted_secret | null}].';

create function public.agent_api_reencrypt_webhook_secrets(secrets jsonb) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  reencrypted_count integer;
begin
  update agents.webhooks w
  set encrypted_secret = s.reencrypted_secret,
    previous_encrypted_secret = s.previous_reencrypted_secret,
    previous_valid_until = case
      when s.previous_reencrypted_secret is not null then w.previous_valid_until
    end
  from jsonb_to_recordset(agent_api_reencrypt_webhook_secrets.secrets) as s (
    webhook_id text,
    encrypted_secret text,
    reencrypted_secret text,
    previous_reencrypted_secret text
  )
  where w.webhook_id = s.webhook_id
    -- It may have been rotated since the caller read it.
    and w.encrypted_secret = s.encrypted_secret;
  get diagnostics reencrypted_count = row_count;
  return json_build_object('reencrypted', reencrypted_count);
end
$$;
comment on function public.agent_api_reencrypt_webhook_secrets(jsonb) is
  'Replaces encrypted secrets: secrets is [{webhook_id, encrypted_secret, reencrypted_secret, '
  'previous_reencrypted_secret | null}], the same secrets encrypted with two keys. Returns how many '
  'webhooks it changed: {reencrypted}.';

-- schemas/webhooks/delivering.sql

-- What /webhooks/deliver does in the database. One call records how earlier attempts ended, and
-- leases the next deliveries. A lease has an end, so a killed worker's deliveries come back.

create function agents.record_outcomes(outcomes jsonb) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  tried_at constant timestamptz := clock_timestamp();
  gone_id text;
begin
  -- In this order, so that two calls cannot deadlock.
  perform
  from (
    select o.webhook_id, o.event_id
    from jsonb_to_recordset(record_outcomes.outcomes) as o (webhook_id text, event_id bigint)
    order by 1, 2
  ) o
  -- `limit 1` forces one index lookup per outcome. The planner does not know their number.
  cross join lateral (
    select
    from agents.webhook_deliveries d
    where d.webhook_id = o.webhook_id and d.event_id = o.event_id
    limit 1
    for update
  ) locked;

  update agents.webhook_deliveries d
  set last_status = o.status,
    last_error = o.error,
    leased_until = null,
    (delivered_at, parked_at, forget_at, next_at) = (
      select
        case when s.is_delivered then tried_at end,
        case when s.is_late then tried_at end,
        case
          when s.is_delivered then tried_at + interval '1 day'
          when s.is_late then tried_at + interval '30 days'
        end,
        -- 10 seconds, doubled with each attempt, at most an hour.
        tried_at + least(
          interval '1 hour', interval '10 seconds' * power(2, least(d.attempts, 20) - 1)
        )
      from (
        select
          o.status between 200 and 299 as is_delivered,
          coalesce(o.status, 0) not between 200 and 299
            and d.first_attempt_at <= tried_at - interval '24 hours' as is_late
      ) s
    )
  from jsonb_to_recordset(record_outcomes.outcomes) as o (
    webhook_id text, event_id bigint, attempt integer, status integer, error text
  )
  cross join lateral (
    select l.ctid as row_id
    from agents.webhook_deliveries l
    where l.webhook_id = o.webhook_id and l.event_id = o.event_id
    limit 1
  ) l
  -- The rows are locked, so their ctid does not change.
  where d.ctid = l.row_id
    and d.forget_at is null
    -- If the lease ended before the attempt, somebody else sends it now. What was delivered is
    -- delivered, whoever did it.
    and (d.attempts = o.attempt or o.status between 200 and 299);

  for gone_id in
    select distinct o.webhook_id
    from jsonb_to_recordset(record_outcomes.outcomes) as o (webhook_id text, status integer)
    where o.status = 410
    order by 1
  loop
    perform agents.end_webhook(gone_id, 'gone');
  end loop;
end
$$;
comment on function agents.record_outcomes(jsonb) is
  'Records how attempts ended: [{webhook_id, event_id, attempt, status | null, error | null}]. Any '
  '2xx is delivered; 410 ends the webhook; anything else is tried again, and parked 24 hours after '
  'the first attempt.';

create function public.agent_api_take_deliveries(
  caller jsonb,
  outcomes jsonb,
  max_entries integer,
  max_per_webhook integer,
  lease_seconds integer
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  taken_at timestamptz;
  lease_ends_at timestamptz;
  candidates text[];
  candidate text;
  webhook agents.webhooks;
  free integer;
  left_over integer := agent_api_take_deliveries.max_entries;
  leased jsonb;
  taken jsonb := jsonb_build_array();
  horizon constant xid8 := agents.horizon();
begin
  perform agents.authenticate_operator(agent_api_take_deliveries.caller);
  if jsonb_array_length(agent_api_take_deliveries.outcomes) > 0 then
    perform agents.record_outcomes(agent_api_take_deliveries.outcomes);
  end if;
  taken_at := clock_timestamp();
  lease_ends_at := taken_at + make_interval(secs => agent_api_take_deliveries.lease_seconds);

  candidates := array(
    select w.webhook_id
    from agents.webhooks w
    -- The webhook whose delivery has waited longest is first, so that none has to wait for ever.
    cross join lateral (
      select d.next_at
      from agents.webhook_deliveries d
      where d.webhook_id = w.webhook_id and d.forget_at is null and d.next_at <= taken_at
      order by d.next_at
      limit 1
    ) due
    where w.ended_at is null
    order by due.next_at
  );
  foreach candidate in array candidates loop
    exit when left_over <= 0;
    -- Another call that takes deliveries of this webhook does not count to the same number.
    select w.* into webhook
    from agents.webhooks w
    where w.webhook_id = candidate and w.ended_at is null
    for no key update skip locked;
    continue when not found;
    -- Each gets its share of a call's places, so that many slow receivers do not take all of them.
    select least(
      agent_api_take_deliveries.max_per_webhook - count(*),
      greatest(1, agent_api_take_deliveries.max_entries / cardinality(candidates))
    )
    into free
    from agents.webhook_deliveries d
    where d.webhook_id = candidate and d.leased_until > taken_at;
    continue when free <= 0;

    with due as materialized (
      select d.event_id
      from agents.webhook_deliveries d
      where d.webhook_id = candidate and d.forget_at is null and d.next_at <= taken_at
      order by d.next_at
      limit least(free, left_over)
      for update skip locked
    ), taken_now as (
      update agents.webhook_deliveries d
      set attempts = d.attempts + 1,
        first_attempt_at = coalesce(d.first_attempt_at, taken_at),
        leased_until = lease_ends_at,
        next_at = lease_ends_at
      where d.webhook_id = candidate and d.event_id = any (array(select u.event_id from due u))
      returning d.event_id, d.message_id, d.attempts
    )
    select jsonb_agg(
      jsonb_build_object(
        'webhook_id', candidate,
        'event_id', t.event_id,
        'message_id', t.message_id,
        'attempt', t.attempts,
        'event', case
          when e.event_id is not null then jsonb_strip_nulls(jsonb_build_object(
            'type', e.action,
            'timestamp', agents.iso_timestamp(e.occurred_at),
            'grant_id', case when starts_with(e.object_id, 'grant_') then e.object_id end,
            'artifact_id', agents.artifact_of_event(e.object_id, e.details),
            'agent_id', e.subject_agent_id,
            -- Before this event, and never beyond the horizon: whoever continues from here misses
            -- nothing.
            'position', agents.position_at(case
              when e.transaction_id < horizon then e.transaction_id || '.' || e.event_id - 1
              else horizon || '.0'
            end)
          ))
        end
      )
      order by t.event_id
    )
    into leased
    from taken_now t
    left join lateral (
      -- `limit 1` forces one index lookup per row.
      select l.* from agents.events l where l.event_id = t.event_id limit 1
    ) e on true;
    continue when leased is null;
    left_over := left_over - jsonb_array_length(leased);
    taken := taken || jsonb_build_array(jsonb_build_object(
      'webhook_id', webhook.webhook_id,
      'url', webhook.url,
      'encrypted_secret', webhook.encrypted_secret,
      'previous_encrypted_secret', case
        when webhook.previous_valid_until > taken_at then webhook.previous_encrypted_secret
      end,
      'deliveries', leased
    ));
  end loop;
  return json_build_object(
    'webhooks', taken,
    'any_live', exists (select from agents.webhooks w where w.ended_at is null)
  );
end
$$;
comment on function public.agent_api_take_deliveries(jsonb, jsonb, integer, integer, integer) is
  'Records outcomes (see agents.record_outcomes), then leases deliveries that are due: at most '
  'max_per_webhook of one webhook at a time, whoever sends them. Returns {webhooks: [{webhook_id, '
  'url, encrypted_secret, previous_encrypted_secret | null, deliveries: [{webhook_id, event_id, '
  'message_id, attempt, event: {type, timestamp, position, agent_id, …} | null}]}], any_live}. event is null '
  'if the log has forgotten it. Raises forbidden for an agent.';

-- schemas/webhooks/deliveries.sql

-- What waits, what was given up and what was delivered, as the operator sees it.

create function agents.delivery_backlog(webhook_id text)
returns table (waiting bigint, parked bigint, waits_since timestamptz)
language sql
stable
begin atomic
  select
    (
      select count(*)
      from (
        select
        from agents.webhook_deliveries d
        where d.webhook_id = delivery_backlog.webhook_id and d.forget_at is null
        -- The order of an index, here and below. Otherwise the planner may read the whole table.
        order by d.next_at
        limit 1000
      ) w
    ),
    (
      select count(*)
      from (
        select
        from agents.webhook_deliveries d
        where d.webhook_id = delivery_backlog.webhook_id and d.parked_at is not null
        order by d.event_id
        limit 1000
      ) p
    ),
    (
      select d.next_at
      from agents.webhook_deliveries d
      where d.webhook_id = delivery_backlog.webhook_id and d.forget_at is null
      order by d.next_at
      limit 1
    );
end;
comment on function agents.delivery_backlog(text) is
  'How many deliveries of a webhook wait and are parked, counted up to 1000 each, and when the '
  'first of them is due.';

create function public.agent_api_list_webhooks(max_entries integer, after text default '') returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  page agents.webhooks[] := array(
    select w
    from agents.webhooks w
    where agent_api_list_webhooks.after = '' or (w.created_at, w.webhook_id) > (
      select l.created_at, l.webhook_id
      from agents.webhooks l
      where l.webhook_id = agent_api_list_webhooks.after
    )
    order by w.created_at, w.webhook_id
    -- Each counts up to 2000 deliveries.
    limit least(agent_api_list_webhooks.max_entries, 100)
  );
begin
  return json_build_object(
    'found', (
      select coalesce(
        json_agg(
          agents.webhook_json(page[p.place]) || jsonb_build_object('waiting', b.waiting, 'parked', b.parked)
          order by p.place
        ),
        '[]'
      )
      from generate_subscripts(page, 1) as p (place)
      cross join agents.delivery_backlog((page[p.place]).webhook_id) b
    ),
    'next', case
      when cardinality(page) = least(agent_api_list_webhooks.max_entries, 100)
      then (page[cardinality(page)]).webhook_id
    end
  );
end
$$;
comment on function public.agent_api_list_webhooks(integer, text) is
  'Webhooks, oldest first, at most 100 per page: {found: [what webhook_json returns, waiting, '
  'parked], next | null}. The counts stop at 1000.';

create function public.agent_api_list_deliveries(
  webhook_id text,
  max_entries integer,
  after text default '',
  state text default 'all'
) returns json
language plpgsql
stable
security invoker
set search_path = ''
-- An index has each order. Otherwise the planner, which does not know how many rows a webhook has,
-- may read and sort all of them.
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  -- The place of the last row of the page before: <event>, or <time>/<event> of what waits.
  after_event constant bigint := nullif(
    split_part(agent_api_list_deliveries.after, '/', case agent_api_list_deliveries.state when 'waiting' then 2 else 1 end),
    ''
  )::bigint;
  after_time constant timestamptz := case
    when agent_api_list_deliveries.state = 'waiting'
    then nullif(split_part(agent_api_list_deliveries.after, '/', 1), '')::timestamptz
  end;
  page agents.webhook_deliveries[];
begin
  case agent_api_list_deliveries.state
    when 'waiting' then
      page := array(
        select d
        from agents.webhook_deliveries d
        where d.webhook_id = agent_api_list_deliveries.webhook_id
          and d.forget_at is null
          and (d.next_at, d.event_id) > (coalesce(after_time, '-infinity'), coalesce(after_event, 0))
        order by d.next_at, d.event_id
        limit agent_api_list_deliveries.max_entries
      );
    when 'parked' then
      page := array(
        select d
        from agents.webhook_deliveries d
        where d.webhook_id = agent_api_list_deliveries.webhook_id
          and d.parked_at is not null
          and d.event_id < coalesce(after_event, 9223372036854775807)
        order by d.event_id desc
        limit agent_api_list_deliveries.max_entries
      );
    else
      page := array(
        select d
        from agents.webhook_deliveries d
        where d.webhook_id = agent_api_list_deliveries.webhook_id
          and d.event_id < coalesce(after_event, 9223372036854775807)
        order by d.event_id desc
        limit agent_api_list_deliveries.max_entries
      );
  end case;
  return json_build_object(
    'found', (
      select coalesce(
        json_agg(
          json_build_object(
            'event_id', 'evt_' || (page[p.place]).event_id,
            'type', e.action,
            'state', case
              when (page[p.place]).delivered_at is not null then 'delivered'
              when (page[p.place]).parked_at is not null then 'parked'
              when (page[p.place]).leased_until > now() then 'sending'
              else 'waiting'
            end,
            'attempts', (page[p.place]).attempts,
            'last_status', (page[p.place]).last_status,
            'last_error', (page[p.place]).last_error,
            'next_at', case
              when (page[p.place]).forget_at is null
              then agents.iso_timestamp((page[p.place]).next_at)
            end,
            'delivered_at', agents.iso_timestamp((page[p.place]).delivered_at),
            'parked_at', agents.iso_timestamp((page[p.place]).parked_at)
          )
          order by p.place
        ),
        '[]'
      )
      from generate_subscripts(page, 1) as p (place)
      -- `limit 1` forces one index lookup per row.
      left join lateral (
        select l.action from agents.events l where l.event_id = (page[p.place]).event_id limit 1
      ) e on true
    ),
    'next', case
      when cardinality(page) = agent_api_list_deliveries.max_entries
      then case agent_api_list_deliveries.state
        when 'waiting' then (page[cardinality(page)]).next_at || '/'
        else ''
      end || (page[cardinality(page)]).event_id
    end
  );
end
$$;
comment on function public.agent_api_list_deliveries(text, integer, text, text) is
  'The deliveries of a webhook: {found: [{event_id, type | null, state, attempts, last_status | '
  'null, last_error | null, next_at | null, delivered_at | null, parked_at | null}], next | null}. '
  'state is waiting, sending, delivered or parked. With the state waiting: those that are due first; '
  'with parked, or all: the newest events first.';

create function public.agent_api_requeue_deliveries(
  webhook_id text,
  event_id bigint default null,
  max_entries integer default 1000
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  webhook agents.webhooks := agents.live_webhook(agent_api_requeue_deliveries.webhook_id);
  requeued_count integer;
begin
  update agents.webhook_deliveries d
  set parked_at = null, forget_at = null, attempts = 0, first_attempt_at = null,
    next_at = clock_timestamp()
  where d.webhook_id = webhook.webhook_id
    and d.event_id = any (array(
      select p.event_id
      from agents.webhook_deliveries p
      where p.webhook_id = webhook.webhook_id
        and p.parked_at is not null
        and p.event_id between coalesce(agent_api_requeue_deliveries.event_id, 0)
          and coalesce(agent_api_requeue_deliveries.event_id, 9223372036854775807)
      order by p.event_id
      limit agent_api_requeue_deliveries.max_entries
      for update skip locked
    ));
  get diagnostics requeued_count = row_count;
  if requeued_count > 0 then
    perform agents.kick_deliveries();
  end if;
  return json_build_object(
    'requeued', requeued_count,
    'remaining', case
      when agent_api_requeue_deliveries.event_id is null
      then (select b.parked from agents.delivery_backlog(webhook.webhook_id) b)
      else 0
    end
  );
end
$$;
comment on function public.agent_api_requeue_deliveries(text, bigint, integer) is
  'Lets the parked deliveries of a webhook, or the one of an event, wait again: their attempts count '
  'from 0, and their 24 hours begin again. Returns {requeued, remaining}, which counts at most a '
  'thousand. Raises invalid_request.';

-- schemas/webhooks/forgetting.sql

-- How the rows of webhooks end, and what /metrics and the doctor tell of them.

create function public.agent_api_forget_deliveries(caller jsonb, max_entries integer) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  ended_id text;
  deleted integer;
  left_over integer := agent_api_forget_deliveries.max_entries;
  remaining integer;
begin
  perform agents.authenticate_operator(agent_api_forget_deliveries.caller);
  delete from agents.webhook_deliveries d
  -- Found by ctid, which cannot change while the row is locked.
  where d.ctid = any (array(
    select o.ctid
    from agents.webhook_deliveries o
    where o.forget_at < now()
    order by o.forget_at
    limit agent_api_forget_deliveries.max_entries
    for update skip locked
  ));
  for ended_id in
    select w.webhook_id
    from agents.webhooks w
    -- A transaction that began before the end may still add a delivery.
    where w.ended_at < now() - interval '1 minute'
      and (
        w.ended_at < now() - interval '30 days'
        or exists (select from agents.webhook_deliveries d where d.webhook_id = w.webhook_id)
      )
    order by w.ended_at
    limit 100
  loop
    delete from agents.webhook_deliveries d
    where d.webhook_id = ended_id
      and d.event_id = any (array(
        select o.event_id
        from agents.webhook_deliveries o
        where o.webhook_id = ended_id
        order by o.event_id
        limit left_over
        for update skip locked
      ));
    get diagnostics deleted = row_count;
    left_over := left_over - deleted;
    exit when left_over <= 0;
    delete from agents.webhooks w
    where w.webhook_id = ended_id
      -- Until then, the operator sees why it ended.
      and w.ended_at < now() - interval '30 days'
      and not exists (select from agents.webhook_deliveries d where d.webhook_id = ended_id);
  end loop;
  select count(*) into remaining
  from (
    (
      select from agents.webhook_deliveries d
      where d.forget_at < now()
      order by d.forget_at
      limit 1000
    )
    union all
    (
      select from agents.webhooks w
      where w.ended_at < now() - interval '1 minute'
        and exists (select from agents.webhook_deliveries d where d.webhook_id = w.webhook_id)
      limit 1000
    )
  ) later;
  return json_build_object('remaining', remaining);
end
$$;
comment on function public.agent_api_forget_deliveries(jsonb, integer) is
  'Deletes deliveries a day after they arrived, and 30 days after they were parked; deliveries of '
  'ended webhooks; and ended webhooks after 30 days. Returns {remaining}, which counts at most a few '
  'thousand. Raises forbidden for an agent.';

create function agents.webhook_backlog() returns jsonb
language plpgsql
stable
set search_path = ''
as $$
begin
  return jsonb_build_object(
    'waiting', (
      select count(*)
      from (
        select
        from agents.webhook_deliveries d
        where d.forget_at is null
        order by d.webhook_id, d.next_at
        limit 1000
      ) w
    ),
    'parked', (
      select count(*)
      from (
        select
        from agents.webhook_deliveries d
        where d.parked_at is not null
        order by d.webhook_id, d.event_id
        limit 1000
      ) p
    ),
    'waits_since', (
      select extract(epoch from min(b.next_at))
      from agents.webhooks w
      cross join lateral (
        select d.next_at
        from agents.webhook_deliveries d
        where d.webhook_id = w.webhook_id and d.forget_at is null
        order by d.next_at
        limit 1
      ) b
      where w.ended_at is null
    )
  );
end
$$;
comment on function agents.webhook_backlog() is
  'Of all webhooks: {waiting, parked, waits_since}. The counts stop at 1000. waits_since is when '
  'the first delivery of a live webhook is or was due, in seconds since 1970, or null.';

-- schemas/artifacts/artifacts.sql

-- Artifacts. An artifact is one immutable content; `key` is a name that can move from one to
-- another.

create schema artifacts;
comment on schema artifacts is
  'Artifacts, their verification, grants and retention. Not exposed by the API.';

create table artifacts.artifacts (
  artifact_id text collate "C",
  agent_id agents.agent_id not null,
  key text collate "C" not null,
  mime text not null,
  size_bytes bigint not null,
  ttl_days integer not null,
  state text collate "C" not null default 'pending',
  sha256 text collate "C",
  created_at timestamptz not null default clock_timestamp(),
  committed_at timestamptz,
  expires_at timestamptz,
  deleted_at timestamptz,
  ended_at timestamptz,
  removed_at timestamptz,
  lost_at timestamptz,
  metadata jsonb,
  version bigint,
  keep_versions integer,
  end_grants boolean not null default false,

  commit_attempts integer not null default 0,
  rejected_attempts integer not null default 0,
  sealed_attempt integer,

  surplus_bytes bigint,
  surplus_seen_at timestamptz,

  -- For nearly every artifact, the sweep and fsck need only these columns: an index-only scan reads
  -- no row.
  primary key (artifact_id) include (sealed_attempt, ended_at),
  constraint artifact_id_is_well_formed check (
    length(artifact_id) = 36 and artifact_id ~ '^art_[0-9a-f]*$'
  ),
  constraint key_has_1_to_1024_bytes check (octet_length(key) between 1 and 1024),
  constraint mime_has_at_most_255_characters check (length(mime) <= 255),
  constraint metadata_is_an_object_of_strings check (
    jsonb_typeof(metadata) = 'object'
    and not jsonb_path_exists(metadata, '$.* ? (@.type() != "string")')
  ),
  constraint versions_are_given_by_commits check (
    version is null or version >= 1 and committed_at is not null
  ),
  constraint keep_versions_is_1_to_1000 check (keep_versions between 1 and 1000),
  constraint size_is_not_negative check (size_bytes >= 0),
  constraint ttl_is_positive check (ttl_days > 0),
  constraint state_is_known check (state in ('pending', 'committed', 'superseded', 'deleted')),
  constraint sha256_is_64_lower_case_hex_digits check (
    length(sha256) = 64 and sha256 ~ '^[0-9a-f]*$'
  ),
  constraint commit_sets_digest_times_and_attempt_together check (
    (sha256 is null or committed_at is not null)
    and (committed_at is null) = (expires_at is null)
    and (committed_at is null) = (sealed_attempt is null)
  ),
  constraint only_what_has_ended_loses_its_digest check (
    sha256 is not null or committed_at is null or deleted_at is not null or ended_at is not null
  ),
  constraint pending_artifacts_are_not_committed check (state <> 'pending' or committed_at is null),
  constraint committed_artifacts_are_committed check (
    state not in ('committed', 'superseded') or committed_at is not null
  ),
  constraint deleted_at_is_set_when_deleted check ((state = 'deleted') = (deleted_at is not null)),
  constraint committed_artifacts_end_after_they_expire check (
    ended_at is null or state not in ('committed', 'superseded') or ended_at > expires_at
  ),
  constraint only_committed_bytes_are_lost check (lost_at is null or committed_at is not null),
  constraint bytes_are_removed_after_the_end check (removed_at is null or ended_at is not null),
  constraint attempts_are_counted_upwards check (
    0 <= rejected_attempts and rejected_attempts <= commit_attempts
    and (sealed_attempt is null or sealed_attempt between 1 and commit_attempts)
  ),
  constraint surplus_is_positive check (surplus_bytes > 0),
  constraint a_surplus_was_seen check ((surplus_bytes is null) = (surplus_seen_at is null))
);
comment on table artifacts.artifacts is
  'One row per artifact. Its state is pending, then committed, then superseded. From each of these '
  'it can become deleted.';
comment on column artifacts.artifacts.sha256 is
  'Null until the commit, and again once the owner was erased.';
comment on column artifacts.artifacts.ended_at is
  'Set by the sweep, permanently, before it removes the bytes: from then on, every operation '
  'refuses the artifact. The row stays as a tombstone.';
comment on column artifacts.artifacts.removed_at is
  'When the sweep found that the bucket has no more objects of an ended artifact.';
comment on column artifacts.artifacts.lost_at is
  'When fsck found that Storage has lost the bytes, or has other bytes; null: neither.';
comment on column artifacts.artifacts.metadata is
  'What the owner registered beside the file, which never changes; null: nothing.';
comment on column artifacts.artifacts.version is
  'Counts the commits under the name, from 1. Null until the commit, and again once the owner was '
  'erased.';
comment on column artifacts.artifacts.keep_versions is
  'How many superseded versions of the name the commit keeps; null: all.';
comment on column artifacts.artifacts.end_grants is
  'Whether keep_versions also ends versions that are granted.';
comment on column artifacts.artifacts.commit_attempts is
  'Attempts to commit so far. Attempt n seals the upload at sealed_path(artifact_id, n).';
comment on column artifacts.artifacts.rejected_attempts is
  'Sealed objects of attempts up to this one were found wrong. They are never used again, even if '
  'they still exist: their removal may be under way.';
comment on column artifacts.artifacts.sealed_attempt is
  'The attempt whose object at sealed_path(artifact_id, sealed_attempt) holds the bytes. Null '
  'until the commit.';
comment on column artifacts.artifacts.surplus_bytes is
  'How many bytes its upload was seen to hold beyond what is allowed; null: none. They count '
  'against the agent. The first sweep that finds none an hour after surplus_seen_at clears the '
  'value. A removal alone does not clear it, because the upload URL accepts more bytes.';

-- The current artifact of each key; also the index that /list walks.
create unique index one_committed_artifact_per_key on artifacts.artifacts (agent_id, key)
  where state = 'committed' and ended_at is null;

create function artifacts.current_artifact(agent_id text, key text) returns artifacts.artifacts
language plpgsql
stable
set search_path = ''
as $$
begin
  return (
    select a
    from artifacts.artifacts a
    where a.agent_id = current_artifact.agent_id
      and a.key = current_artifact.key
      and a.state = 'committed'
      and a.ended_at is null
  );
end
$$;
comment on function artifacts.current_artifact(text, text) is
  'The artifact that an agent''s `key` names now, even if it has expired; null: none.';

create function artifacts.content_json(artifact artifacts.artifacts) returns jsonb
language sql
stable
return jsonb_build_object(
  'artifact_id', artifact.artifact_id,
  'key', artifact.key,
  'mime', artifact.mime,
  'size', artifact.size_bytes,
  'sha256', artifact.sha256,
  'version', artifact.version,
  'metadata', coalesce(artifact.metadata, '{}')
);
comment on function artifacts.content_json(artifacts.artifacts) is
  'What everybody who may have the bytes sees of an artifact: in the artifact object, in an inbox '
  'entry, and in the answer of /open and /fetch.';

create function artifacts.artifact_json(artifact artifacts.artifacts) returns json
language sql
stable
return (
  artifacts.content_json(artifact) || jsonb_build_object(
    'agent_id', artifact.agent_id,
    'ttl_days', artifact.ttl_days,
    'state', artifact.state,
    'created_at', agents.iso_timestamp(artifact.created_at),
    'committed_at', agents.iso_timestamp(artifact.committed_at),
    'expires_at', agents.iso_timestamp(artifact.expires_at)
  )
)::json;
comment on function artifacts.artifact_json(artifacts.artifacts) is
  'The artifact object of the wire contract.';

create function artifacts.refuse_ended(artifact artifacts.artifacts) returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  if (refuse_ended.artifact).ended_at is not null
    or (refuse_ended.artifact).state = 'deleted'
    or (refuse_ended.artifact).expires_at <= clock_timestamp()
  then
    raise sqlstate 'PT410' using message = 'artifact_expired';
  end if;
end
$$;
comment on function artifacts.refuse_ended(artifacts.artifacts) is
  'Raises artifact_expired for an artifact that has expired, was deleted, or was ended by the '
  'sweep.';

create function artifacts.refuse_lost(artifact artifacts.artifacts) returns void
language plpgsql
immutable
set search_path = ''
as $$
begin
  if (refuse_lost.artifact).lost_at is not null then
    raise sqlstate 'PT410' using message = 'artifact_lost';
  end if;
end
$$;
comment on function artifacts.refuse_lost(artifacts.artifacts) is
  'Raises artifact_lost for an artifact whose bytes Storage has lost.';

create function artifacts.owner_of(artifact_id text) returns text
language plpgsql
stable
set search_path = ''
as $$
begin
  return (select a.agent_id from artifacts.artifacts a where a.artifact_id = owner_of.artifact_id);
end
$$;
comment on function artifacts.owner_of(text) is
  'The agent that an artifact belongs to, which never changes; null: there is no such artifact.';

create function artifacts.lock_owned_artifact(caller_agent text, artifact_id text) returns artifacts.artifacts
language plpgsql
volatile
set search_path = ''
as $$
declare
  artifact artifacts.artifacts;
begin
  select a.* into artifact
  from artifacts.artifacts a
  where a.artifact_id = lock_owned_artifact.artifact_id
    and (lock_owned_artifact.caller_agent is null or a.agent_id = lock_owned_artifact.caller_agent)
  for update;

  if not found then
    raise sqlstate 'PT404' using message = 'artifact_not_found';
  end if;
  return artifact;
end
$$;
comment on function artifacts.lock_owned_artifact(text, text) is
  'The artifact, locked, if it belongs to the caller (null: the operator). Raises '
  'artifact_not_found, also if the artifact belongs to somebody else.';

-- schemas/artifacts/listing.sql

-- Listing artifacts: the current ones of an agent, page by page.

create function public.agent_api_list_artifacts(
  caller jsonb,
  agent_id text,
  prefix text,
  max_entries integer,
  after_key text
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  subject text := agents.subject_of(agent_api_list_artifacts.caller, agent_api_list_artifacts.agent_id);
  -- In byte order, exactly the keys with this prefix lie between the prefix and last_key. A key has
  -- at most 1024 bytes, which is 256 of the longest characters.
  last_key text collate "C" := agent_api_list_artifacts.prefix || repeat(U&'\+10FFFF', 256);
  -- An upper limit on the artifacts that one page reads, so that expired ones that wait for the
  -- sweep cannot slow it down.
  entries_per_page constant integer := agent_api_list_artifacts.max_entries + 1000;
  answer json;
begin
  with walked as (
    select a as artifact, a.key, a.expires_at > now() as is_live
    from artifacts.artifacts a
    where a.agent_id = subject
      and a.state = 'committed'
      and a.ended_at is null
      and a.key >= agent_api_list_artifacts.prefix
      and a.key <= last_key
      and a.key > coalesce(agent_api_list_artifacts.after_key, '')
    order by a.key
    limit entries_per_page
  ), listed as (
    select w.artifact, w.key
    from walked w
    where w.is_live
    order by w.key
    -- One more than asked for tells whether there is a next page.
    limit agent_api_list_artifacts.max_entries + 1
  ), page as (
    select l.artifact, l.key from listed l order by l.key limit agent_api_list_artifacts.max_entries
  )
  select json_build_object(
    'artifacts', (
      select coalesce(json_agg(artifacts.artifact_json(p.artifact) order by p.key), '[]') from page p
    ),
    'last_key', case
      when (select count(*) from listed) > agent_api_list_artifacts.max_entries then (select max(p.key) from page p)
      when (select count(*) from walked) = entries_per_page then (select max(w.key) from walked w)
    end
  ) into answer;
  return answer;
end
$$;
comment on function public.agent_api_list_artifacts(jsonb, text, text, integer, text) is
  'The current artifacts of an agent under a prefix, in byte order of `key`, after after_key. If '
  'last_key is not null, the next page begins after it. A page may be short or empty before the '
  'last. Raises forbidden, invalid_request.';

-- schemas/artifacts/grants.sql

-- Grants: access of one agent, of every agent with a tag, or of anyone with the token, to one
-- artifact, until the grant expires or is revoked.

create function artifacts.grantee(to_agent text, to_tag text) returns text
language sql
immutable
-- `#` is needed, because an agent may also be called tag:builder. No agent's identifier begins with
-- `#`.
return coalesce(to_agent, '#' || to_tag) collate "C";
comment on function artifacts.grantee(text, text) is
  'The grantee''s name in the indexes: an agent, or `#` and a tag. Null: the grant is to neither.';

create table artifacts.grants (
  grant_id text collate "C" primary key,
  artifact_id text collate "C" not null references artifacts.artifacts (artifact_id) on delete cascade,
  from_agent agents.agent_id not null,
  to_agent agents.agent_id,
  to_tag agents.tag,
  -- Early in the row, because it is read for each live grant of an artifact. The same as
  -- artifacts.grantee, but a call would be inlined again by every insert, which takes longer than
  -- the rest of the column.
  grantee text collate "C" generated always as (coalesce(to_agent, '#' || to_tag)) stored,
  token_hash text collate "C" not null,
  granted_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  revoked_at timestamptz,
  transaction_id xid8 not null default agents.present_transaction(),
  standing_id text collate "C",
  live_until timestamptz not null generated always as (least(expires_at, revoked_at)) stored,

  constraint a_grant_is_to_an_agent_or_to_a_tag check (to_agent is null or to_tag is null),
  constraint grant_id_is_well_formed check (
    length(grant_id) = 38 and grant_id ~ '^grant_[0-9a-f]*$'
  ),
  constraint standing_id_is_well_formed check (
    length(standing_id) = 41 and standing_id ~ '^standing_[0-9a-f]*$'
  ),
  constraint token_hash_is_a_sha256 check (length(token_hash) = 64 and token_hash ~ '^[0-9a-f]*$'),
  constraint token_hash_is_unique unique (token_hash)
);
comment on table artifacts.grants is
  'Access of one agent, or of every agent with a tag, to one artifact until expires_at. Only the '
  'SHA-256 of the grant token is stored.';
comment on column artifacts.grants.to_agent is
  'Null, with to_tag null: anyone with the token has access, and no agent has access with its '
  'agent key.';
comment on column artifacts.grants.to_tag is
  'Every agent that has this tag at the moment of its request has access.';
comment on column artifacts.grants.grantee is 'The agent or the tag, for the indexes.';
comment on column artifacts.grants.from_agent is 'The owner of the artifact, which never changes.';
comment on column artifacts.grants.standing_id is
  'The standing grant that made the grant, which may have been deleted since; null: none.';
comment on column artifacts.grants.live_until is
  'When the grant expires or was revoked. Rows of ended grants stay for 30 days; an index on this '
  'column skips them.';

create index grants_by_artifact on artifacts.grants (artifact_id, live_until) include (grantee);
-- The indexes by grantee leave out grants to anyone with the token.
create index grants_by_grantee on artifacts.grants (grantee, live_until, grant_id)
  where grantee is not null;
-- Read backwards, this is the order of /inbox.
create index unrevoked_grants_by_grantee on artifacts.grants (grantee, granted_at, grant_id)
  where revoked_at is null and grantee is not null;
-- These two indexes find what was granted since an inbox was last read, and what one agent granted
-- to another.
create index grants_by_grantee_and_transaction on artifacts.grants (grantee, transaction_id)
  where grantee is not null;
create index grants_by_grantee_and_granter on artifacts.grants (grantee, from_agent, live_until)
  where grantee is not null;
-- The order of /grants.
create index grants_by_granter on artifacts.grants (from_agent, live_until, grant_id);
-- With grant_id, because very many grants may end at one instant.
create index grants_by_end on artifacts.grants (live_until, grant_id);

comment on column artifacts.grants.transaction_id is
  'The transaction that made the grant. If the snapshot of an earlier read does not include it, '
  'the grant was made after that read. Times cannot tell, because grants are not committed in the '
  'order of granted_at.';

create function artifacts.tag_of_grant(given artifacts.grants) returns jsonb
language sql
stable
-- Inlined.
return case
  when given.to_tag is null then jsonb '{}' else jsonb_build_object('to_tag', given.to_tag)
end;
comment on function artifacts.tag_of_grant(artifacts.grants) is
  '{to_tag} for a grant to a tag, and {} for any other. Answers about grants include it.';

create function artifacts.granted_json(given artifacts.grants) returns jsonb
language sql
stable
-- Inlined.
return jsonb_build_object(
  'grant_id', given.grant_id,
  'artifact_id', given.artifact_id,
  'to_agent', given.to_agent,
  'expires_at', agents.iso_timestamp(given.expires_at)
) || artifacts.tag_of_grant(given);
comment on function artifacts.granted_json(artifacts.grants) is 'What /grant answers.';

create function artifacts.live_grants(artifact_id text, instant timestamptz)
returns table (grant_id text, grantee text, to_tag text, live_until timestamptz)
language sql
stable
begin atomic
  select g.grant_id, g.grantee, g.to_tag::text, g.live_until
  from artifacts.grants g
  -- One range of grants_by_artifact. Row comparisons keep the planner from using another index: for
  -- a condition on live_until alone, it might choose grants_by_end, which has the grants of all
  -- artifacts.
  where (g.artifact_id, g.live_until) > (live_grants.artifact_id, live_grants.instant)
    and (g.artifact_id, g.live_until) <= (live_grants.artifact_id, timestamptz 'infinity')
    -- What was revoked stays so if the clock goes back to before that.
    and g.revoked_at is null
  -- `offset 0` makes the planner apply further conditions of the caller to these few rows, and not
  -- search another index for them.
  offset 0;
end;
comment on function artifacts.live_grants(text, timestamptz) is
  'The few grants of an artifact that are live after a given time. That time must be a variable: '
  'clock_timestamp() is volatile, so PostgreSQL does not use an index for it.';

create function artifacts.is_granted(artifact_id text, agent_id text, instant timestamptz) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  -- Not `exists`: for the first row alone, the planner would read the whole table.
  return (
    select count(*) > 0
    from artifacts.live_grants(is_granted.artifact_id, is_granted.instant) g
    where g.grantee = is_granted.agent_id
      or g.to_tag is not null and g.to_tag in (
        select t.tag from agents.agent_tags t where t.agent_id = is_granted.agent_id
      )
  );
end
$$;
comment on function artifacts.is_granted(text, text, timestamptz) is
  'Whether an agent, or a tag of it, has a grant of an artifact that is live after a given time. '
  'Its downloads may be used up.';

-- schemas/artifacts/names.sql

-- Names that look the same: Unicode has several spellings of one text, such as `é` as one character
-- or as `e` and an accent. A file from a Mac often has another spelling than the one that is typed.

-- A hash, because a normalized name may be too long for an index. Only names that are not ASCII
-- have another spelling.
create index artifacts_by_composed_name
  on artifacts.artifacts (agent_id, hashtextextended(normalize(key, nfc), 0))
  where state = 'committed' and ended_at is null and octet_length(key) > char_length(key);

create function artifacts.named_artifact(agent_id text, key text, caller_agent text)
returns artifacts.artifacts
language plpgsql
stable
set search_path = ''
as $$
declare
  exact artifacts.artifacts := artifacts.current_artifact(named_artifact.agent_id, named_artifact.key);
  instant timestamptz := clock_timestamp();
  is_own boolean := named_artifact.caller_agent is not distinct from named_artifact.agent_id
    or named_artifact.caller_agent is null;
  same_looking text[];
  artifact artifacts.artifacts;
begin
  if octet_length(named_artifact.key) = char_length(named_artifact.key)
    or (exact.artifact_id is not null
      and (is_own or artifacts.is_granted(exact.artifact_id, named_artifact.caller_agent, instant)))
  then
    return exact;
  end if;

  select array_agg(named.artifact_id order by named.artifact_id) into same_looking
  from (
    select a.artifact_id
    from artifacts.artifacts a
    where a.agent_id = named_artifact.agent_id
      and a.state = 'committed'
      and a.ended_at is null
      and octet_length(a.key) > char_length(a.key)
      and hashtextextended(normalize(a.key, nfc), 0)
        = hashtextextended(normalize(named_artifact.key, nfc), 0)
      and normalize(a.key, nfc) = normalize(named_artifact.key, nfc)
      and a.key <> named_artifact.key
      and a.expires_at > instant
      -- What the caller cannot open must not change the answer.
      and (is_own or artifacts.is_granted(a.artifact_id, named_artifact.caller_agent, instant))
    limit 10
  ) named;

  if cardinality(same_looking) > 1 then
    raise sqlstate 'PT404' using
      message = 'artifact_not_found',
      detail = json_build_object('same_looking', to_json(same_looking)),
      hint = format(
        'Several files have names that look like this one, in other Unicode spellings. Use the id of one: %s.',
        array_to_string(same_looking, ', ')
      );
  end if;
  if same_looking is null then
    return exact;
  end if;
  select a.* into artifact from artifacts.artifacts a where a.artifact_id = same_looking[1];
  return artifact;
end
$$;
comment on function artifacts.named_artifact(text, text, text) is
  'The artifact that an agent''s `key` names for a caller (null: the operator): the one of exactly '
  'this name or, if the caller can open none, the only one whose name is another Unicode spelling '
  'of it. Null: none. Only for reads: nothing is written under a name that was not given exactly. '
  'Raises artifact_not_found if several other spellings exist.';

-- schemas/artifacts/totals.sql

-- What each agent holds, updated with every change. Limits, metrics and the operator's commands
-- read it, so none of them has to count.

create table artifacts.totals (
  agent_id agents.agent_id primary key,
  pending bigint not null default 0,
  committed bigint not null default 0,
  superseded bigint not null default 0,
  pending_bytes bigint not null default 0,
  committed_bytes bigint not null default 0,
  superseded_bytes bigint not null default 0,
  grants bigint not null default 0,
  surplus_bytes bigint not null default 0,
  enrolment_id text collate "C"
)
-- fillfactor leaves room for HOT updates: no index covers the columns that change.
with (fillfactor = 50);
comment on table artifacts.totals is
  'One row per agent that ever registered an artifact: how many it holds in each state, and their '
  'registered bytes, until they are deleted or the sweep ends them; how many of its grants have a '
  'row, including those that ended in the last 30 days; and what it has uploaded beyond the '
  'registered size.';
comment on column artifacts.totals.enrolment_id is
  'For which enrolment the bytes count; empty: none; null until the transaction that adds the row '
  'has looked (count_for_enrolment).';

-- A separate type, because code that builds a row of artifacts.totals itself, by a cast or as a
-- function's result, fails as soon as the table gets another column.
create type artifacts.share as (
  agent_id agents.agent_id,
  pending bigint,
  committed bigint,
  superseded bigint,
  pending_bytes bigint,
  committed_bytes bigint,
  superseded_bytes bigint,
  grants bigint,
  surplus_bytes bigint
);
comment on type artifacts.share is
  'What some rows of an agent add to artifacts.totals; negative: what they take away.';

create function artifacts.count_totals(agent_id text) returns artifacts.share
language sql
stable
set search_path = ''
as $$
  select count_totals.agent_id,
    count(*) filter (where a.state = 'pending'),
    count(*) filter (where a.state = 'committed'),
    count(*) filter (where a.state = 'superseded'),
    coalesce(sum(a.size_bytes) filter (where a.state = 'pending'), 0)::bigint,
    coalesce(sum(a.size_bytes) filter (where a.state = 'committed'), 0)::bigint,
    coalesce(sum(a.size_bytes) filter (where a.state = 'superseded'), 0)::bigint,
    (select count(*) from artifacts.grants g where g.from_agent = count_totals.agent_id),
    (
      select coalesce(sum(s.surplus_bytes), 0)::bigint
      from artifacts.artifacts s
      where s.agent_id = count_totals.agent_id and s.surplus_bytes is not null
    )
  from artifacts.artifacts a
  where a.agent_id = count_totals.agent_id and a.state <> 'deleted' and a.ended_at is null
$$;
comment on function artifacts.count_totals(text) is
  'What an agent''s totals should be. It reads all of its rows: for fsck and for tests.';

create function artifacts.kept_share(totals artifacts.totals) returns artifacts.share
language sql
immutable
return case
  when totals.agent_id is not null then row(
    totals.agent_id, totals.pending, totals.committed, totals.superseded, totals.pending_bytes,
    totals.committed_bytes, totals.superseded_bytes, totals.grants, totals.surplus_bytes
  )::artifacts.share
end;
comment on function artifacts.kept_share(artifacts.totals) is
  'An agent''s stored totals, to compare with the sum of its rows.';

create table artifacts.project_totals (
  shard integer primary key,
  pending bigint not null,
  committed bigint not null,
  superseded bigint not null,
  pending_bytes bigint not null,
  committed_bytes bigint not null,
  superseded_bytes bigint not null,
  grants bigint not null,
  surplus_bytes bigint not null
)
with (fillfactor = 10);
comment on table artifacts.project_totals is
  'The sum of artifacts.totals, in shards: only the sum of all rows is what the project holds. '
  'Each connection adds to a separate row, so that agents do not wait for each other.';

create function artifacts.shard() returns integer
language sql
volatile
return case
  -- A transaction under lock_sweep changes one agent's totals after another, and keeps its row here
  -- locked meanwhile. So it uses a separate row: no other transaction that holds totals may wait
  -- for that row.
  when current_setting('artifacts.has_turn', true) = 'yes' then -1
  else pg_backend_pid() % 256
end;
comment on function artifacts.shard() is 'The row of project_totals that this transaction adds to.';

-- schemas/artifacts/enrolment_totals.sql

-- What the agents of each enrolment hold together, updated with every change, so that enrolling
-- many agents with one enrolment key does not multiply what its holder may store.

create table artifacts.enrolment_totals (
  enrolment_id text collate "C" not null,
  by_sweep boolean not null,
  bytes bigint not null,

  constraint enrolment_totals_pkey primary key (enrolment_id, by_sweep)
)
with (fillfactor = 10);
comment on table artifacts.enrolment_totals is
  'The registered and surplus bytes of all agents of an enrolment: the sum of its two rows. Agents '
  'that ended count until their files end: an enrolment key must not get room by leaving and '
  'enrolling again.';
comment on column artifacts.enrolment_totals.bytes is
  'A part of the sum, so it may be negative.';
comment on column artifacts.enrolment_totals.by_sweep is
  'Operations that run one at a time (lock_sweep) change one agent''s totals after another, and '
  'keep their row here locked meanwhile. So they have a separate row: no other transaction that '
  'holds totals may wait for it.';

create function artifacts.add_to_enrolment_totals(enrolment_id text, bytes bigint) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  -- A commit, for example, changes no sum: it does not wait for the enrolment's other agents.
  if add_to_enrolment_totals.bytes = 0 then
    return;
  end if;
  insert into artifacts.enrolment_totals as e (enrolment_id, by_sweep, bytes)
  values (
    add_to_enrolment_totals.enrolment_id,
    coalesce(current_setting('artifacts.has_turn', true) = 'yes', false),
    add_to_enrolment_totals.bytes
  )
  on conflict on constraint enrolment_totals_pkey do update set bytes = e.bytes + excluded.bytes;
end
$$;
comment on function artifacts.add_to_enrolment_totals(text, bigint) is
  'Adds bytes, which may be negative, to what the agents of an enrolment hold. From then on until '
  'the transaction ends, registrations of that enrolment wait.';

create function artifacts.count_for_enrolment(agent_id text) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  former text;
  present text;
  held_bytes bigint;
begin
  -- An agent that registers its first artifact, and the enrolment of that agent, may not see each
  -- other. Whoever comes second waits here, then sees the other.
  perform pg_advisory_xact_lock(
    hashtextextended('enrolment of ' || count_for_enrolment.agent_id, 0)
  );
  present := coalesce(
    (
      select a.enrolment_id
      from agents.enrolled_agents a
      where a.agent_id = count_for_enrolment.agent_id
    ),
    ''
  );
  select t.enrolment_id,
    t.pending_bytes + t.committed_bytes + t.superseded_bytes + t.surplus_bytes
  into former, held_bytes
  from artifacts.totals t
  where t.agent_id = count_for_enrolment.agent_id
  for no key update;
  if not found or former = present then
    return;
  end if;
  update artifacts.totals t
  set enrolment_id = present
  where t.agent_id = count_for_enrolment.agent_id;
  -- The same order in every transaction prevents deadlocks.
  if former < present and former <> '' then
    perform artifacts.add_to_enrolment_totals(former, -held_bytes);
  end if;
  if present <> '' then
    perform artifacts.add_to_enrolment_totals(present, held_bytes);
  end if;
  if former > present then
    perform artifacts.add_to_enrolment_totals(former, -held_bytes);
  end if;
end
$$;
comment on function artifacts.count_for_enrolment(text) is
  'Makes the bytes of an agent count for the enrolment by which it now comes, and for no other. '
  'Call it after agents.enrolled_agents has changed.';

create function artifacts.quota_of_enrolment(enrolment_quota bigint, agent_quota bigint) returns bigint
language sql
immutable
return coalesce(enrolment_quota, 10 * agent_quota);
comment on function artifacts.quota_of_enrolment(bigint, bigint) is
  'How many bytes the agents of an enrolment may hold together; 0: any number. An enrolment without '
  'a quota of its own has room for ten agents that use up the project''s quota. So the quota that '
  'the operator has set also bounds an enrolment key that leaks, and ordinary fleets, whose agents '
  'mostly hold little, have room. A project without a quota sets none here either.';

create function artifacts.refuse_beyond_enrolment(
  agent_id text,
  size bigint,
  agent_quota bigint
) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  came_by constant text := (
    select t.enrolment_id
    from artifacts.totals t
    where t.agent_id = refuse_beyond_enrolment.agent_id
  );
  quota bigint;
  held_bytes bigint;
begin
  select artifacts.quota_of_enrolment(e.quota_bytes, refuse_beyond_enrolment.agent_quota)
  into quota
  from agents.enrolments e
  where e.enrolment_id = came_by;
  if quota is null or quota = 0 then
    return;
  end if;
  select sum(t.bytes) into held_bytes
  from artifacts.enrolment_totals t
  where t.enrolment_id = came_by;
  if held_bytes > quota then
    raise sqlstate 'PT409' using
      message = 'quota_exceeded',
      detail = json_build_object(
        'limit', 'bytes_of_enrolment',
        'quota_bytes', quota,
        'held_bytes', held_bytes - refuse_beyond_enrolment.size
      );
  end if;
end
$$;
comment on function artifacts.refuse_beyond_enrolment(text, bigint, bigint) is
  'Raises quota_exceeded if the artifact of this size that the transaction has just registered '
  'takes the agents of the caller''s enrolment above what they may hold together. The registration '
  'has locked their sum, so each sees those before it. Expired artifacts count until the sweep ends '
  'them: subtracting them here would read those of all agents. agent_quota is the project''s.';

-- schemas/artifacts/changes_of_totals.sql

-- Triggers that update the totals of agents, enrolments and the project with every change.

create function artifacts.add_shares(one artifacts.share, other artifacts.share) returns artifacts.share
language sql
immutable
-- Inlined.
return row(
  one.agent_id,
  one.pending + other.pending,
  one.committed + other.committed,
  one.superseded + other.superseded,
  one.pending_bytes + other.pending_bytes,
  one.committed_bytes + other.committed_bytes,
  one.superseded_bytes + other.superseded_bytes,
  one.grants + other.grants,
  one.surplus_bytes + other.surplus_bytes
)::artifacts.share;
comment on function artifacts.add_shares(artifacts.share, artifacts.share) is
  'The sum of two shares of one agent.';

create function artifacts.sum_shares(shares artifacts.share[]) returns artifacts.share[]
language plpgsql
immutable
set search_path = ''
-- Not an SQL function, because PostgreSQL would plan its query again in every transaction.
as $$
begin
  return array(
    select
      row(
        s.agent_id, sum(s.pending), sum(s.committed), sum(s.superseded), sum(s.pending_bytes),
        sum(s.committed_bytes), sum(s.superseded_bytes), sum(s.grants), sum(s.surplus_bytes)
      )::artifacts.share
    from unnest(sum_shares.shares) s
    group by s.agent_id
    order by s.agent_id
  );
end
$$;
comment on function artifacts.sum_shares(artifacts.share[]) is
  'One share per agent, in the order of agent_id. Shares without an agent are summed, too.';

create function artifacts.add_to_totals(changes artifacts.share[]) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  net artifacts.share[] := changes;
  changed record;
begin
  -- Most changes are of one row, and aggregates cost more than the rest of this function. Not one
  -- `case`, because PostgreSQL would prepare all of it in every transaction.
  if cardinality(changes) = 2 and (changes[1]).agent_id = (changes[2]).agent_id then
    -- An update of one row.
    net := array[artifacts.add_shares(changes[1], changes[2])];
  elsif cardinality(changes) > 1 then
    -- The same order in every transaction that changes the totals of several agents prevents
    -- deadlocks.
    net := artifacts.sum_shares(changes);
  end if;
  for changed in
    insert into artifacts.totals as t (
      agent_id, pending, committed, superseded, pending_bytes, committed_bytes, superseded_bytes,
      grants, surplus_bytes
    )
    select n.*
    from unnest(net) n
    where (
      n.pending, n.committed, n.superseded, n.pending_bytes, n.committed_bytes, n.superseded_bytes,
      n.grants, n.surplus_bytes
    ) <> (0, 0, 0, 0, 0, 0, 0, 0)
    on conflict on constraint totals_pkey do update
    set pending = t.pending + excluded.pending,
        committed = t.committed + excluded.committed,
        superseded = t.superseded + excluded.superseded,
        pending_bytes = t.pending_bytes + excluded.pending_bytes,
        committed_bytes = t.committed_bytes + excluded.committed_bytes,
        superseded_bytes = t.superseded_bytes + excluded.superseded_bytes,
        grants = t.grants + excluded.grants,
        surplus_bytes = t.surplus_bytes + excluded.surplus_bytes
    returning t.agent_id, t.enrolment_id
  loop
    if changed.enrolment_id is null then
      perform artifacts.count_for_enrolment(changed.agent_id);
    elsif changed.enrolment_id <> '' then
      perform artifacts.add_to_enrolment_totals(changed.enrolment_id, (
        select n.pending_bytes + n.committed_bytes + n.superseded_bytes + n.surplus_bytes
        from unnest(net) n
        where n.agent_id = changed.agent_id
      ));
    end if;
  end loop;
  if not found then
    return;
  end if;

  if cardinality(net) > 1 then
    net := artifacts.sum_shares(array(
      select row(null, n.pending, n.committed, n.superseded, n.pending_bytes, n.committed_bytes,
        n.superseded_bytes, n.grants, n.surplus_bytes)::artifacts.share
      from unnest(net) n
    ));
  end if;
  insert into artifacts.project_totals as p (
    shard, pending, committed, superseded, pending_bytes, committed_bytes, superseded_bytes, grants,
    surplus_bytes
  )
  select artifacts.shard(), n.pending, n.committed, n.superseded, n.pending_bytes,
    n.committed_bytes, n.superseded_bytes, n.grants, n.surplus_bytes
  from unnest(net) n
  on conflict on constraint project_totals_pkey do update
  set pending = p.pending + excluded.pending,
      committed = p.committed + excluded.committed,
      superseded = p.superseded + excluded.superseded,
      pending_bytes = p.pending_bytes + excluded.pending_bytes,
      committed_bytes = p.committed_bytes + excluded.committed_bytes,
      superseded_bytes = p.superseded_bytes + excluded.superseded_bytes,
      grants = p.grants + excluded.grants,
      surplus_bytes = p.surplus_bytes + excluded.surplus_bytes;
end
$$;
comment on function artifacts.add_to_totals(artifacts.share[]) is
  'Adds these numbers, which may be negative, to the totals of their agents, of the enrolments by '
  'which these came, and of the project.';

create function artifacts.share_in_totals(artifact artifacts.artifacts, sign integer)
returns artifacts.share
language sql
immutable
return row(
  artifact.agent_id,
  case when artifact.ended_at is null and artifact.state = 'pending' then sign else 0 end,
  case when artifact.ended_at is null and artifact.state = 'committed' then sign else 0 end,
  case when artifact.ended_at is null and artifact.state = 'superseded' then sign else 0 end,
  case when artifact.ended_at is null and artifact.state = 'pending'
    then sign * artifact.size_bytes else 0 end,
  case when artifact.ended_at is null and artifact.state = 'committed'
    then sign * artifact.size_bytes else 0 end,
  case when artifact.ended_at is null and artifact.state = 'superseded'
    then sign * artifact.size_bytes else 0 end,
  0,
  sign * coalesce(artifact.surplus_bytes, 0)
)::artifacts.share;
comment on function artifacts.share_in_totals(artifacts.artifacts, integer) is
  'What one artifact adds to its agent''s totals (sign 1), or takes away (sign -1).';

create function artifacts.keep_totals_of_artifacts() returns trigger
language plpgsql
set search_path = ''
as $$
declare
  changes artifacts.share[] := array[]::artifacts.share[];
begin
  -- An insert has no old rows, and a delete no new rows: these transition tables do not exist.
  if tg_op <> 'INSERT' then
    changes := changes || array(select artifacts.share_in_totals(o, -1) from old_rows o);
  end if;
  if tg_op <> 'DELETE' then
    changes := changes || array(select artifacts.share_in_totals(n, 1) from new_rows n);
  end if;
  perform artifacts.add_to_totals(changes);
  return null;
end
$$;
comment on function artifacts.keep_totals_of_artifacts() is
  'Updates artifacts.totals when artifacts change.';

create trigger inserted_artifacts_count after insert on artifacts.artifacts
  referencing new table as new_rows
  for each statement execute function artifacts.keep_totals_of_artifacts();
create trigger updated_artifacts_count after update on artifacts.artifacts
  referencing old table as old_rows new table as new_rows
  for each statement execute function artifacts.keep_totals_of_artifacts();
create trigger deleted_artifacts_count after delete on artifacts.artifacts
  referencing old table as old_rows
  for each statement execute function artifacts.keep_totals_of_artifacts();

create function artifacts.keep_totals_of_grants() returns trigger
language plpgsql
set search_path = ''
as $$
begin
  if tg_op = 'INSERT' then
    perform artifacts.add_to_totals(
      array(select row(n.from_agent, 0, 0, 0, 0, 0, 0, 1, 0)::artifacts.share from new_rows n)
    );
  else
    perform artifacts.add_to_totals(
      array(select row(o.from_agent, 0, 0, 0, 0, 0, 0, -1, 0)::artifacts.share from old_rows o)
    );
  end if;
  return null;
end
$$;
comment on function artifacts.keep_totals_of_grants() is
  'Updates artifacts.totals when grants are added or deleted.';

create trigger inserted_grants_count after insert on artifacts.grants
  referencing new table as new_rows
  for each statement execute function artifacts.keep_totals_of_grants();
create trigger deleted_grants_count after delete on artifacts.grants
  referencing old table as old_rows
  for each statement execute function artifacts.keep_totals_of_grants();

-- schemas/artifacts/usage.sql

-- Stores what the functions counted, together with what each agent holds at that time.

create function public.agent_api_record_usage(
  entries jsonb,
  activity jsonb default null
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  answer json;
begin
  -- Each insert has the same order in every process, so that concurrent writes cannot deadlock.
  insert into agents.key_uses as u (key_id, last_used_at)
  select r.key_id collate "C", max(r.used_at)
  from agents.reported_uses(agent_api_record_usage.entries) r
  -- A request whose credential was refused does not count as a use of the key.
  where r.key_id is not null
    and r.requests > coalesce((r.refusals ->> 'unauthenticated')::bigint, 0)
      + coalesce((r.refusals ->> 'superseded')::bigint, 0)
  group by 1
  order by 1
  on conflict on constraint key_uses_pkey do update
  set last_used_at = greatest(u.last_used_at, excluded.last_used_at);

  insert into agents.usage as u (agent_id, day, requests, refusals, artifacts, bytes, grants)
  select r.agent_id, r.day, r.requests, r.refusals,
    coalesce(t.committed + t.superseded, 0), coalesce(t.committed_bytes + t.superseded_bytes, 0),
    coalesce(t.grants, 0)
  from (
    select i.agent_id collate "C" as agent_id, (i.used_at at time zone 'UTC')::date as day,
      sum(i.requests) as requests,
      sum((select coalesce(sum(n.value::bigint), 0) from jsonb_each_text(i.refusals) n)) as refusals
    from agents.reported_uses(agent_api_record_usage.entries) i
    group by 1, 2
  ) r
  left join lateral (
    select s.* from artifacts.totals s where s.agent_id = r.agent_id limit 1
  ) t on true
  order by r.agent_id, r.day
  on conflict on constraint usage_pkey do update
  set requests = u.requests + excluded.requests,
      refusals = u.refusals + excluded.refusals,
      artifacts = excluded.artifacts,
      bytes = excluded.bytes,
      grants = excluded.grants;

  insert into agents.refusals as f (agent_id, hour, kind, count)
  select r.agent_id collate "C", date_trunc('hour', r.used_at, 'UTC'), n.key collate "C",
    sum(n.value::bigint)
  from agents.reported_uses(agent_api_record_usage.entries) r
  cross join lateral jsonb_each_text(r.refusals) n
  group by 1, 2, 3
  order by 1, 2, 3
  on conflict on constraint refusals_pkey do update set count = f.count + excluded.count;

  if agent_api_record_usage.activity is not null then
    perform agents.add_activity(agent_api_record_usage.activity);
  end if;

  select coalesce(
    json_object_agg(e.key_hash, json_build_object('agent_id', k.agent_id, 'key_id', k.key_id)), '{}'
  ) into answer
  from jsonb_to_recordset(agent_api_record_usage.entries) as e (key_hash text, is_unknown boolean)
  cross join lateral (
    select i.key_id, i.agent_id from agents.keys i where i.key_hash = e.key_hash limit 1
  ) k
  where e.is_unknown;
  return json_build_object('callers', answer);
end
$$;
comment on function public.agent_api_record_usage(jsonb, jsonb) is
  'Adds the counts of one process: entries is [{key_hash, or agent_id if no key was used, '
  'seconds_ago, requests, refusals: {<error code>: <count>}, is_unknown}]. requests includes the '
  'refused ones. activity: see add_activity. Returns {callers: {<key_hash>: {agent_id, key_id}}} '
  'for entries with is_unknown true whose key is in agents.keys.';

-- schemas/artifacts/agent_limits.sql

-- Limits of single agents, which replace the project's.

create table artifacts.agent_limits (
  agent_id agents.agent_id primary key,
  quota_bytes bigint not null,

  constraint quota_is_not_negative check (quota_bytes >= 0)
);
comment on table artifacts.agent_limits is
  'One row per agent that has its own quota. For other agents, the project''s quota applies, which '
  'the Edge Functions pass as a parameter.';

create function artifacts.quota_of(agent_id text, project_quota bigint) returns bigint
language plpgsql
stable
set search_path = ''
as $$
begin
  return coalesce(
    (select l.quota_bytes from artifacts.agent_limits l where l.agent_id = quota_of.agent_id), project_quota
  );
end
$$;
comment on function artifacts.quota_of(text, bigint) is
  'How many bytes an agent may hold; 0: any number.';

-- schemas/artifacts/registrations.sql

-- Registering artifacts, within what an agent may hold.

-- An artifact counts from /register on, so that no agent can register more than it may hold. It
-- counts until it is deleted, has expired, or was abandoned and swept.
create index held_artifacts_by_agent on artifacts.artifacts (agent_id, expires_at)
  include (size_bytes, state)
  where state <> 'deleted' and ended_at is null;

create function artifacts.refuse_beyond_limits(
  agent_id text,
  size bigint,
  quota_bytes bigint,
  max_pending integer,
  max_artifacts integer
) returns boolean
language plpgsql
volatile
set search_path = ''
as $$
declare
  held artifacts.totals;
  held_bytes bigint;
  held_artifacts bigint;
  registered_at timestamptz;
begin
  -- Registrations of one agent run one at a time, so that each sees the ones before it.
  perform pg_advisory_xact_lock(
    hashtextextended('artifacts of ' || refuse_beyond_limits.agent_id, 0)
  );
  select t.* into held from artifacts.totals t where t.agent_id = refuse_beyond_limits.agent_id;
  if not found then
    held.pending := 0;
    held_bytes := 0;
    held_artifacts := 0;
  else
    held_bytes := held.pending_bytes + held.committed_bytes + held.superseded_bytes
      + held.surplus_bytes;
    held_artifacts := held.committed + held.superseded;
  end if;

  if held_artifacts >= refuse_beyond_limits.max_artifacts
    or refuse_beyond_limits.quota_bytes > 0
      and held_bytes + refuse_beyond_limits.size > refuse_beyond_limits.quota_bytes
  then
    -- The totals include expired artifacts until the sweep ends them. Subtract these only here,
    -- where they would cause a refusal.
    registered_at := clock_timestamp();
    select held_artifacts - count(*), held_bytes - coalesce(sum(a.size_bytes), 0)
    into held_artifacts, held_bytes
    from artifacts.artifacts a
    where a.agent_id = refuse_beyond_limits.agent_id
      and a.state <> 'deleted'
      and a.ended_at is null
      and a.expires_at <= registered_at;
  end if;
  if refuse_beyond_limits.quota_bytes > 0
    and held_bytes + refuse_beyond_limits.size > refuse_beyond_limits.quota_bytes
  then
    raise sqlstate 'PT409' using
      message = 'quota_exceeded',
      detail = json_build_object(
        'quota_bytes', refuse_beyond_limits.quota_bytes, 'held_bytes', held_bytes
      );
  end if;
  if held_artifacts >= refuse_beyond_limits.max_artifacts then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object(
        'limit', 'artifacts', 'maximum', refuse_beyond_limits.max_artifacts
      );
  end if;
  if held.pending >= refuse_beyond_limits.max_pending then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object(
        'limit', 'pending_artifacts', 'maximum', refuse_beyond_limits.max_pending
      );
  end if;
  return held.enrolment_id is distinct from '';
end
$$;
comment on function artifacts.refuse_beyond_limits(text, bigint, bigint, integer, integer) is
  'Raises quota_exceeded or limit_exceeded if an agent may not register another artifact of this '
  'size. max_artifacts limits committed and superseded ones, max_pending limits pending ones. '
  'Returns whether its bytes may count for an enrolment, too.';

create function public.agent_api_register_artifact(
  caller jsonb,
  artifact_id text,
  agent_id text,
  key text,
  mime text,
  size bigint,
  ttl_days integer,
  quota_bytes bigint,
  max_pending integer,
  max_artifacts integer default 100000,
  metadata jsonb default null,
  keep_versions integer default null,
  end_grants boolean default false
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  registered artifacts.artifacts;
  may_be_enrolled boolean;
begin
  caller_agent := agents.admit(agent_api_register_artifact.caller);
  agent_api_register_artifact.agent_id := agents.require_self(caller_agent, agent_api_register_artifact.agent_id);
  perform agents.claim_for_operator(caller_agent, agent_api_register_artifact.agent_id);
  may_be_enrolled := artifacts.refuse_beyond_limits(
    agent_api_register_artifact.agent_id, agent_api_register_artifact.size,
    artifacts.quota_of(agent_api_register_artifact.agent_id, agent_api_register_artifact.quota_bytes),
    agent_api_register_artifact.max_pending, agent_api_register_artifact.max_artifacts
  );

  insert into artifacts.artifacts (
    artifact_id, agent_id, key, mime, size_bytes, ttl_days, metadata, keep_versions, end_grants
  )
  values (
    agent_api_register_artifact.artifact_id,
    agent_api_register_artifact.agent_id,
    agent_api_register_artifact.key,
    agent_api_register_artifact.mime,
    agent_api_register_artifact.size,
    agent_api_register_artifact.ttl_days,
    nullif(agent_api_register_artifact.metadata, '{}'),
    agent_api_register_artifact.keep_versions,
    agent_api_register_artifact.end_grants
  )
  returning * into registered;
  if may_be_enrolled then
    perform artifacts.refuse_beyond_enrolment(
      registered.agent_id, registered.size_bytes, agent_api_register_artifact.quota_bytes
    );
  end if;

  perform agents.record_event(
    agent_api_register_artifact.caller, caller_agent, 'artifact.registered', registered.agent_id,
    registered.artifact_id,
    jsonb_build_object('key', registered.key)
  );
  return artifacts.artifact_json(registered);
end
$$;
comment on function public.agent_api_register_artifact(
  jsonb, text, text, text, text, bigint, integer, bigint, integer, integer, jsonb, integer,
  boolean
) is
  'Registers a pending artifact under an id that the caller of the function made. quota_bytes is '
  'what the agent''s artifacts may hold together, including surplus uploads (0: no quota), unless '
  'the agent has a quota of its own. The agents of an enrolment have another one together. Raises '
  'forbidden, quota_exceeded, limit_exceeded.';

create function public.agent_api_discard_registration(caller jsonb, artifact_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  discarded artifacts.artifacts;
begin
  update artifacts.artifacts a
  set state = 'deleted', deleted_at = clock_timestamp()
  where a.artifact_id = agent_api_discard_registration.artifact_id and a.state = 'pending' and a.commit_attempts = 0
  returning a.* into discarded;

  if found then
    perform agents.record_event(
      agent_api_discard_registration.caller, agents.actor_of(agent_api_discard_registration.caller),
      'artifact.deleted', discarded.agent_id, discarded.artifact_id, 
      jsonb_build_object('key', discarded.key, 'reason', 'registration was not answered')
    );
  end if;
  return json_build_object('discarded', discarded.artifact_id is not null);
end
$$;
comment on function public.agent_api_discard_registration(jsonb, text) is
  'Takes back a registration whose answer could not be given. Needs no authentication: the '
  'registration was authenticated, and nobody else knows its id.';

-- schemas/artifacts/storage/bucket.sql

-- The bucket in Storage, and which rows of Storage are its objects. No other file reads Storage's
-- tables.

create function artifacts.bucket() returns text
language sql
immutable
return 'agent-artifacts';
comment on function artifacts.bucket() is 'The bucket that holds every artifact''s bytes.';

-- The private bucket. Its size limit is the project's own (Settings, Storage).
insert into storage.buckets (id, name, public)
values (artifacts.bucket(), artifacts.bucket(), false)
on conflict (id) do update set public = false;

-- Newer releases of Storage can keep versions of an object. Then a name has several rows: at most
-- one that is current, older ones with archived_at, and after a DELETE one that only marks that the
-- object is gone. Older releases do not have these columns, and an upgrade of Storage may add them
-- at any time.
-- In the following function, `archived_at` and `is_delete_marker` have no table's name before them.
-- So PostgreSQL looks for them in storage.objects first, and then in `older_storage`. It decides
-- this whenever it plans a statement, because the body is text and is inlined. When a table gets a
-- column, PostgreSQL plans all statements that read it again: no command has to follow an upgrade.
create function artifacts.object_versions()
returns table (
  id uuid, name text, version text, created_at timestamptz, metadata jsonb, archived_at timestamptz,
  is_delete_marker boolean
)
language sql
stable
-- A function with settings is not inlined. All names in the body are qualified, or built in.
as $$
  select v.id, v.name, v.version, v.created_at, v.metadata, v.archived_at, v.is_delete_marker
  from (select null::timestamptz as archived_at, false as is_delete_marker) older_storage
  cross join lateral (
    select o.id, o.name, o.version, o.created_at, o.metadata, archived_at, is_delete_marker
    from storage.objects o
    where o.bucket_id = artifacts.bucket()
  ) v
$$;
comment on function artifacts.object_versions() is
  'The rows of storage.objects for the bucket: objects, older versions and delete markers. Works '
  'with and without Storage''s columns for versions.';

create view artifacts.current_objects with (security_invoker = true) as
select v.id, v.name, v.version, v.created_at, v.metadata
from artifacts.object_versions() v
where v.archived_at is null and v.is_delete_marker is not true;
comment on view artifacts.current_objects is
  'The objects in the bucket: one row per name. Neither an older version nor a delete marker is an '
  'object. Compare names in byte order (collate "C"): since 1.77, Storage has no other index that '
  'begins with the bucket.';

create function artifacts.current_names(after text, up_to text, max_entries integer)
returns table (name text)
language plpgsql
stable
set search_path = ''
-- The index has the names in this order. Until storage.objects is analyzed, the planner has no
-- statistics of a column that Storage has just added, and takes nearly all rows for older versions:
-- then reading and sorting the whole bucket looks cheaper.
set enable_sort = off
as $$
begin
  return query
  select o.name collate "C"
  from artifacts.current_objects o
  where o.name collate "C" > current_names.after and o.name collate "C" < current_names.up_to
  order by o.name collate "C"
  limit current_names.max_entries;
end
$$;
comment on function artifacts.current_names(text, text, integer) is
  'The names of the first max_entries rows of current_objects between two names, in byte order.';

create function artifacts.versioning_status() returns text
language sql
stable
set search_path = ''
as $$
  select coalesce(to_jsonb(b) ->> 'versioning_status', 'DISABLED')
  from storage.buckets b
  where b.id = artifacts.bucket()
$$;
comment on function artifacts.versioning_status() is
  'Whether Storage keeps versions of the objects in the bucket: DISABLED, ENABLED or SUSPENDED. '
  'Null: the bucket is missing.';

create function artifacts.refuse_versions() returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  if artifacts.versioning_status() <> 'DISABLED' then
    raise sqlstate 'PT503' using
      message = 'misconfigured',
      hint = 'The bucket ' || artifacts.bucket() || ' keeps versions, so deleted bytes would stay. '
        || 'Run agentops doctor, which says what to do.';
  end if;
end
$$;
comment on function artifacts.refuse_versions() is
  'Raises misconfigured if the bucket keeps versions: whoever removes an object there leaves its '
  'bytes.';

create function artifacts.require_bucket() returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  if artifacts.versioning_status() is null then
    raise sqlstate 'PT503' using
      message = 'misconfigured',
      hint = 'The project has no bucket ' || artifacts.bucket() || '. Make a private bucket of this name.';
  end if;
  perform artifacts.refuse_versions();
end
$$;
comment on function artifacts.require_bucket() is
  'Raises misconfigured if the bucket is missing, or if it keeps versions.';

create function public.agent_api_check_bucket() returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
begin
  perform artifacts.require_bucket();
  return json_build_object('status', 'ok');
end
$$;
comment on function public.agent_api_check_bucket() is
  'Answers if the bucket is there and keeps no versions. /health of agent-artifacts calls it. '
  'Raises misconfigured.';

-- schemas/artifacts/storage/objects.sql

-- The artifacts' objects in Storage: their paths, which are live, and which bytes exceed what is
-- allowed. A user's `key` is never part of a path.

create function artifacts.incoming_path(artifact_id text) returns text
language sql
immutable
return 'incoming/' || artifact_id;
comment on function artifacts.incoming_path(text) is
  'Where the upload URL of an artifact puts its bytes.';

create function artifacts.sealed_folder(artifact_id text) returns text
language sql
immutable
return 'sealed/' || artifact_id || '/';
comment on function artifacts.sealed_folder(text) is
  'The common prefix of an artifact''s sealed paths.';

create function artifacts.sealed_path(artifact_id text, attempt integer) returns text
language sql
immutable
return artifacts.sealed_folder(artifact_id) || attempt::text;
comment on function artifacts.sealed_path(text, integer) is
  'Where an attempt to commit puts the bytes out of reach: no upload URL is ever signed for this '
  'path.';

create function artifacts.end_of_folder(folder text) returns text
language sql
immutable
-- '0' is the character after '/'.
return left(folder, -1) || '0';
comment on function artifacts.end_of_folder(text) is
  'The first name in byte order after all names in a folder, whose name ends in "/".';

create function artifacts.object_at(path text) returns table (id uuid, version text, size bigint)
language sql
stable
begin atomic
  select o.id, o.version, (o.metadata ->> 'size')::bigint
  from artifacts.current_objects o
  where o.name collate "C" = object_at.path
  limit 1;
end;
comment on function artifacts.object_at(text) is
  'The object at a path of the bucket, if any: its Storage id, its version, and its size in '
  'bytes, which may be null.';

create function artifacts.has_object(path text) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return exists (
    select from artifacts.current_objects o where o.name collate "C" = has_object.path
  );
end
$$;
comment on function artifacts.has_object(text) is
  'Whether an object exists at a path of the bucket.';

create function artifacts.has_objects(artifact_id text) returns boolean
language sql
stable
set search_path = ''
as $$
  select artifacts.has_object(artifacts.incoming_path(has_objects.artifact_id))
    or exists (
      select from artifacts.current_objects o
      where o.name collate "C" > artifacts.sealed_folder(has_objects.artifact_id)
        and o.name collate "C" < artifacts.end_of_folder(artifacts.sealed_folder(has_objects.artifact_id))
    )
$$;
comment on function artifacts.has_objects(text) is
  'Whether the bucket has any object of this artifact.';

create function artifacts.newest_sealed_attempt(artifact artifacts.artifacts) returns integer
language plpgsql
stable
set search_path = ''
as $$
begin
  -- Only attempts after the last verdict can have an object, so there are few. Each needs one
  -- lookup in an index.
  return (
    select attempt
    from generate_series(
      (newest_sealed_attempt.artifact).commit_attempts,
      (newest_sealed_attempt.artifact).rejected_attempts + 1,
      -1
    ) as attempt
    where artifacts.has_object(
      artifacts.sealed_path((newest_sealed_attempt.artifact).artifact_id, attempt)
    )
    order by attempt desc
    limit 1
  );
end
$$;
comment on function artifacts.newest_sealed_attempt(artifacts.artifacts) is
  'The newest attempt that crashed and left a sealed object that can still be used; null: none.';

-- Decides which of the bucket's objects are live, from the rows in the database. No other code
-- decides this: the sweep and fsck call this function.

create function artifacts.judge_objects(after text, up_to text, max_entries integer)
returns table (object_name text, standing text, is_pending boolean, stored_at timestamptz)
language sql
stable
set search_path = ''
as $$
  with named as materialized (
    -- For nearly all objects, the name is enough.
    select o.name
    from artifacts.current_names(
      judge_objects.after, judge_objects.up_to, judge_objects.max_entries
    ) o
  ), placed as materialized (
    select n.name, a.committed_at, a.ended_at, a.rejected_attempts,
      a.state = 'pending' and a.ended_at is null as is_pending,
      held.is_content,
      -- 0: the upload itself. Null: an attempt that the row does not have yet, because a restored
      -- database is older than the bucket.
      case
        when n.name = artifacts.incoming_path(a.artifact_id) then 0
        else (
          select attempt
          from generate_series(1, a.commit_attempts) as attempt
          where n.name = artifacts.sealed_path(a.artifact_id, attempt)
        )
      end as attempt
    from named n
    -- One index lookup per object, however many artifacts there are.
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
      -- A commit may be using the other objects. Not even deleting the artifact makes them dead:
      -- only the sweep does, when it ends the artifact.
      when p.attempt between 1 and p.rejected_attempts then 'dead'
      else 'live'
    end,
    coalesce(p.is_pending, false),
    case
      when p.is_content is not true then (
        select o.created_at
        from artifacts.current_objects o
        where o.name collate "C" = p.name
        limit 1
      )
    end
  from placed p
$$;
comment on function artifacts.judge_objects(text, text, integer) is
  'The first max_entries objects between two names, in byte order. standing: "live"; "dead" (its '
  'row says so, permanently); or "unknown" (it has no row). is_pending: a later commit may still '
  'use the path. stored_at is null for the content of an artifact.';

-- schemas/artifacts/grants/grant_downloads.sql

-- How often grants were used, and how often they may be used.

create table artifacts.grant_downloads (
  grant_id text collate "C" primary key references artifacts.grants (grant_id) on delete cascade,
  max_downloads integer,
  downloads bigint not null default 0,

  constraint max_downloads_is_1_to_1000 check (max_downloads between 1 and 1000),
  constraint downloads_are_not_negative check (downloads >= 0),
  constraint no_more_downloads_than_allowed check (downloads <= max_downloads)
)
-- fillfactor leaves room for HOT updates: counting a download changes no indexed column.
with (fillfactor = 50);
comment on table artifacts.grant_downloads is
  'One row per grant with a download limit, created with the grant, and one per other grant whose '
  'token was used, created by the sweep.';
comment on column artifacts.grant_downloads.max_downloads is 'Null: any number.';
comment on column artifacts.grant_downloads.downloads is
  'With max_downloads: all downloads, each counted by the transaction that allows it. Without: '
  'downloads with the token that agents.reads no longer counts.';

create function artifacts.is_limited(grant_id text) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return exists (
    select
    from artifacts.grant_downloads d
    where d.grant_id = is_limited.grant_id and d.max_downloads is not null
  );
end
$$;
comment on function artifacts.is_limited(text) is
  'Whether a grant has a download limit, so that each download must be counted. This never '
  'changes.';

create function artifacts.count_download(grant_id text) returns boolean
language plpgsql
volatile
set search_path = ''
as $$
begin
  -- A concurrent download waits for the row, and then checks again how many are left.
  update artifacts.grant_downloads d
  set downloads = d.downloads + 1
  where d.grant_id = count_download.grant_id and d.downloads < d.max_downloads;
  return found;
end
$$;
comment on function artifacts.count_download(text) is
  'Counts a download of a grant with a limit; false: the limit is reached.';

create function artifacts.use_grant(
  artifact_id text,
  agent_id text,
  instant timestamptz,
  out ends_at timestamptz,
  out counted_grant_id text
)
language plpgsql
volatile
set search_path = ''
as $$
declare
  candidate record;
begin
  for candidate in
    select g.grant_id, g.live_until, d.max_downloads is not null as is_limited,
      d.downloads >= d.max_downloads as is_used_up
    from artifacts.live_grants(use_grant.artifact_id, use_grant.instant) g
    left join lateral (
      select d.max_downloads, d.downloads
      from artifacts.grant_downloads d
      where d.grant_id = g.grant_id
      limit 1
    ) d on true
    where g.grantee = use_grant.agent_id
      -- Only a grant to a tag makes this read the agent's tags. They cannot change meanwhile: the
      -- caller holds the agent's access_lock, which a change of its tags waits for.
      or g.to_tag is not null and g.to_tag in (
        select t.tag from agents.agent_tags t where t.agent_id = use_grant.agent_id
      )
    -- First the grants without a limit, those that last longest first. Then the limited ones, those
    -- that end first. The order is the same in every transaction, which prevents deadlocks: a grant
    -- stays locked even if another transaction took its last download.
    order by is_limited, case when d.max_downloads is null then g.live_until end desc,
      g.live_until, g.grant_id collate "C"
  loop
    continue when candidate.is_used_up;
    if not candidate.is_limited or artifacts.count_download(candidate.grant_id) then
      use_grant.ends_at := candidate.live_until;
      use_grant.counted_grant_id := case when candidate.is_limited then candidate.grant_id end;
      return;
    end if;
  end loop;

  if not found then
    raise sqlstate 'PT404' using message = 'artifact_not_found';
  end if;
  raise sqlstate 'PT410' using message = 'grant_used_up';
end
$$;
comment on function artifacts.use_grant(text, text, timestamptz) is
  'Chooses a grant of an artifact to an agent, or to a tag of it, that is live after a given time. '
  'Returns when that access ends. If the grant has a download limit, this counts the download and '
  'also returns the grant. Raises artifact_not_found if there is no such grant, grant_used_up if '
  'none allows another download.';

create function artifacts.settle_downloads(grant_id text, downloads bigint) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  -- The downloads of a limited grant are already counted in its row. Do not lock that row: a
  -- transaction that counts a download holds it, and may be waiting for this one.
  if artifacts.is_limited(settle_downloads.grant_id) then
    return;
  end if;
  insert into artifacts.grant_downloads as d (grant_id, downloads)
  select g.grant_id, settle_downloads.downloads
  from artifacts.grants g
  where g.grant_id = settle_downloads.grant_id
  -- The grant may be deleted concurrently: then this inserts nothing.
  for key share
  on conflict on constraint grant_downloads_pkey do update
  set downloads = d.downloads + excluded.downloads;
end
$$;
comment on function artifacts.settle_downloads(text, bigint) is
  'Stores how often the token of a grant without a limit was used. agents.reads has counted these '
  'downloads, and its row is about to be deleted.';

create function public.agent_api_return_download(grant_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
  update artifacts.grant_downloads d
  set downloads = d.downloads - 1
  where d.grant_id = agent_api_return_download.grant_id and d.max_downloads is not null and d.downloads > 0;
  return json_build_object('returned', found);
end
$$;
comment on function public.agent_api_return_download(text) is
  'Takes back the count of a download whose answer could not be given. Needs no authentication: '
  'the download was allowed, and nobody else can call this.';

-- schemas/artifacts/grants/hand_overs.sql

-- What a giver said about a grant beyond access: what the file is for, what it answers, and how the
-- work on it is handed out.

create table artifacts.hand_overs (
  grant_id text collate "C" primary key references artifacts.grants (grant_id) on delete cascade,
  from_agent agents.agent_id not null,
  note text,
  reply_to text collate "C",
  is_shared boolean not null default false,
  max_attempts integer not null default 5,
  idempotency_key text collate "C",
  handed_over_at timestamptz not null default clock_timestamp(),

  constraint note_is_1_to_2000_characters check (length(note) between 1 and 2000),
  constraint reply_to_is_a_grant_id check (length(reply_to) = 38 and reply_to ~ '^grant_[0-9a-f]*$'),
  constraint max_attempts_is_1_to_100 check (max_attempts between 1 and 100),
  constraint idempotency_key_is_well_formed check (
    length(idempotency_key) <= 64 and idempotency_key ~ '^[A-Za-z0-9_-]+$'
  )
);
comment on table artifacts.hand_overs is
  'One row per grant that was given with a note, as an answer, with an idempotency key, to one '
  'agent of a tag, or with its own max_attempts. Any other grant has no row, so that giving it '
  'costs no more than access.';
comment on column artifacts.hand_overs.from_agent is 'The giver, as in artifacts.grants.';
comment on column artifacts.hand_overs.note is 'The giver''s words, for the grantee.';
comment on column artifacts.hand_overs.reply_to is
  'The grant that this one answers. Its row may have been deleted since.';
comment on column artifacts.hand_overs.is_shared is
  'Whether exactly one agent of the tag works on it (`deliver: one`).';
comment on column artifacts.hand_overs.max_attempts is
  'After how many attempts its task is parked.';

comment on column artifacts.hand_overs.idempotency_key is
  'The giver''s name of the request. For 24 hours, the same request makes no second grant.';
comment on column artifacts.hand_overs.handed_over_at is 'When the grant was given.';

-- Finds a repeated request, and everything that an agent said.
create index hand_overs_by_giver on artifacts.hand_overs (from_agent, idempotency_key, handed_over_at);

create function artifacts.hand_over_of(grant_id text)
returns table (note text, reply_to text, is_shared boolean, max_attempts integer)
language sql
stable
-- Always returns one row. An SQL-standard body is inlined.
begin atomic
  select h.note, h.reply_to, coalesce(h.is_shared, false), coalesce(h.max_attempts, 5)
  from (values (hand_over_of.grant_id collate "C")) g (grant_id)
  -- `limit 1` forces one lookup for each grant of the caller's query.
  left join lateral (
    select s.note, s.reply_to, s.is_shared, s.max_attempts
    from artifacts.hand_overs s
    where s.grant_id = g.grant_id
    limit 1
  ) h on true;
end;
comment on function artifacts.hand_over_of(text) is
  'What the giver said about a grant, or the defaults.';

create function artifacts.delivery(is_shared boolean) returns text
language sql
immutable
-- Inlined.
return case when is_shared then 'one' else 'each' end;
comment on function artifacts.delivery(boolean) is '`deliver` on the wire.';

create function artifacts.has_grant_of(agent_id text, grant_id text) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return exists (
    select
    from artifacts.grants g
    where g.grant_id = has_grant_of.grant_id
      and (
        g.from_agent = has_grant_of.agent_id
        or g.to_agent = has_grant_of.agent_id
        or g.to_tag in (select t.tag from agents.agent_tags t where t.agent_id = has_grant_of.agent_id)
      )
  );
end
$$;
comment on function artifacts.has_grant_of(text, text) is
  'Whether an agent gave a grant, or received it by its name or a tag. It may have ended.';

create function artifacts.repeated_grant(
  from_agent text,
  idempotency_key text,
  artifact_id text,
  grantee text,
  expires_at timestamptz,
  max_downloads integer,
  note text,
  reply_to text,
  is_shared boolean,
  max_attempts integer
) returns jsonb
language plpgsql
volatile
set search_path = ''
as $$
declare
  found_id text;
  earlier artifacts.grants;
  said artifacts.hand_overs;
begin
  -- Of requests with one key, the first makes the grant, and the others wait for it.
  perform pg_advisory_xact_lock(
    hashtextextended('grant ' || repeated_grant.idempotency_key || ' of ' || repeated_grant.from_agent, 0)
  );
  select h.grant_id into found_id
  from artifacts.hand_overs h
  where h.from_agent = repeated_grant.from_agent
    and h.idempotency_key = repeated_grant.idempotency_key
    and h.handed_over_at > clock_timestamp() - interval '24 hours'
  order by h.from_agent desc, h.idempotency_key desc, h.handed_over_at desc
  limit 1;
  if not found then
    return null;
  end if;
  select g.* into earlier from artifacts.grants g where g.grant_id = found_id;
  select h.* into said from artifacts.hand_overs h where h.grant_id = found_id;
  if (
    earlier.artifact_id, earlier.grantee, earlier.expires_at, said.note, said.reply_to, said.is_shared, said.max_attempts,
    (select d.max_downloads from artifacts.grant_downloads d where d.grant_id = found_id)
  ) is distinct from (
    repeated_grant.artifact_id, repeated_grant.grantee, repeated_grant.expires_at, repeated_grant.note,
    repeated_grant.reply_to, repeated_grant.is_shared, repeated_grant.max_attempts, repeated_grant.max_downloads
  ) then
    raise sqlstate 'PT409' using message = 'idempotency_conflict';
  end if;
  return artifacts.granted_json(earlier) || jsonb '{"repeated": true}';
end
$$;
comment on function artifacts.repeated_grant(
  text, text, text, text, timestamptz, integer, text, text, boolean, integer
) is
  'What the same request with this idempotency key made within the last 24 hours; null: nothing, '
  'and until the end of the transaction nobody else makes it. Raises idempotency_conflict if the '
  'key was used for another request.';

-- schemas/artifacts/grants/tasks.sql

-- Grants as work. A grant that nobody has looked at as work has no row here: its task waits. The
-- first look of /inbox/take makes the rows of an agent's new grants (filling.sql), so that a grant
-- costs its giver nothing more, whoever uses tasks.

create table artifacts.tasks (
  grant_id text collate "C" not null references artifacts.grants (grant_id) on delete cascade,
  agent_id agents.agent_id,
  to_tag agents.tag,
  queue text collate "C" not null
    generated always as (coalesce(agent_id, '') || coalesce('#' || to_tag, '')) stored,
  state text collate "C" not null default 'waiting',
  attempt integer not null default 0,
  max_attempts integer not null default 5,
  ready_at timestamptz,
  take_id text collate "C",
  taken_by agents.agent_id,
  first_taken_at timestamptz,
  done_at timestamptz,
  reason text,
  reply_grant_id text collate "C",
  waits_again_since xid8,

  constraint an_agent_has_a_task_once primary key (grant_id, queue),
  constraint a_task_is_of_an_agent_or_of_a_tag check (agent_id is not null or to_tag is not null),
  constraint task_state_is_known check (state in ('waiting', 'taken', 'done', 'parked')),
  constraint a_task_is_ready_until_it_is_over check ((ready_at is null) = (state in ('done', 'parked'))),
  constraint done_at_is_set_when_done check ((done_at is null) = (state <> 'done')),
  constraint a_taken_task_has_a_take check (state <> 'taken' or take_id is not null and taken_by is not null),
  constraint take_id_is_well_formed check (length(take_id) = 37 and take_id ~ '^take_[0-9a-f]*$'),
  constraint reason_is_1_to_500_characters check (length(reason) between 1 and 500),
  constraint reply_is_a_grant_id check (length(reply_grant_id) = 38 and reply_grant_id ~ '^grant_[0-9a-f]*$')
)
-- A task is updated twice at least.
with (fillfactor = 70);
comment on table artifacts.tasks is
  'One row per grant and queue, made when an agent of the queue first looks for work, and deleted '
  'with its grant. Work that an agent of a tag shares with the others is in the queue of the tag.';
comment on column artifacts.tasks.agent_id is
  'Whose task it is; null: exactly one agent of the tag works on it.';
comment on column artifacts.tasks.to_tag is 'The tag of a grant to a tag.';
comment on column artifacts.tasks.queue is
  'An agent, or `#` and a tag (one of its agents), or both (each of its agents).';
comment on column artifacts.tasks.attempt is 'How often it was taken since it was last requeued, without the takes that were interrupted.';
comment on column artifacts.tasks.max_attempts is 'After how many attempts it is parked.';
comment on column artifacts.tasks.ready_at is
  'From when on it can be taken: after its pause, or when its take lapses. So a lapse needs no '
  'clock: the next look finds the task like any other that is ready.';
comment on column artifacts.tasks.take_id is
  'The last take. Whoever names an earlier one is refused.';
comment on column artifacts.tasks.taken_by is 'The agent of the last take, or that finished it.';
comment on column artifacts.tasks.first_taken_at is
  'When its grantee first took it, and so has seen it.';
comment on column artifacts.tasks.done_at is 'When it was done.';
comment on column artifacts.tasks.reason is 'Why the last attempt failed, in its taker''s words.';
comment on column artifacts.tasks.reply_grant_id is
  'The grant that answers it, made by /inbox/done in the same transaction.';
comment on column artifacts.tasks.waits_again_since is
  'The transaction that made it wait again, for whoever waits for news; null: it did not, or was '
  'taken since.';

-- What can be taken, oldest first. Tasks that are done or parked are not in it, so a take does not
-- read them.
create index ready_tasks on artifacts.tasks (queue, ready_at, grant_id) where ready_at is not null;
create unique index tasks_by_take on artifacts.tasks (take_id) where take_id is not null;
-- For the end of an agent, which must not read what it has done.
create index tasks_by_taker on artifacts.tasks (taken_by, state, grant_id) where taken_by is not null;
create index tasks_by_agent on artifacts.tasks (agent_id, grant_id) where to_tag is not null;
-- These two are for the sweep, and for whoever looks after the project.
create index takes_by_end on artifacts.tasks (ready_at) where state = 'taken';
create index parked_tasks on artifacts.tasks (grant_id, queue) where state = 'parked';
create index tasks_waiting_again on artifacts.tasks (queue, waits_again_since)
  where waits_again_since is not null;

create table artifacts.task_queues (
  agent_id agents.agent_id,
  to_tag agents.tag,
  queue text collate "C" generated always as (coalesce(agent_id, '') || coalesce('#' || to_tag, '')) stored
    primary key,
  filled_through xid8 not null default '0',

  constraint a_queue_is_of_an_agent_or_of_a_tag check (agent_id is not null or to_tag is not null)
);
comment on table artifacts.task_queues is
  'Up to where the grants of a queue have become rows of artifacts.tasks. One row per queue that '
  'an agent has looked at.';
comment on column artifacts.task_queues.to_tag is 'As in artifacts.tasks.';
comment on column artifacts.task_queues.queue is 'As in artifacts.tasks.';
comment on column artifacts.task_queues.filled_through is
  'Every grant of this and of earlier transactions was looked at.';

create index task_queues_by_agent on artifacts.task_queues (agent_id) where agent_id is not null;

create function artifacts.queues_of(agent_id text) returns text[]
language plpgsql
stable
set search_path = ''
as $$
begin
  return array[queues_of.agent_id] || array(
    select q.queue
    from agents.agent_tags t
    cross join lateral (values ('#' || t.tag), (queues_of.agent_id || '#' || t.tag)) q (queue)
    where t.agent_id = queues_of.agent_id
    order by q.queue
  );
end
$$;
comment on function artifacts.queues_of(text) is
  'The queues whose tasks an agent may take: its own, and for each tag that it has now, what one '
  'of the tag''s agents works on and what each works on.';

create function artifacts.queue_of(agent_id text, to_tag text, is_shared boolean) returns text
language sql
immutable
-- Inlined.
return case when to_tag is not null and is_shared then '' else agent_id end || coalesce('#' || to_tag, '');
comment on function artifacts.queue_of(text, text, boolean) is
  'The queue in which an agent finds the task of a grant.';

create function artifacts.state_now(state text, ready_at timestamptz, attempt integer, max_attempts integer) returns text
language sql
stable
-- Inlined.
return case
  when state is null then 'waiting'
  when state = 'taken' and ready_at <= now() then case when attempt < max_attempts then 'waiting' else 'parked' end
  else state
end;
comment on function artifacts.state_now(text, timestamptz, integer, integer) is
  'The state of a task, by the columns of its row (null if it has no row). A take that has lapsed '
  'counts, even if no look has found it yet.';

create function artifacts.entry_json(
  given artifacts.grants,
  artifact artifacts.artifacts,
  note text,
  reply_to text,
  is_shared boolean,
  task artifacts.tasks
) returns jsonb
language sql
stable
-- Inlined.
return artifacts.content_json(artifact) || jsonb_build_object(
  'grant_id', given.grant_id,
  'from_agent', given.from_agent,
  'granted_at', agents.iso_timestamp(given.granted_at),
  'expires_at', agents.iso_timestamp(given.expires_at),
  'note', note,
  'reply_to', reply_to,
  'deliver', artifacts.delivery(is_shared),
  'superseded', artifact.state = 'superseded',
  'state', artifacts.state_now(task.state, task.ready_at, task.attempt, task.max_attempts),
  'attempt', coalesce(task.attempt, 0),
  'next_at', case when task.state = 'waiting' and task.ready_at > now() then agents.iso_timestamp(task.ready_at) end
);
comment on function artifacts.entry_json(
  artifacts.grants, artifacts.artifacts, text, text, boolean, artifacts.tasks
) is 'An entry of an inbox; task is null if nobody has looked at the grant as work.';

create function artifacts.record_task(
  caller jsonb,
  caller_agent text,
  action text,
  agent_id text,
  given artifacts.grants,
  more jsonb
) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform agents.record_event(
    record_task.caller, record_task.caller_agent, record_task.action, record_task.agent_id,
    (record_task.given).grant_id,
    jsonb_strip_nulls(jsonb_build_object(
      'artifact_id', (record_task.given).artifact_id, 'to_tag', (record_task.given).to_tag
    ) || record_task.more),
    (record_task.given).from_agent
  );
end
$$;
comment on function artifacts.record_task(jsonb, text, text, text, artifacts.grants, jsonb) is
  'Writes an event about an agent''s task. The giver sees it too.';

create function artifacts.refuse_ended_grant(given artifacts.grants) returns void
language plpgsql
stable
set search_path = ''
as $$
declare
  artifact artifacts.artifacts;
begin
  if (refuse_ended_grant.given).revoked_at is not null then
    raise sqlstate 'PT410' using message = 'grant_revoked';
  end if;
  if (refuse_ended_grant.given).expires_at <= clock_timestamp() then
    raise sqlstate 'PT410' using message = 'grant_expired';
  end if;
  select a.* into artifact from artifacts.artifacts a where a.artifact_id = (refuse_ended_grant.given).artifact_id;
  perform artifacts.refuse_ended(artifact);
end
$$;
comment on function artifacts.refuse_ended_grant(artifacts.grants) is
  'A grant that ends takes its task along, in every state. Raises grant_revoked, grant_expired, '
  'artifact_expired.';

-- schemas/artifacts/grants/shown_grants.sql

-- When a grant was first shown to its grantee. Reading an inbox writes nothing for each grant: if
-- an answer shows something new, one row says how far the grantee has seen.

create table artifacts.inbox_views (
  agent_id agents.agent_id,
  to_tag agents.tag,
  grantee text collate "C" not null generated always as (coalesce(agent_id, '#' || to_tag)) stored,
  seen pg_snapshot not null,
  seen_through xid8 not null generated always as (pg_snapshot_xmax(seen)) stored,
  shown_at timestamptz not null default clock_timestamp(),

  constraint a_view_is_of_an_agent_or_of_a_tag check ((agent_id is null) <> (to_tag is null)),
  constraint an_inbox_is_seen_once_through_a_transaction primary key (grantee, seen_through)
);
comment on table artifacts.inbox_views is
  'One row per answer of /inbox that showed something new to an agent, and one to each of its tags '
  'that something new was for. The first one whose snapshot has a grant says when it was shown.';
comment on column artifacts.inbox_views.to_tag is
  'Shown to one of the tag''s agents, as part of its inbox.';
comment on column artifacts.inbox_views.grantee is 'As in artifacts.grants.';
comment on column artifacts.inbox_views.seen is 'The snapshot of the answer.';
comment on column artifacts.inbox_views.seen_through is
  'The snapshot has no transaction from this one on.';
comment on column artifacts.inbox_views.shown_at is 'When the answer was given.';

-- For the sweep.
create index inbox_views_by_time on artifacts.inbox_views (shown_at);

create function artifacts.has_unseen_grants(grantee text, instant pg_snapshot) returns boolean
language plpgsql
stable
set search_path = ''
-- For the same reason as in grant_ids_since.
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  seen pg_snapshot;
begin
  select v.seen into seen
  from artifacts.inbox_views v
  where v.grantee = has_unseen_grants.grantee
  order by v.grantee desc, v.seen_through desc
  limit 1;
  if seen is null then
    return exists (
      select
      from artifacts.grants g
      where g.grantee = has_unseen_grants.grantee
        and pg_visible_in_snapshot(g.transaction_id, has_unseen_grants.instant)
    );
  end if;
  return exists (
    select
    from artifacts.grants g
    where g.grantee = has_unseen_grants.grantee
      and g.transaction_id >= pg_snapshot_xmin(seen)
      and not pg_visible_in_snapshot(g.transaction_id, seen)
      and pg_visible_in_snapshot(g.transaction_id, has_unseen_grants.instant)
  );
end
$$;
comment on function artifacts.has_unseen_grants(text, pg_snapshot) is
  'Whether a grantee has grants in a snapshot that are in no earlier answer of /inbox.';

create function artifacts.tell_of_view(agent_id text) returns void
language plpgsql
stable
set search_path = ''
as $$
declare
  instant constant pg_snapshot := agents.present_snapshot();
begin
  if artifacts.has_unseen_grants(tell_of_view.agent_id, instant) or exists (
    select
    from agents.agent_tags t
    where t.agent_id = tell_of_view.agent_id and artifacts.has_unseen_grants('#' || t.tag, instant)
  ) then
    -- As with x-caller, a header of PostgREST's answer costs no extra round trip.
    perform set_config(
      'response.headers',
      (
        coalesce(nullif(current_setting('response.headers', true), ''), '[]')::jsonb
          || jsonb_build_array(jsonb_build_object('x-inbox-shown', tell_of_view.agent_id || ' ' || instant::text))
      )::text,
      true
    );
  end if;
end
$$;
comment on function artifacts.tell_of_view(text) is
  'If this answer shows an agent something for the first time, sets the answer''s header '
  'x-inbox-shown: `<agent_id> <snapshot>`, which agent_api_note_inbox_shown must be called with.';

create function public.agent_api_note_inbox_shown(caller jsonb, agent_id text, seen text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  subject text;
  instant constant pg_snapshot := agent_api_note_inbox_shown.seen::pg_snapshot;
begin
  subject := agents.require_self(
    agents.admit(agent_api_note_inbox_shown.caller), agent_api_note_inbox_shown.agent_id
  );
  insert into artifacts.inbox_views (agent_id, to_tag, seen)
  select n.agent_id, n.to_tag, instant
  from (
    select subject as agent_id, null as to_tag, subject as grantee
    union all
    select null, t.tag, '#' || t.tag
    from agents.agent_tags t
    where t.agent_id = subject
  ) n
  where artifacts.has_unseen_grants(n.grantee, instant)
  -- The same order for all agents of a tag.
  order by n.to_tag nulls first
  on conflict on constraint an_inbox_is_seen_once_through_a_transaction do nothing;
  return json_build_object('agent_id', subject);
end
$$;
comment on function public.agent_api_note_inbox_shown(jsonb, text, text) is
  'Records that an answer of /inbox, from this snapshot, was given to an agent: {agent_id}. Raises '
  'unauthenticated, forbidden.';

-- schemas/artifacts/grants/granting.sql

-- Giving access, and taking it away.

create function artifacts.forget_surplus_grants(from_agent text, max_ended integer) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  -- Above max_ended, only every 100th grant of the agent looks for surplus grants, because that
  -- reads max_ended index entries. It deletes up to 200, so that it catches up.
  look_every constant integer := 100;
  grants_on_record bigint;
  looked_at timestamptz := clock_timestamp();
  -- The pair marks a grant, because very many grants may end at one instant.
  kept_until timestamptz;
  kept_id text;
begin
  select t.grants into grants_on_record
  from artifacts.totals t
  where t.agent_id = forget_surplus_grants.from_agent;
  if grants_on_record <= forget_surplus_grants.max_ended
    or (grants_on_record - forget_surplus_grants.max_ended) % look_every <> 0
  then
    return;
  end if;

  select g.live_until, g.grant_id into kept_until, kept_id
  from artifacts.grants g
  where g.from_agent = forget_surplus_grants.from_agent and g.live_until <= looked_at
  order by g.from_agent desc, g.live_until desc, g.grant_id desc
  offset forget_surplus_grants.max_ended - 1
  limit 1;

  delete from artifacts.grants g
  where g.grant_id = any (array(
    select e.grant_id
    from artifacts.grants e
    where e.from_agent = forget_surplus_grants.from_agent
      and (e.live_until, e.grant_id) < (kept_until, kept_id)
    order by e.from_agent, e.live_until, e.grant_id
    limit 2 * look_every
    -- The sweep, or a concurrent grant of the agent, may be deleting the same rows.
    for update skip locked
  ));
end
$$;
comment on function artifacts.forget_surplus_grants(text, integer) is
  'Call this after each new grant of an agent. If more than max_ended of its ended grants are '
  'stored, it deletes some that ended first. The limit is per granter, not per pair: an agent may '
  'name any number of others.';

create function public.agent_api_grant_artifact(
  caller jsonb,
  artifact_id text,
  to_agent text,
  expires_at timestamptz,
  grant_id text,
  token_hash text,
  max_live_grants integer,
  max_ended_grants integer default 10000,
  max_downloads integer default null,
  to_tag text default null,
  note text default null,
  reply_to text default null,
  is_shared boolean default false,
  max_attempts integer default null,
  idempotency_key text default null,
  known_only boolean default false
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  attempts constant integer := coalesce(agent_api_grant_artifact.max_attempts, 5);
  caller_agent text;
  artifact artifacts.artifacts;
  granted artifacts.grants;
  checked_at timestamptz;
  is_known boolean;
  answer jsonb;
begin
  caller_agent := agents.admit(agent_api_grant_artifact.caller);
  if agent_api_grant_artifact.idempotency_key is not null then
    answer := artifacts.repeated_grant(
      coalesce(caller_agent, artifacts.owner_of(agent_api_grant_artifact.artifact_id)),
      agent_api_grant_artifact.idempotency_key,
      agent_api_grant_artifact.artifact_id,
      artifacts.grantee(agent_api_grant_artifact.to_agent, agent_api_grant_artifact.to_tag),
      agent_api_grant_artifact.expires_at,
      agent_api_grant_artifact.max_downloads,
      agent_api_grant_artifact.note,
      agent_api_grant_artifact.reply_to,
      agent_api_grant_artifact.is_shared,
      attempts
    );
    if answer is not null then
      return answer;
    end if;
  end if;
  artifact := artifacts.lock_owned_artifact(caller_agent, agent_api_grant_artifact.artifact_id);
  perform artifacts.refuse_ended(artifact);
  if artifact.state = 'pending' then
    raise sqlstate 'PT409' using message = 'artifact_not_committed';
  end if;
  checked_at := clock_timestamp();
  if agent_api_grant_artifact.expires_at <= checked_at then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "expires_at", "message": "Must lie in the future."}]}';
  end if;

  if agent_api_grant_artifact.known_only
    and agent_api_grant_artifact.to_agent is not null
    and not agents.is_known(agent_api_grant_artifact.to_agent)
  then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "to_agent", "message": "Nobody of this name has ever been here."}]}';
  end if;
  if agent_api_grant_artifact.reply_to is not null
    and not artifacts.has_grant_of(artifact.agent_id, agent_api_grant_artifact.reply_to)
  then
    raise sqlstate 'PT404' using message = 'grant_not_found';
  end if;

  -- The count is exact, because the artifact is locked.
  if (
    select count(*) from artifacts.live_grants(artifact.artifact_id, checked_at)
  ) >= agent_api_grant_artifact.max_live_grants then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object('limit', 'live_grants', 'maximum', agent_api_grant_artifact.max_live_grants);
  end if;

  insert into artifacts.grants (
    grant_id, artifact_id, from_agent, to_agent, to_tag, token_hash, expires_at
  )
  values (
    agent_api_grant_artifact.grant_id,
    artifact.artifact_id,
    artifact.agent_id,
    agent_api_grant_artifact.to_agent,
    agent_api_grant_artifact.to_tag,
    agent_api_grant_artifact.token_hash,
    agent_api_grant_artifact.expires_at
  )
  returning * into granted;
  if agent_api_grant_artifact.max_downloads is not null then
    insert into artifacts.grant_downloads (grant_id, max_downloads)
    values (granted.grant_id, agent_api_grant_artifact.max_downloads);
  end if;
  if agent_api_grant_artifact.is_shared
    or coalesce(
      agent_api_grant_artifact.note,
      agent_api_grant_artifact.reply_to,
      agent_api_grant_artifact.idempotency_key,
      agent_api_grant_artifact.max_attempts::text
    ) is not null
  then
    insert into artifacts.hand_overs (
      grant_id, from_agent, note, reply_to, is_shared, max_attempts, idempotency_key
    )
    values (
      granted.grant_id,
      granted.from_agent,
      agent_api_grant_artifact.note,
      agent_api_grant_artifact.reply_to,
      agent_api_grant_artifact.is_shared,
      attempts,
      agent_api_grant_artifact.idempotency_key
    );
  end if;
  perform artifacts.forget_surplus_grants(granted.from_agent, agent_api_grant_artifact.max_ended_grants);

  perform agents.record_event(
    agent_api_grant_artifact.caller, caller_agent, 'grant.created', granted.to_agent, granted.grant_id,
    jsonb_strip_nulls(jsonb_build_object(
      'artifact_id', granted.artifact_id,
      'key', artifact.key,
      'expires_at', agents.iso_timestamp(granted.expires_at),
      'max_downloads', agent_api_grant_artifact.max_downloads,
      'to_tag', granted.to_tag
    )),
    granted.from_agent
  );
  is_known := granted.to_agent is null
    or exists (select from agents.names n where n.agent_id = granted.to_agent);
  answer := artifacts.granted_json(granted);
  if not is_known then
    answer := answer || jsonb '{"unknown_recipient": true}';
  end if;
  return answer;
end
$$;
comment on function public.agent_api_grant_artifact(
  jsonb, text, text, timestamptz, text, text, integer, integer, integer, text, text, text, boolean,
  integer, text, boolean
) is
  'Gives an agent, or every agent with a tag (both null: anyone with the token), access to an '
  'artifact until expires_at, for max_downloads downloads together (null: any number). Of the '
  'owner''s ended grants, the newest max_ended_grants stay stored, and about a hundred more. '
  'is_shared: exactly one agent of the tag works on it. With an idempotency_key that the owner '
  'used for the same request within the last 24 hours, returns the grant of that request, and '
  'repeated. unknown_recipient: nobody has had the name to_agent; with known_only, the answer is '
  'invalid_request instead. Raises artifact_not_found, artifact_expired, artifact_not_committed, '
  'invalid_request, limit_exceeded, grant_not_found (reply_to), idempotency_conflict.';

create function public.agent_api_revoke_grants(
  caller jsonb,
  artifact_id text,
  to_agent text,
  grant_id text,
  to_tag text default null
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  wanted_grantee constant text := artifacts.grantee(agent_api_revoke_grants.to_agent, agent_api_revoke_grants.to_tag);
  caller_agent text;
  artifact artifacts.artifacts;
  checked_at timestamptz;
  live_ids text[];
  file_name text;
  revoked artifacts.grants;
  revoked_ids text[] := array[]::text[];
begin
  caller_agent := agents.admit(agent_api_revoke_grants.caller);
  if agent_api_revoke_grants.grant_id is not null then
    -- The other fields of the request must match the grant.
    select array[g.grant_id], a.key into live_ids, file_name
    from artifacts.grants g
    join artifacts.artifacts a on a.artifact_id = g.artifact_id
    where g.grant_id = agent_api_revoke_grants.grant_id
      and (caller_agent is null or g.from_agent = caller_agent)
      and g.artifact_id = coalesce(agent_api_revoke_grants.artifact_id, g.artifact_id)
      and (wanted_grantee is null or g.grantee = wanted_grantee);
    if not found then
      raise sqlstate 'PT404' using message = 'grant_not_found';
    end if;
  else
    -- Because of the lock, this sees a concurrent grant of the artifact, or that grant waits for
    -- this transaction.
    artifact := artifacts.lock_owned_artifact(caller_agent, agent_api_revoke_grants.artifact_id);
    file_name := artifact.key;
    checked_at := clock_timestamp();
    live_ids := array(
      select g.grant_id
      from artifacts.live_grants(agent_api_revoke_grants.artifact_id, checked_at) g
      where g.grantee = wanted_grantee
    );
  end if;

  for revoked in
    update artifacts.grants g
    set revoked_at = clock_timestamp()
    where g.grant_id = any (live_ids) and g.revoked_at is null and g.expires_at > clock_timestamp()
    returning g.*
  loop
    perform agents.record_event(
      agent_api_revoke_grants.caller, caller_agent, 'grant.revoked', revoked.to_agent, revoked.grant_id,
      jsonb_strip_nulls(jsonb_build_object(
        'artifact_id', revoked.artifact_id, 'key', file_name, 'to_tag', revoked.to_tag
      )),
      revoked.from_agent
    );
    revoked_ids := revoked_ids || revoked.grant_id;
  end loop;

  return json_build_object('revoked', cardinality(revoked_ids), 'grant_ids', to_json(revoked_ids));
end
$$;
comment on function public.agent_api_revoke_grants(jsonb, text, text, text, text) is
  'Revokes one grant by its id, or every live grant of an artifact to an agent or to a tag. '
  'Idempotent. Raises grant_not_found or artifact_not_found.';

-- schemas/artifacts/grants/blocked_senders.sql

-- Senders whose grants an agent does not want to see.

create table artifacts.blocked_senders (
  agent_id agents.agent_id not null,
  from_agent agents.agent_id not null,
  blocked_at timestamptz not null default clock_timestamp(),

  constraint a_sender_is_blocked_once primary key (agent_id, from_agent)
);
comment on table artifacts.blocked_senders is
  'One row per agent and sender whose grants its inbox hides. The grants still exist and can be '
  'opened. The sender does not learn of the block.';

-- For a name that gets another holder.
create index blocked_senders_by_sender on artifacts.blocked_senders (from_agent);

create function artifacts.senders_blocked_by(agent_id text) returns text[]
language plpgsql
stable
set search_path = ''
as $$
begin
  return array(
    select b.from_agent::text from artifacts.blocked_senders b where b.agent_id = senders_blocked_by.agent_id
  );
end
$$;
comment on function artifacts.senders_blocked_by(text) is
  'The senders whose grants an agent does not see.';

create function artifacts.is_blocked(agent_id text, from_agent text) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return exists (
    select from artifacts.blocked_senders b
    where b.agent_id = is_blocked.agent_id and b.from_agent = is_blocked.from_agent
  );
end
$$;
comment on function artifacts.is_blocked(text, text) is
  'Whether one agent has blocked the grants of another.';

create function public.agent_api_block_sender(
  caller jsonb,
  agent_id text,
  from_agent text,
  max_blocked integer
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  subject text;
begin
  caller_agent := agents.admit(agent_api_block_sender.caller);
  subject := agents.require_self(caller_agent, agent_api_block_sender.agent_id);
  -- Blocks by one agent run one at a time, so that the count is exact.
  perform pg_advisory_xact_lock(hashtextextended('inbox of ' || subject, 0));
  if not artifacts.is_blocked(subject, agent_api_block_sender.from_agent) then
    if cardinality(artifacts.senders_blocked_by(subject)) >= agent_api_block_sender.max_blocked then
      raise sqlstate 'PT409' using
        message = 'limit_exceeded',
        detail = json_build_object('limit', 'blocked_senders', 'maximum', agent_api_block_sender.max_blocked);
    end if;
    insert into artifacts.blocked_senders (agent_id, from_agent) values (subject, agent_api_block_sender.from_agent);
    perform agents.record_change(
      agent_api_block_sender.caller, caller_agent, 'sender.blocked', subject,
      other_agent_id => agent_api_block_sender.from_agent
    );
  end if;
  return json_build_object('from_agent', agent_api_block_sender.from_agent, 'blocked', true);
end
$$;
comment on function public.agent_api_block_sender(jsonb, text, text, integer) is
  'Hides a sender''s grants from an agent''s inbox, including existing ones. Idempotent. Raises '
  'forbidden, invalid_request, limit_exceeded.';

create function public.agent_api_unblock_sender(
  caller jsonb,
  agent_id text,
  from_agent text
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  subject text;
begin
  caller_agent := agents.admit(agent_api_unblock_sender.caller);
  subject := agents.require_self(caller_agent, agent_api_unblock_sender.agent_id);
  perform pg_advisory_xact_lock(hashtextextended('inbox of ' || subject, 0));
  delete from artifacts.blocked_senders b
  where b.agent_id = subject and b.from_agent = agent_api_unblock_sender.from_agent;
  if found then
    perform agents.record_change(
      agent_api_unblock_sender.caller, caller_agent, 'sender.unblocked', subject,
      other_agent_id => agent_api_unblock_sender.from_agent
    );
  end if;
  return json_build_object('from_agent', agent_api_unblock_sender.from_agent, 'blocked', false);
end
$$;
comment on function public.agent_api_unblock_sender(jsonb, text, text) is
  'Shows a sender''s grants in an agent''s inbox again. Idempotent. Raises forbidden, '
  'invalid_request.';

-- schemas/artifacts/grants/waiting_again.sql

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

-- schemas/artifacts/grants/inbox_entries.sql

-- Which grants an inbox has: those that name the agent, and those to a tag that it has now.

create function artifacts.grantees_of(agent_id text, since pg_snapshot)
returns table (grantees text[], gained text[])
language sql
stable
-- Always returns one row. An SQL-standard body is inlined.
begin atomic
  select
    grantees_of.agent_id || coalesce(array_agg(artifacts.grantee(null, t.tag)), '{}'),
    coalesce(
      array_agg(artifacts.grantee(null, t.tag)) filter (
        where not pg_visible_in_snapshot(t.transaction_id, grantees_of.since)
      ),
      '{}'
    )
  from agents.agent_tags t
  where t.agent_id = grantees_of.agent_id;
end;
comment on function artifacts.grantees_of(text, pg_snapshot) is
  'An agent''s names as a grantee: its own, and one per tag. gained: those of the tags that it '
  'got, or got again, after the snapshot `since` (null: none).';

create function artifacts.shown_senders(grantees text[], blocked text[])
returns table (grantee text, from_agent text)
language plpgsql
stable
set search_path = ''
as $$
begin
  -- One index lookup per sender, however many grants each has made.
  return query
  with recursive senders (grantee, from_agent) as (
    select e.grantee, (select min(g.from_agent) from artifacts.grants g where g.grantee = e.grantee)
    from unnest(shown_senders.grantees) as e (grantee)
    union all
    select s.grantee, (
      select min(g.from_agent)
      from artifacts.grants g
      where g.grantee = s.grantee and g.from_agent > s.from_agent
    )
    from senders s
    where s.from_agent is not null
  )
  select s.grantee, s.from_agent
  from senders s
  where s.from_agent is not null and s.from_agent <> all (shown_senders.blocked);
end
$$;
comment on function artifacts.shown_senders(text[], text[]) is
  'The agents that have granted something to each of these grantees, except blocked ones.';

-- For each grantee, each of these functions reads the beginning of one index range. The planner
-- expects few grants per agent, and might read and sort the whole range. The settings forbid that.

create function artifacts.live_grants_of_each(grantees text[], max_entries integer)
returns table (grant_id text)
language sql
stable
-- Inlined.
begin atomic
  select g.grant_id
  from unnest(live_grants_of_each.grantees) as e (grantee)
  cross join lateral (
    select g.grant_id
    from artifacts.grants g
    where g.grantee = e.grantee and g.live_until > now()
    order by g.grantee, g.live_until
    limit live_grants_of_each.max_entries
  ) g;
end;
comment on function artifacts.live_grants_of_each(text[], integer) is
  'For each grantee, its live grants: at most max_entries, those that end first.';

create function artifacts.grant_ids_since(
  grantees text[],
  gained text[],
  since pg_snapshot,
  max_entries integer
) returns text[]
language plpgsql
stable
set search_path = ''
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  return array(
    select g.grant_id
    from unnest(grant_ids_since.grantees) as e (grantee)
    cross join lateral (
      select g.grant_id
      from artifacts.grants g
      where g.grantee = e.grantee and g.transaction_id >= pg_snapshot_xmin(grant_ids_since.since)
      order by g.grantee, g.transaction_id
      limit grant_ids_since.max_entries
    ) g
    union all
    select g.grant_id
    from artifacts.live_grants_of_each(grant_ids_since.gained, grant_ids_since.max_entries) g
    limit grant_ids_since.max_entries
  );
end
$$;
comment on function artifacts.grant_ids_since(text[], text[], pg_snapshot, integer) is
  'A bounded number of grants: those to `grantees` made since a snapshot, even if they have ended, '
  'and the live ones to `gained`.';

create function artifacts.live_grant_ids(
  grantees text[],
  from_agent text,
  blocked text[],
  max_entries integer
) returns text[]
language plpgsql
stable
set search_path = ''
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  if live_grant_ids.from_agent is not null or live_grant_ids.blocked <> '{}' then
    return array(
      select g.grant_id
      from (
        select e.grantee, live_grant_ids.from_agent as from_agent
        from unnest(live_grant_ids.grantees) as e (grantee)
        where live_grant_ids.from_agent is not null
        union all
        select s.grantee, s.from_agent
        from artifacts.shown_senders(live_grant_ids.grantees, live_grant_ids.blocked) s
        where live_grant_ids.from_agent is null
      ) s
      cross join lateral (
        select g.grant_id
        from artifacts.grants g
        where g.grantee = s.grantee and g.from_agent = s.from_agent and g.live_until > now()
        order by g.grantee, g.from_agent, g.live_until
        limit live_grant_ids.max_entries
      ) g
      limit live_grant_ids.max_entries
    );
  end if;
  return array(
    select g.grant_id
    from artifacts.live_grants_of_each(live_grant_ids.grantees, live_grant_ids.max_entries) g
    limit live_grant_ids.max_entries
  );
end
$$;
comment on function artifacts.live_grant_ids(text[], text, text[], integer) is
  'A bounded number of live grants to these grantees: those of one sender, or those of all senders '
  'that are not blocked. If it returns fewer than max_entries, there are no more. An index skips '
  'ended grants, however many there are.';

create function artifacts.newest_grant_ids(
  grantees text[],
  max_entries integer,
  after_granted_at timestamptz,
  after_grant_id text
) returns text[]
language plpgsql
stable
set search_path = ''
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  return array(
    select g.grant_id
    from unnest(newest_grant_ids.grantees) as e (grantee)
    cross join lateral (
      select g.grant_id, g.granted_at
      from artifacts.grants g
      where g.grantee = e.grantee
        and g.revoked_at is null
        -- For the first page, every grant is below this.
        and (g.granted_at, g.grant_id) < (
          coalesce(newest_grant_ids.after_granted_at, 'infinity'),
          coalesce(newest_grant_ids.after_grant_id, '')
        )
      order by g.grantee desc, g.granted_at desc, g.grant_id desc
      limit newest_grant_ids.max_entries
    ) g
    order by g.granted_at desc, g.grant_id desc
    limit newest_grant_ids.max_entries
  );
end
$$;
comment on function artifacts.newest_grant_ids(text[], integer, timestamptz, text) is
  'The newest grants to these grantees that were not revoked, after the last grant of an earlier '
  'page.';

create function artifacts.inbox_entries(
  agent_id text,
  from_agent text,
  since pg_snapshot,
  max_entries integer,
  after_granted_at timestamptz,
  after_grant_id text
) returns table (given artifacts.grants, is_shown boolean)
language plpgsql
stable
set search_path = ''
as $$
declare
  -- An upper limit on the grants that one page reads.
  entries_per_page constant integer := inbox_entries.max_entries + 1000;
  grantees text[];
  gained text[];
  blocked text[];
  queues text[];
  ids text[];
begin
  select h.grantees, h.gained, array(
    select b.from_agent from artifacts.blocked_senders b where b.agent_id = inbox_entries.agent_id
  )
  into grantees, gained, blocked
  from artifacts.grantees_of(inbox_entries.agent_id, inbox_entries.since) h;
  -- Few agents have more live grants than entries_per_page. Only for these, the grants are read in
  -- the order of the pages.
  if inbox_entries.since is not null then
    queues := artifacts.queues_of(inbox_entries.agent_id);
    ids := artifacts.grant_ids_since(grantees, gained, inbox_entries.since, entries_per_page);
    if cardinality(ids) < entries_per_page then
      ids := ids || artifacts.ids_waiting_again(queues, inbox_entries.since, entries_per_page);
    end if;
  else
    ids := artifacts.live_grant_ids(grantees, inbox_entries.from_agent, blocked, entries_per_page);
  end if;
  if cardinality(ids) >= entries_per_page then
    ids := artifacts.newest_grant_ids(
      grantees, entries_per_page, inbox_entries.after_granted_at, inbox_entries.after_grant_id
    );
  end if;
  return query
    select g,
      g.live_until > now()
        -- What was revoked stays so if the clock goes back to before that.
        and g.revoked_at is null
        and (inbox_entries.from_agent is null or g.from_agent = inbox_entries.from_agent)
        and g.from_agent <> all (blocked)
        and (
          inbox_entries.since is null
          or not pg_visible_in_snapshot(g.transaction_id, inbox_entries.since)
          or g.grantee = any (gained)
          or artifacts.waits_again(g.grant_id, queues, inbox_entries.since)
        )
    from artifacts.grants g
    where g.grant_id = any (ids)
      and (
        inbox_entries.after_grant_id is null
        or (g.granted_at, g.grant_id) < (inbox_entries.after_granted_at, inbox_entries.after_grant_id)
      );
end
$$;
comment on function artifacts.inbox_entries(text, text, pg_snapshot, integer, timestamptz, text) is
  'At most max_entries + 1000 grants to an agent and its tags, in no order. The next page is among '
  'them. If it returns that many, there may be more. is_shown: whether the inbox shows the grant.';

-- schemas/artifacts/grants/inbox.sql

-- Grants to an agent: those that name it, and those to a tag that it has now.

create function artifacts.parse_inbox_position(position_text text) returns pg_snapshot
language plpgsql
stable
set search_path = ''
as $$
declare
  place constant text := agents.place_of(parse_inbox_position.position_text, 'after');
  parsed pg_snapshot;
begin
  if place is null then
    return null;
  end if;
  begin
    parsed := place::pg_snapshot;
  -- pg_input_is_valid would test this without an exception, but exists only since PostgreSQL 16.
  exception when invalid_text_representation or numeric_value_out_of_range then
    parsed := null;
  end;
  -- This position is from the future: the database was restored, and the operator has not begun a
  -- new epoch yet.
  if pg_snapshot_xmax(parsed) > pg_snapshot_xmax(agents.present_snapshot()) then
    perform agents.expire_position('after');
  end if;
  if parsed is null then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "after", "message": "Must be the latest of an earlier answer."}]}';
  end if;
  return parsed;
end
$$;
comment on function artifacts.parse_inbox_position(text) is
  'The snapshot in which an inbox was read, from its `latest`. Raises invalid_request, '
  'position_expired.';

create function public.agent_api_list_inbox(
  caller jsonb,
  agent_id text,
  max_entries integer,
  after_grant_id text,
  from_agent text default null,
  after text default null,
  states text[] default null
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  subject text := agents.subject_of(agent_api_list_inbox.caller, agent_api_list_inbox.agent_id);
  since pg_snapshot := artifacts.parse_inbox_position(agent_api_list_inbox.after);
  after_granted_at timestamptz;
  -- Most agents never take a task. For them, no row of a task is looked for.
  may_have_tasks boolean := exists (select from artifacts.task_queues q where q.queue = subject)
    or exists (select from agents.agent_tags t where t.agent_id = subject);
  answer json;
begin
  if agent_api_list_inbox.after_grant_id is not null then
    select g.granted_at into after_granted_at
    from artifacts.grants g
    where g.grant_id = agent_api_list_inbox.after_grant_id
      -- The agent may have lost the tag since the previous page. Only the grant's time is used.
      and (g.grantee = subject or g.to_tag is not null);
    -- A restore lost the grant, or it was deleted.
    if not found then
      perform agents.expire_position('cursor');
    end if;
  end if;

  with walked as (
    select e.*
    from artifacts.inbox_entries(
      subject, agent_api_list_inbox.from_agent, since, agent_api_list_inbox.max_entries,
      after_granted_at,
      agent_api_list_inbox.after_grant_id
    ) e
  ), live as (
    select w.given, a.artifact, t.task
    from walked w
    -- `limit 1` forces one lookup in each index per grant. Otherwise the planner, which does not
    -- know the number of grants, reads all of a table once that has about 20,000 rows.
    cross join lateral (
      select i as artifact, i.state, i.expires_at
      from artifacts.artifacts i
      where i.artifact_id = (w.given).artifact_id
      limit 1
    ) a
    left join lateral (
      select d.downloads < d.max_downloads as has_more
      from artifacts.grant_downloads d
      where d.grant_id = (w.given).grant_id
      limit 1
    ) d on true
    left join lateral (
      select t as task, artifacts.state_now(t.state, t.ready_at, t.attempt, t.max_attempts) as state, t.taken_by
      from artifacts.tasks t
      where may_have_tasks
        and t.grant_id = (w.given).grant_id
        and t.queue = artifacts.queue_of(
          subject, (w.given).to_tag,
          (w.given).to_tag is not null and exists (
            select from artifacts.hand_overs h where h.grant_id = (w.given).grant_id and h.is_shared
          )
        )
      limit 1
    ) t on true
    where w.is_shown
      and case
        when t.state is null then agent_api_list_inbox.states is null or 'waiting' = any (agent_api_list_inbox.states)
        -- While another agent of the tag has it, it is not shown.
        when t.state in ('taken', 'done') and t.taken_by <> subject then false
        when agent_api_list_inbox.states is null then t.state in ('waiting', 'taken')
        else t.state = any (agent_api_list_inbox.states)
      end
      and a.state in ('committed', 'superseded')
      and a.expires_at > now()
      and d.has_more is not false
    order by (w.given).granted_at desc, (w.given).grant_id desc
    -- One more than asked for tells whether there is a next page.
    limit agent_api_list_inbox.max_entries + 1
  ), page as (
    select l.*
    from live l
    order by (l.given).granted_at desc, (l.given).grant_id desc
    limit agent_api_list_inbox.max_entries
  )
  select json_build_object(
    'grants', (
      select coalesce(
        json_agg(
          artifacts.entry_json(p.given, p.artifact, h.note, h.reply_to, h.is_shared, p.task)
          order by (p.given).granted_at desc, (p.given).grant_id desc
        ),
        '[]'
      )
      from page p
      cross join artifacts.hand_over_of((p.given).grant_id) h
    ),
    'next_cursor', case
      when (select count(*) from live) > agent_api_list_inbox.max_entries
        then (
          select (p.given).grant_id from page p order by (p.given).granted_at, (p.given).grant_id limit 1
        )
      when (select count(*) from walked) = agent_api_list_inbox.max_entries + 1000
        then (
          select (w.given).grant_id from walked w order by (w.given).granted_at, (w.given).grant_id limit 1
        )
    end,
    'latest', agents.position_at(agents.present_snapshot()::text)
  ) into answer;
  -- Only an answer that shows the agent itself all there is, or all since a position, is noted.
  if agent_api_list_inbox.caller ->> 'kind' <> 'operator'
    and agent_api_list_inbox.from_agent is null
    and agent_api_list_inbox.states is null
    and agent_api_list_inbox.after_grant_id is null
    and json_array_length(answer -> 'grants') > 0
    and answer ->> 'next_cursor' is null
  then
    perform artifacts.tell_of_view(subject);
  end if;
  return answer;
end
$$;
comment on function public.agent_api_list_inbox(jsonb, text, integer, text, text, text, text[]) is
  'The live grants to an agent and its tags that allow another download, newest first, after the '
  'last grant of an earlier page; never a token. from_agent: only those of one sender. after is '
  'the latest of an earlier answer: only those made since then, and those to a tag that the agent '
  'got since then. states: the states of tasks to show; by default waiting, and what the agent '
  'itself has taken. A page may be short or empty before the last. Raises forbidden, '
  'invalid_request, position_expired.';

-- schemas/artifacts/grants/recipients.sql

-- Whom an agent has handed to, and who has handed to it: the names of its live grants. Each name is
-- one step through an index, however many grants it has. The planner expects few grants per agent,
-- and might read and sort all of them. The settings forbid that.

create index grants_by_granter_and_grantee on artifacts.grants (from_agent, grantee, live_until)
  where grantee is not null;

create function artifacts.grantees_from(from_agent text, after_name text, max_names integer)
returns table (name text, live_until timestamptz)
language plpgsql
stable
set search_path = ''
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  return query
  with recursive names (name, number) as (
    select grantees_from.after_name collate "C", 0
    union all
    select (
      select g.grantee
      from artifacts.grants g
      where g.from_agent = grantees_from.from_agent and g.grantee > n.name
      order by g.from_agent, g.grantee
      limit 1
    ), n.number + 1
    from names n
    where n.name is not null and n.number < grantees_from.max_names
  )
  select n.name, (
    select g.live_until
    from artifacts.grants g
    where g.from_agent = grantees_from.from_agent and g.grantee = n.name
    order by g.from_agent desc, g.grantee desc, g.live_until desc
    limit 1
  )
  from names n
  where n.number > 0 and n.name is not null;
end
$$;
comment on function artifacts.grantees_from(text, text, integer) is
  'The first max_names grantees after a name (agents, and `#` with a tag) to which an agent has a '
  'grant on record, in byte order, and when the last of these grants ends or ended.';

create function artifacts.granters_to(grantees text[], after_name text, max_names integer)
returns table (name text, live_until timestamptz)
language plpgsql
stable
set search_path = ''
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  return query
  with recursive names (name, number) as (
    select granters_to.after_name collate "C", 0
    union all
    select (
      select min(f.from_agent)
      from unnest(granters_to.grantees) as e (grantee)
      cross join lateral (
        select g.from_agent::text collate "C" as from_agent
        from artifacts.grants g
        where g.grantee = e.grantee and g.from_agent > n.name
        order by g.grantee, g.from_agent
        limit 1
      ) f
    ), n.number + 1
    from names n
    where n.name is not null and n.number < granters_to.max_names
  )
  select n.name, (
    select max(l.live_until)
    from unnest(granters_to.grantees) as e (grantee)
    cross join lateral (
      select g.live_until
      from artifacts.grants g
      where g.grantee = e.grantee and g.from_agent = n.name
      order by g.grantee desc, g.from_agent desc, g.live_until desc
      limit 1
    ) l
  )
  from names n
  where n.number > 0 and n.name is not null;
end
$$;
comment on function artifacts.granters_to(text[], text, integer) is
  'The first max_names agents after a name that have a grant to one of these grantees on record, in '
  'byte order, and when the last of these grants ends or ended.';

create function public.agent_api_list_recipients(
  caller jsonb,
  agent_id text,
  max_entries integer,
  after_name text default null
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  subject text := agents.subject_of(
    agent_api_list_recipients.caller, agent_api_list_recipients.agent_id
  );
  begins_after text := coalesce(agent_api_list_recipients.after_name, '');
  -- One more than asked for tells whether there is a next page. Names whose grants have all ended
  -- count, so that they cannot slow a page down.
  most constant integer := agent_api_list_recipients.max_entries + 1;
  blocked constant text[] := artifacts.senders_blocked_by(subject);
  instant timestamptz := clock_timestamp();
  answer json;
begin
  -- A function's result has the database's collation.
  with given as materialized (
    select g.name collate "C" as name, g.live_until
    from artifacts.grantees_from(subject, begins_after, most) g
  ), received as materialized (
    select r.name collate "C" as name, r.live_until
    from artifacts.grantees_of(subject, null) o
    cross join artifacts.granters_to(o.grantees, begins_after, most) r
  ), walked as (
    -- Up to this name, both lists are complete; null: to their ends.
    select min(l.last_name) as last_name
    from (
      select max(g.name) as last_name from given g having count(*) = most
      union all
      select max(r.name) from received r having count(*) = most
    ) l
  ), listed as (
    select name, g.live_until as given_until, r.live_until as received_until
    from (select g.* from given g where g.live_until > instant) g
    full join (
      select r.* from received r where r.live_until > instant and r.name <> all (blocked)
    ) r using (name)
    where name <= coalesce((select w.last_name from walked w), name)
    order by name
    limit most
  ), page as (
    select l.* from listed l order by l.name limit agent_api_list_recipients.max_entries
  )
  select json_build_object(
    'recipients', (
      select coalesce(
        json_agg(
          jsonb_build_object(
            'agent_id', case when not starts_with(p.name, '#') then p.name end,
            'given_until', agents.iso_timestamp(p.given_until),
            'received_until', agents.iso_timestamp(p.received_until)
          ) || case
            when starts_with(p.name, '#') then jsonb_build_object('tag', substr(p.name, 2))
            else jsonb '{}'
          end
          order by p.name
        ),
        '[]'
      )
      from page p
    ),
    'next_cursor', case
      when (select count(*) from listed) = most then (select max(p.name) from page p)
      else (select w.last_name from walked w)
    end
  ) into answer;
  return answer;
end
$$;
comment on function public.agent_api_list_recipients(jsonb, text, integer, text) is
  'The agents and tags to which an agent has live grants, and the agents that have live grants to '
  'it or to a tag of it, except those that it blocked: tags first, each in byte order, after '
  'after_name. A page may be short or empty before the last. Raises forbidden, invalid_request.';

-- schemas/artifacts/grants/given_work.sql

-- What becomes of a grant as work, for its giver.

create function artifacts.count_tasks(grant_id text, to_tag text) returns jsonb
language plpgsql
stable
set search_path = ''
-- For the same reason as in grant_ids_since.
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  return (
    select jsonb_build_object(
      'waiting', count(*) filter (where s.state = 'waiting'),
      'taken', count(*) filter (where s.state = 'taken'),
      'done', count(*) filter (where s.state = 'done'),
      'parked', count(*) filter (where s.state = 'parked')
    )
    from (
      (
        select artifacts.state_now(t.state, t.ready_at, t.attempt, t.max_attempts) as state
        from artifacts.tasks t
        where t.grant_id = count_tasks.grant_id
        limit 1000
      )
      union all
      (
        -- The agents of the tag that have not looked for work yet.
        select 'waiting'
        from agents.agent_tags a
        where a.tag = count_tasks.to_tag
          and not exists (
            select
            from artifacts.tasks t
            where t.grant_id = count_tasks.grant_id and t.queue = a.agent_id || '#' || a.tag
          )
        limit 1000
      )
    ) s
  );
end
$$;
comment on function artifacts.count_tasks(text, text) is
  'Of a grant to each agent of a tag: how many of its tasks are in which state, up to 1000 of the '
  'tasks that agents have looked at, and 1000 of the others.';

create function artifacts.work_of(given artifacts.grants) returns table (work jsonb)
language sql
stable
-- Always returns one row. An SQL-standard body is inlined.
begin atomic
  select jsonb_build_object(
    'note', h.note,
    'deliver', case when (work_of.given).grantee is not null then artifacts.delivery(h.is_shared) end,
    'state', case
      when (work_of.given).to_agent is not null or h.is_shared
      then artifacts.state_now(t.state, t.ready_at, t.attempt, t.max_attempts)
    end,
    'attempt', case
      when (work_of.given).to_agent is not null or h.is_shared then coalesce(t.attempt, 0)
    end,
    -- Whoever takes or finishes a task has seen it.
    'shown_at', agents.iso_timestamp(least(v.shown_at, t.first_taken_at, t.done_at)),
    'taken_by', case when t.state = 'done' or t.state = 'taken' and t.ready_at > now() then t.taken_by end,
    'taken_until', case
      when t.state = 'taken' and t.ready_at > now() then agents.iso_timestamp(t.ready_at)
    end,
    'done_at', agents.iso_timestamp(t.done_at),
    'reason', t.reason,
    'reply_grant_id', t.reply_grant_id,
    'tasks', case
      when (work_of.given).to_tag is not null and not h.is_shared
      then artifacts.count_tasks((work_of.given).grant_id, (work_of.given).to_tag)
    end
  )
  from artifacts.hand_over_of((work_of.given).grant_id) h
  left join lateral (
    select k.state, k.ready_at, k.attempt, k.max_attempts, k.taken_by, k.first_taken_at, k.done_at,
      k.reason, k.reply_grant_id
    from artifacts.tasks k
    where k.grant_id = (work_of.given).grant_id
      and k.queue = coalesce((work_of.given).to_agent, case when h.is_shared then '#' || (work_of.given).to_tag end)
    limit 1
  ) t on true
  left join lateral (
    select s.shown_at
    from artifacts.inbox_views s
    where s.grantee = (work_of.given).grantee
      and s.seen_through > (work_of.given).transaction_id
      and pg_visible_in_snapshot((work_of.given).transaction_id, s.seen)
    order by s.grantee, s.seen_through
    limit 1
  ) v on true;
end;
comment on function artifacts.work_of(artifacts.grants) is
  'A grant as work, as its giver sees it: {note, deliver, state, attempt, shown_at, taken_by, '
  'taken_until, done_at, reason, reply_grant_id, tasks}. For a grant to each agent of a tag, tasks '
  'counts them by state, and state is null.';

-- schemas/artifacts/grants/given_grants.sql

-- What an agent has granted to others.

create function artifacts.given_grants(
  agent_id text,
  artifact_id text,
  grantees text[],
  after_live_until timestamptz,
  after_grant_id text,
  max_entries integer
) returns setof artifacts.grants
language plpgsql
stable
set search_path = ''
-- For the same reason as in grant_ids_since.
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  -- Each query reads a range of an index that separates live grants from ended ones.
  if given_grants.artifact_id is not null then
    return query
      select g.*
      from artifacts.grants g
      -- Row comparisons, as in live_grants: for equations, the planner might read all live grants
      -- of the agent, which are in this order, too.
      where (g.artifact_id, g.live_until) >= (given_grants.artifact_id, given_grants.after_live_until)
        and (g.artifact_id, g.live_until) <= (given_grants.artifact_id, timestamptz 'infinity')
        and (g.live_until, g.grant_id) > (given_grants.after_live_until, given_grants.after_grant_id)
        and g.from_agent = given_grants.agent_id
        and (given_grants.grantees is null or g.grantee = any (given_grants.grantees))
      order by g.artifact_id, g.live_until, g.grant_id
      limit given_grants.max_entries;
  elsif given_grants.grantees is not null then
    return query
      select g.*
      from unnest(given_grants.grantees) as e (grantee)
      cross join lateral (
        select g.*
        from artifacts.grants g
        where g.grantee = e.grantee
          and g.from_agent = given_grants.agent_id
          and g.live_until >= given_grants.after_live_until
          and (g.live_until, g.grant_id) > (given_grants.after_live_until, given_grants.after_grant_id)
        order by g.grantee, g.from_agent, g.live_until, g.grant_id
        limit given_grants.max_entries
      ) g
      order by g.live_until, g.grant_id
      limit given_grants.max_entries;
  else
    return query
      select g.*
      from artifacts.grants g
      where g.from_agent = given_grants.agent_id
        and (g.live_until, g.grant_id) > (given_grants.after_live_until, given_grants.after_grant_id)
      order by g.from_agent, g.live_until, g.grant_id
      limit given_grants.max_entries;
  end if;
end
$$;
comment on function artifacts.given_grants(text, text, text[], timestamptz, text, integer) is
  'The next max_entries live grants that an agent gave, those that end first. Optionally only '
  'those of one artifact, or to these grantees.';

create function artifacts.downloads_of(grant_id text)
returns table (max_downloads integer, downloads bigint)
language sql
stable
-- Always returns one row. An SQL-standard body is inlined.
begin atomic
  select d.max_downloads,
    coalesce(d.downloads, 0) + case when d.max_downloads is null then coalesce(r.reads, 0) else 0 end
  from (values (downloads_of.grant_id collate "C")) g (grant_id)
  left join artifacts.grant_downloads d on d.grant_id = g.grant_id
  left join agents.reads r on r.object_id = g.grant_id and r.reader = '';
end;
comment on function artifacts.downloads_of(text) is
  'How often a grant was used, and how often it may be (null: any number). For a grant without a '
  'limit, only downloads with its token are counted.';

create function artifacts.describe_any_grant(given artifacts.grants)
returns table (described jsonb, has_artifact boolean)
language sql
stable
begin atomic
  select jsonb_build_object(
      'grant_id', (describe_any_grant.given).grant_id,
      'artifact_id', (describe_any_grant.given).artifact_id,
      'key', a.key,
      'to_agent', (describe_any_grant.given).to_agent,
      'granted_at', agents.iso_timestamp((describe_any_grant.given).granted_at),
      'expires_at', agents.iso_timestamp((describe_any_grant.given).expires_at),
      'max_downloads', d.max_downloads,
      'downloads', d.downloads
    ) || artifacts.tag_of_grant(describe_any_grant.given) || case
      when (describe_any_grant.given).standing_id is null then jsonb '{}'
      else jsonb_build_object('standing_id', (describe_any_grant.given).standing_id)
    end || w.work,
    a.state in ('committed', 'superseded') and a.expires_at > now()
  from (
    select i.key, i.state, i.expires_at
    from artifacts.artifacts i
    where i.artifact_id = (describe_any_grant.given).artifact_id
    limit 1
  ) a
  cross join artifacts.downloads_of((describe_any_grant.given).grant_id) d
  cross join artifacts.work_of(describe_any_grant.given) w;
end;
comment on function artifacts.describe_any_grant(artifacts.grants) is
  'A grant as its giver sees it, and whether its artifact has not ended. No row if that is forgotten.';

create function artifacts.describe_grant(given artifacts.grants) returns table (described jsonb)
language sql
stable
begin atomic
  select d.described
  from artifacts.describe_any_grant(describe_grant.given) d
  -- A grant ends with its artifact.
  where d.has_artifact;
end;
comment on function artifacts.describe_grant(artifacts.grants) is
  'A grant as its giver sees it, or no row if its artifact has ended.';

-- The cursor of the next page is `<microseconds since 1970>.<grant_id>`: the end and the id of the
-- last grant of this page.

create function artifacts.position_after(last_of_page artifacts.grants) returns text
language sql
immutable
return (extract(epoch from (position_after.last_of_page).live_until) * 1000000)::bigint
  || '.' || (position_after.last_of_page).grant_id;
comment on function artifacts.position_after(artifacts.grants) is
  'Where the page after this grant begins.';

create function artifacts.read_position(
  in next_page text,
  out after_live_until timestamptz,
  out after_grant_id text
)
language plpgsql
stable
set search_path = ''
as $$
begin
  after_live_until := timestamptz '1970-01-01Z'
    + nullif(split_part(read_position.next_page, '.', 1), '')::bigint * interval '1 microsecond';
  after_grant_id := split_part(read_position.next_page, '.', 2);
  if after_live_until is null or after_live_until <= now() then
    -- After every grant that ends exactly now: `~` sorts after every grant_id.
    after_live_until := now();
    after_grant_id := '~';
  end if;
end
$$;
comment on function artifacts.read_position(text) is
  'The end and the id of the grant after which a page begins, never before now. For null or an '
  'empty text: the first page.';

create function public.agent_api_list_grants(
  caller jsonb,
  agent_id text,
  artifact_id text,
  to_agent text,
  max_entries integer,
  cursor text,
  to_tag text default null,
  grant_id text default null
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  subject text := agents.subject_of(agent_api_list_grants.caller, agent_api_list_grants.agent_id);
  -- Empty: grants to anyone.
  grantees constant text[] := array_remove(
    array[artifacts.grantee(agent_api_list_grants.to_agent, agent_api_list_grants.to_tag)], null
  );
  answer json;
begin
  if agent_api_list_grants.grant_id is not null then
    select json_build_object(
      'grants', coalesce(
        json_agg(d.described || jsonb_build_object('ended', not (n.live_until > now() and d.has_artifact))),
        '[]'
      ),
      'next_cursor', null
    ) into answer
    from (
      select g as given, g.live_until
      from artifacts.grants g
      where g.grant_id = agent_api_list_grants.grant_id
        and g.from_agent = subject
        and (agent_api_list_grants.artifact_id is null or g.artifact_id = agent_api_list_grants.artifact_id)
        and (grantees = '{}' or g.grantee = any (grantees))
      limit 1
    ) n
    cross join artifacts.describe_any_grant(n.given) d;
    return answer;
  end if;
  with walked as (
    select g as given, row_number() over (order by g.live_until, g.grant_id) as number
    from artifacts.read_position(agent_api_list_grants.cursor) p
    cross join artifacts.given_grants(
      subject, agent_api_list_grants.artifact_id, nullif(grantees, '{}'), p.after_live_until,
      p.after_grant_id,
      -- One more than asked for tells whether there is a next page.
      agent_api_list_grants.max_entries + 1
    ) g
  ), page as (
    select w.* from walked w where w.number <= agent_api_list_grants.max_entries
  )
  select json_build_object(
    'grants', (
      select coalesce(json_agg(d.described order by p.number), '[]')
      from page p
      cross join artifacts.describe_grant(p.given) d
      -- What was revoked stays so if the clock goes back to before that.
      where (p.given).revoked_at is null
    ),
    'next_cursor', case
      when (select count(*) from walked) > agent_api_list_grants.max_entries then (
        select artifacts.position_after(p.given) from page p order by p.number desc limit 1
      )
    end
  ) into answer;
  return answer;
end
$$;
comment on function public.agent_api_list_grants(jsonb, text, text, text, integer, text, text, text) is
  'The live grants that an agent has given, those that end first. Optionally only those of one '
  'artifact, to one agent or to one tag. A page may be short or empty before the last. With '
  'grant_id: that grant, even if it has ended, and whether it has. Raises forbidden, '
  'invalid_request.';

-- schemas/artifacts/tasks/filling.sql

-- Makes tasks of the grants that a queue has got since it was last looked at.

create function artifacts.has_unfilled_grants(grantee text, queue text) returns boolean
language plpgsql
stable
set search_path = ''
-- For the same reason as in grant_ids_since.
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  return exists (
    select
    from artifacts.grants g
    where g.grantee = has_unfilled_grants.grantee
      and g.transaction_id > coalesce(
        (select q.filled_through from artifacts.task_queues q where q.queue = has_unfilled_grants.queue),
        '0'
      )
  );
end
$$;
comment on function artifacts.has_unfilled_grants(text, text) is
  'Whether a grantee has grants that the queue has not looked at. Also true for a few that it has, '
  'while an older transaction is still writing.';

create function artifacts.fill_queue(agent_id text, to_tag text) returns void
language plpgsql
volatile
set search_path = ''
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  -- An upper limit on the grants that one call reads, in steps.
  grants_per_step constant integer := 1000;
  max_steps constant integer := 10;
  -- A variable: an index does not help with a volatile function.
  instant constant timestamptz := clock_timestamp();
  own_queue constant text := coalesce(fill_queue.agent_id, '') || coalesce('#' || fill_queue.to_tag, '');
  named constant text := artifacts.grantee(
    case when fill_queue.to_tag is null then fill_queue.agent_id end, fill_queue.to_tag
  );
  filled xid8;
  settled xid8;
  last_read xid8;
  read_count bigint;
begin
  insert into artifacts.task_queues (agent_id, to_tag) values (fill_queue.agent_id, fill_queue.to_tag)
  on conflict on constraint task_queues_pkey do nothing;
  -- Looks at one queue run one at a time, so none waits for another in the middle of its rows.
  select q.filled_through into filled from artifacts.task_queues q where q.queue = own_queue for update;
  -- The first look reads no grants that ended before it, however many there are.
  if filled = '0' then
    settled := (agents.horizon()::text::bigint - 1)::text::xid8;
    with live as (
      select g.grant_id, g.granted_at
      from artifacts.grants g
      where g.grantee = named and g.live_until > instant
      order by g.grantee, g.live_until
      limit max_steps * grants_per_step + 1
    ), filled_rows as (
      insert into artifacts.tasks (grant_id, agent_id, to_tag, max_attempts, ready_at)
      select l.grant_id, fill_queue.agent_id, fill_queue.to_tag, h.max_attempts, l.granted_at
      from live l
      cross join artifacts.hand_over_of(l.grant_id) h
      -- If there are more, only the steps below know where to go on.
      where (select count(*) from live) <= max_steps * grants_per_step
        and (fill_queue.to_tag is null or h.is_shared = (fill_queue.agent_id is null))
      on conflict on constraint an_agent_has_a_task_once do nothing
    )
    select count(*) into read_count from live;
    if read_count <= max_steps * grants_per_step then
      update artifacts.task_queues q set filled_through = settled where q.queue = own_queue;
      return;
    end if;
  end if;
  for step in 1..max_steps loop
    -- Read before the grants: every transaction up to here has ended, so its grants are seen.
    settled := (agents.horizon()::text::bigint - 1)::text::xid8;
    with step as (
      -- All grants of the last transaction, so that the next step can begin after it.
      select g.grant_id, g.transaction_id, g.granted_at, g.live_until
      from artifacts.grants g
      where g.grantee = named and g.transaction_id > filled
      order by g.grantee, g.transaction_id
      fetch first grants_per_step rows with ties
    ), filled_rows as (
      insert into artifacts.tasks (grant_id, agent_id, to_tag, max_attempts, ready_at)
      select s.grant_id, fill_queue.agent_id, fill_queue.to_tag, h.max_attempts, s.granted_at
      from step s
      cross join artifacts.hand_over_of(s.grant_id) h
      where s.live_until > clock_timestamp()
        and (fill_queue.to_tag is null or h.is_shared = (fill_queue.agent_id is null))
      on conflict on constraint an_agent_has_a_task_once do nothing
    )
    select count(*), (array_agg(s.transaction_id order by s.transaction_id desc))[1]
    into read_count, last_read
    from step s;
    exit when read_count = 0;
    filled := greatest(filled, least(last_read, settled));
    exit when read_count < grants_per_step or last_read > settled;
  end loop;
  update artifacts.task_queues q
  set filled_through = filled
  where q.queue = own_queue and q.filled_through < filled;
end
$$;
comment on function artifacts.fill_queue(text, text) is
  'Makes tasks of the grants that a queue has got since the last call, at most of about 10,000. '
  'Grants of a transaction that is newer than one still writing are looked at again next time.';

create function artifacts.fill_queues(agent_id text) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  next record;
begin
  for next in
    select n.agent_id, n.to_tag
    from (
      values (fill_queues.agent_id, null::text)
      union all
      select w.agent_id, t.tag
      from agents.agent_tags t
      cross join lateral (values (null::text), (fill_queues.agent_id)) w (agent_id)
      where t.agent_id = fill_queues.agent_id
    ) n (agent_id, to_tag)
    where artifacts.has_unfilled_grants(
      artifacts.grantee(case when n.to_tag is null then n.agent_id end, n.to_tag),
      coalesce(n.agent_id, '') || coalesce('#' || n.to_tag, '')
    )
    -- Agents of one tag share a queue: the same order for all of them.
    order by n.to_tag nulls first, n.agent_id nulls first
  loop
    perform artifacts.fill_queue(next.agent_id, next.to_tag);
  end loop;
end
$$;
comment on function artifacts.fill_queues(text) is
  'Calls fill_queue for each queue of an agent that has something new.';

create function artifacts.has_task(agent_id text, from_agent text, prefix text) returns boolean
language plpgsql
stable
set search_path = ''
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  return exists (
      select
      from unnest(artifacts.queues_of(has_task.agent_id)) as q (queue)
      cross join lateral (
        select
        from artifacts.tasks t
        cross join lateral (
          select g.from_agent, g.artifact_id from artifacts.grants g where g.grant_id = t.grant_id limit 1
        ) g
        cross join lateral (
          select a.key from artifacts.artifacts a where a.artifact_id = g.artifact_id limit 1
        ) a
        where t.queue = q.queue
          and t.ready_at <= now()
          and (has_task.from_agent is null or g.from_agent = has_task.from_agent)
          and (has_task.prefix is null or starts_with(a.key, has_task.prefix))
          and not artifacts.is_blocked(has_task.agent_id, g.from_agent)
        limit 1
      ) t
    )
    or artifacts.has_unfilled_grants(has_task.agent_id, has_task.agent_id)
    or exists (
      select
      from agents.agent_tags t
      where t.agent_id = has_task.agent_id
        and (
          artifacts.has_unfilled_grants('#' || t.tag, '#' || t.tag)
          or artifacts.has_unfilled_grants('#' || t.tag, has_task.agent_id || '#' || t.tag)
        )
    );
end
$$;
comment on function artifacts.has_task(text, text, text) is
  'Whether /inbox/take may find a task for an agent now: one that waits or whose take has lapsed, '
  'or a grant that it has not looked at yet.';

-- schemas/artifacts/tasks/taking.sql

-- Taking tasks: each is held by one agent at a time, under the name of its take.

create function artifacts.next_queue(queues text[], instant timestamptz) returns text
language plpgsql
stable
set search_path = ''
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  return (
    select q.queue
    from unnest(next_queue.queues) as q (queue)
    cross join lateral (
      select t.ready_at
      from artifacts.tasks t
      where t.queue = q.queue and t.ready_at <= next_queue.instant
      order by t.queue, t.ready_at
      limit 1
    ) t
    order by t.ready_at
    limit 1
  );
end
$$;
comment on function artifacts.next_queue(text[], timestamptz) is
  'The queue whose oldest task has waited longest; null: none has a task that can be taken.';

create function artifacts.lock_ready_tasks(
  queue text,
  instant timestamptz,
  prefix text,
  from_agent text,
  blocked text[],
  max_entries integer
) returns setof artifacts.tasks
language plpgsql
volatile
set search_path = ''
-- For the same reason as in grant_ids_since.
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  return query
    select t.*
    from artifacts.tasks t
    cross join lateral (
      select g.from_agent, g.artifact_id from artifacts.grants g where g.grant_id = t.grant_id limit 1
    ) g
    cross join lateral (
      select a.key from artifacts.artifacts a where a.artifact_id = g.artifact_id limit 1
    ) a
    where t.queue = lock_ready_tasks.queue
      and t.ready_at <= lock_ready_tasks.instant
      and (lock_ready_tasks.from_agent is null or g.from_agent = lock_ready_tasks.from_agent)
      and g.from_agent <> all (lock_ready_tasks.blocked)
      and (lock_ready_tasks.prefix is null or starts_with(a.key, lock_ready_tasks.prefix))
    order by t.queue, t.ready_at, t.grant_id
    limit lock_ready_tasks.max_entries
    -- A task that is being taken is not waited for.
    for update of t skip locked;
end
$$;
comment on function artifacts.lock_ready_tasks(text, timestamptz, text, text, text[], integer) is
  'The oldest tasks of a queue that nobody is taking. Their grants may have ended.';

create function artifacts.settle_lapse(caller jsonb, caller_agent text, lapsed artifacts.tasks, given artifacts.grants)
returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  update artifacts.tasks t
  set state = 'parked', ready_at = null, take_id = null, reason = 'The last take lapsed.'
  where t.grant_id = (settle_lapse.lapsed).grant_id and t.queue = (settle_lapse.lapsed).queue;
  perform artifacts.record_task(
    settle_lapse.caller, settle_lapse.caller_agent, 'task.parked', (settle_lapse.lapsed).taken_by, settle_lapse.given,
    jsonb_build_object('attempt', (settle_lapse.lapsed).attempt)
  );
end
$$;
comment on function artifacts.settle_lapse(jsonb, text, artifacts.tasks, artifacts.grants) is
  'Parks a task whose last attempt lapsed. The look that finds it calls this.';

create function artifacts.take_task(
  caller jsonb,
  caller_agent text,
  agent_id text,
  waiting artifacts.tasks,
  seconds integer
) returns jsonb
language plpgsql
volatile
set search_path = ''
as $$
declare
  given artifacts.grants;
  artifact artifacts.artifacts;
  said record;
  taken artifacts.tasks;
begin
  select g.* into given from artifacts.grants g where g.grant_id = (take_task.waiting).grant_id;
  select a.* into artifact from artifacts.artifacts a where a.artifact_id = given.artifact_id;
  if given.live_until <= clock_timestamp()
    or artifact.state = 'deleted'
    or artifact.ended_at is not null
    or artifact.expires_at <= clock_timestamp()
  then
    -- It ended with its grant.
    delete from artifacts.tasks t where t.grant_id = (take_task.waiting).grant_id and t.queue = (take_task.waiting).queue;
    return null;
  end if;
  if (take_task.waiting).attempt >= (take_task.waiting).max_attempts then
    perform artifacts.settle_lapse(take_task.caller, take_task.caller_agent, take_task.waiting, given);
    return null;
  end if;
  update artifacts.tasks t
  set state = 'taken',
    attempt = t.attempt + 1,
    ready_at = clock_timestamp() + make_interval(secs => take_task.seconds),
    take_id = 'take_' || replace(gen_random_uuid()::text, '-', ''),
    taken_by = take_task.agent_id,
    first_taken_at = coalesce(t.first_taken_at, clock_timestamp()),
    waits_again_since = null
  where t.grant_id = (take_task.waiting).grant_id and t.queue = (take_task.waiting).queue
  returning t.* into taken;
  perform artifacts.record_task(
    take_task.caller, take_task.caller_agent, 'task.taken', take_task.agent_id, given,
    jsonb_build_object('attempt', taken.attempt)
  );
  select h.* into said from artifacts.hand_over_of(given.grant_id) h;
  return artifacts.entry_json(given, artifact, said.note, said.reply_to, said.is_shared, taken) || jsonb_build_object(
    'take_id', taken.take_id, 'taken_until', agents.iso_timestamp(taken.ready_at)
  );
end
$$;
comment on function artifacts.take_task(jsonb, text, text, artifacts.tasks, integer) is
  'Gives a locked task to an agent: what /inbox/take answers about it. Null if there is nothing to '
  'do: its grant has ended, or its last attempt lapsed.';

create function public.agent_api_take_tasks(
  caller jsonb,
  agent_id text,
  max_entries integer,
  seconds integer,
  prefix text default null,
  from_agent text default null
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  subject text;
  queues text[];
  blocked text[];
  instant timestamptz;
  next_queue text;
  wanted integer;
  found_count integer;
  waiting artifacts.tasks;
  taken jsonb;
  tasks jsonb[] := '{}'::jsonb[];
begin
  caller_agent := agents.admit(agent_api_take_tasks.caller);
  subject := agents.require_self(caller_agent, agent_api_take_tasks.agent_id);
  perform artifacts.fill_queues(subject);
  queues := artifacts.queues_of(subject);
  blocked := artifacts.senders_blocked_by(subject);
  instant := clock_timestamp();
  loop
    wanted := agent_api_take_tasks.max_entries - cardinality(tasks);
    exit when wanted = 0;
    next_queue := artifacts.next_queue(queues, instant);
    exit when next_queue is null;
    if cardinality(queues) > 1 then
      -- One at a time, because another queue may have the next oldest.
      wanted := 1;
    end if;
    found_count := 0;
    for waiting in
      select t.*
      from artifacts.lock_ready_tasks(
        next_queue, instant, agent_api_take_tasks.prefix, agent_api_take_tasks.from_agent, blocked, wanted
      ) t
    loop
      found_count := found_count + 1;
      taken := artifacts.take_task(
        agent_api_take_tasks.caller, caller_agent, subject, waiting, agent_api_take_tasks.seconds
      );
      if taken is not null then
        tasks := tasks || taken;
      end if;
    end loop;
    if found_count < wanted then
      queues := array_remove(queues, next_queue);
    end if;
  end loop;
  return json_build_object('tasks', to_json(tasks));
end
$$;
comment on function public.agent_api_take_tasks(jsonb, text, integer, integer, text, text) is
  'Takes up to max_entries tasks of an agent, oldest first, for `seconds`: {tasks: [{take_id, '
  'taken_until, …}]}. Each task is held by one taker at a time. Optionally only files whose names '
  'begin with prefix, or of one sender. Raises forbidden, invalid_request.';

-- schemas/artifacts/tasks/outcomes.sql

-- What becomes of a taken task. Each call names the take, so that a taker whose take has lapsed can
-- change nothing: another agent may have the task.

create function artifacts.lock_taken_task(caller_agent text, take_id text) returns artifacts.tasks
language plpgsql
volatile
set search_path = ''
as $$
declare
  task artifacts.tasks;
begin
  select t.* into task
  from artifacts.tasks t
  where t.take_id = lock_taken_task.take_id
    and (lock_taken_task.caller_agent is null or t.taken_by = lock_taken_task.caller_agent)
  for update;
  if not found then
    raise sqlstate 'PT409' using message = 'take_lapsed';
  end if;
  return task;
end
$$;
comment on function artifacts.lock_taken_task(text, text) is
  'The task whose last take this is, locked; it may have lapsed since. Raises take_lapsed for a '
  'take that is not the last one, and for somebody else''s.';

create function artifacts.require_held(task artifacts.tasks) returns artifacts.grants
language plpgsql
stable
set search_path = ''
as $$
declare
  given artifacts.grants;
begin
  select g.* into given from artifacts.grants g where g.grant_id = (require_held.task).grant_id;
  perform artifacts.refuse_ended_grant(given);
  if (require_held.task).state <> 'taken' or (require_held.task).ready_at <= clock_timestamp() then
    raise sqlstate 'PT409' using message = 'take_lapsed';
  end if;
  return given;
end
$$;
comment on function artifacts.require_held(artifacts.tasks) is
  'The grant of a locked task whose take still holds it. Raises take_lapsed, and the errors of '
  'refuse_ended_grant.';

create function public.agent_api_extend_take(caller jsonb, take_id text, seconds integer) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  task artifacts.tasks;
begin
  caller_agent := agents.admit(agent_api_extend_take.caller);
  task := artifacts.lock_taken_task(caller_agent, agent_api_extend_take.take_id);
  perform artifacts.require_held(task);
  update artifacts.tasks t
  set ready_at = clock_timestamp() + make_interval(secs => agent_api_extend_take.seconds)
  where t.grant_id = task.grant_id and t.queue = task.queue
  returning t.* into task;
  return json_build_object('take_id', task.take_id, 'taken_until', agents.iso_timestamp(task.ready_at));
end
$$;
comment on function public.agent_api_extend_take(jsonb, text, integer) is
  'Holds a task for this many seconds from now: {take_id, taken_until}. Raises take_lapsed, '
  'grant_revoked, grant_expired, artifact_expired.';

create function artifacts.pause_after(attempt integer) returns integer
language sql
immutable
return least(3600, 10 * 2 ^ least(attempt - 1, 10))::integer;
comment on function artifacts.pause_after(integer) is
  'How many seconds a task rests after its nth failed attempt: 10, doubled each time, at most an '
  'hour.';

create function artifacts.failure_json(task artifacts.tasks) returns json
language sql
stable
return json_build_object(
  'grant_id', task.grant_id,
  'state', task.state,
  'next_at', agents.iso_timestamp(task.ready_at)
);
comment on function artifacts.failure_json(artifacts.tasks) is 'What /inbox/fail answers.';

create function public.agent_api_fail_task(
  caller jsonb,
  take_id text,
  reason text,
  retry_after_seconds integer default null,
  is_final boolean default false,
  is_interrupted boolean default false
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  task artifacts.tasks;
  given artifacts.grants;
  is_parked boolean;
  failed_attempt integer;
begin
  caller_agent := agents.admit(agent_api_fail_task.caller);
  task := artifacts.lock_taken_task(caller_agent, agent_api_fail_task.take_id);
  if task.state in ('waiting', 'parked') then
    -- A caller that lost the first answer and repeats the request gets it now.
    return artifacts.failure_json(task);
  end if;
  given := artifacts.require_held(task);
  failed_attempt := task.attempt;
  -- A worker that is stopped says nothing about the task, even in its last attempt.
  is_parked := agent_api_fail_task.is_final
    or not agent_api_fail_task.is_interrupted and task.attempt >= task.max_attempts;
  update artifacts.tasks t
  set state = case when is_parked then 'parked' else 'waiting' end,
    ready_at = case
      when not is_parked then clock_timestamp() + make_interval(
        secs => coalesce(
          agent_api_fail_task.retry_after_seconds,
          case when agent_api_fail_task.is_interrupted then 0 else artifacts.pause_after(t.attempt) end
        )
      )
    end,
    attempt = t.attempt - case when agent_api_fail_task.is_interrupted and not is_parked then 1 else 0 end,
    reason = agent_api_fail_task.reason,
    waits_again_since = case when not is_parked then agents.present_transaction() end
  where t.grant_id = task.grant_id and t.queue = task.queue
  returning t.* into task;
  perform artifacts.record_task(
    agent_api_fail_task.caller, caller_agent, case when is_parked then 'task.parked' else 'task.failed' end,
    task.taken_by, given,
    jsonb_build_object('attempt', failed_attempt, 'next_at', agents.iso_timestamp(task.ready_at))
  );
  return artifacts.failure_json(task);
end
$$;
comment on function public.agent_api_fail_task(jsonb, text, text, integer, boolean, boolean) is
  'Gives a task back: it waits again after a pause, or is parked after its last attempt or if '
  'is_final. With is_interrupted, the take was no attempt, and there is no pause. Returns {grant_id, '
  'state, next_at | null}. Raises take_lapsed, grant_revoked, grant_expired, artifact_expired.';

-- schemas/artifacts/tasks/finishing.sql

-- A task is done, with a file that answers it or without. Its outcome is recorded once.

create function artifacts.finished_json(task artifacts.tasks) returns json
language sql
stable
return json_build_object(
  'grant_id', task.grant_id,
  'state', 'done',
  'reply', case when task.reply_grant_id is not null then json_build_object('grant_id', task.reply_grant_id) end
);
comment on function artifacts.finished_json(artifacts.tasks) is 'What /inbox/done answers.';

create function artifacts.task_to_finish(caller_agent text, agent_id text, take_id text, grant_id text)
returns artifacts.tasks
language plpgsql
stable
set search_path = ''
as $$
declare
  task artifacts.tasks;
  subject text;
  given artifacts.grants;
begin
  if task_to_finish.take_id is not null then
    select t.* into task
    from artifacts.tasks t
    where t.take_id = task_to_finish.take_id
      and (task_to_finish.caller_agent is null or t.taken_by = task_to_finish.caller_agent);
    if not found then
      raise sqlstate 'PT409' using message = 'take_lapsed';
    end if;
    return task;
  end if;

  subject := agents.require_self(task_to_finish.caller_agent, task_to_finish.agent_id);
  select g.* into given
  from artifacts.grants g
  where g.grant_id = task_to_finish.grant_id
    and (
      g.to_agent = subject
      or g.to_tag in (select t.tag from agents.agent_tags t where t.agent_id = subject)
    );
  if not found then
    raise sqlstate 'PT404' using message = 'grant_not_found';
  end if;
  if (select h.is_shared from artifacts.hand_over_of(given.grant_id) h) then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "grant_id", "message": "Take it first, and send take_id: one agent of its tag works on it."}]}';
  end if;
  task.grant_id := given.grant_id;
  task.agent_id := subject;
  task.to_tag := given.to_tag;
  task.taken_by := subject;
  return task;
end
$$;
comment on function artifacts.task_to_finish(text, text, text, text) is
  'The task of a take, or of a grant to the agent itself, which may have no row. Raises '
  'take_lapsed, grant_not_found, forbidden, and invalid_request for a grant that one agent of a '
  'tag works on.';

create function public.agent_api_finish_task(
  caller jsonb,
  agent_id text,
  take_id text,
  grant_id text,
  reply_artifact_id text default null,
  reply_note text default null,
  reply_expires_at timestamptz default null,
  reply_grant_id text default null,
  reply_token_hash text default null,
  max_live_grants integer default 1000,
  max_ended_grants integer default 10000
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  wanted artifacts.tasks;
  own_queue text;
  task artifacts.tasks;
  given artifacts.grants;
  replied_with artifacts.artifacts;
begin
  caller_agent := agents.admit(agent_api_finish_task.caller);
  wanted := artifacts.task_to_finish(
    caller_agent, agent_api_finish_task.agent_id, agent_api_finish_task.take_id, agent_api_finish_task.grant_id
  );
  own_queue := coalesce(wanted.agent_id, '') || coalesce('#' || wanted.to_tag, '');
  -- The artifact of the answer is locked before the task's row. So of two calls for one task, the
  -- second waits here, and then sees the outcome of the first.
  perform pg_advisory_xact_lock(hashtextextended('task ' || wanted.grant_id || ' of ' || own_queue, 0));
  select t.* into task from artifacts.tasks t where t.grant_id = wanted.grant_id and t.queue = own_queue;
  if task.state = 'done'
    and (agent_api_finish_task.take_id is null or task.take_id = agent_api_finish_task.take_id)
  then
    -- A caller that lost the first answer and repeats the request gets it now.
    return artifacts.finished_json(task);
  end if;
  select g.* into given from artifacts.grants g where g.grant_id = wanted.grant_id;
  perform artifacts.refuse_ended_grant(given);

  if agent_api_finish_task.reply_artifact_id is not null then
    replied_with := artifacts.lock_owned_artifact(wanted.taken_by, agent_api_finish_task.reply_artifact_id);
    perform public.agent_api_grant_artifact(
      agent_api_finish_task.caller,
      replied_with.artifact_id,
      given.from_agent,
      -- A grant ends with its artifact in any case.
      coalesce(agent_api_finish_task.reply_expires_at, replied_with.expires_at),
      agent_api_finish_task.reply_grant_id,
      agent_api_finish_task.reply_token_hash,
      agent_api_finish_task.max_live_grants,
      agent_api_finish_task.max_ended_grants,
      note => agent_api_finish_task.reply_note,
      reply_to => given.grant_id
    );
  end if;

  if agent_api_finish_task.take_id is null then
    insert into artifacts.tasks (grant_id, agent_id, to_tag, ready_at)
    values (wanted.grant_id, wanted.agent_id, wanted.to_tag, clock_timestamp())
    on conflict on constraint an_agent_has_a_task_once do nothing;
    -- The inbox reads tasks only of agents that have a queue.
    insert into artifacts.task_queues (agent_id, to_tag) values (wanted.agent_id, wanted.to_tag)
    on conflict on constraint task_queues_pkey do nothing;
  end if;
  update artifacts.tasks t
  set state = 'done',
    ready_at = null,
    done_at = clock_timestamp(),
    taken_by = wanted.taken_by,
    take_id = agent_api_finish_task.take_id,
    reason = null,
    reply_grant_id = case when replied_with.artifact_id is not null then agent_api_finish_task.reply_grant_id end,
    waits_again_since = null
  where t.grant_id = wanted.grant_id
    and t.queue = own_queue
    -- Without a take, only a task that nobody holds.
    and case
      when agent_api_finish_task.take_id is null
      then t.state <> 'taken' or t.ready_at <= clock_timestamp()
      else t.state = 'taken' and t.ready_at > clock_timestamp() and t.take_id = agent_api_finish_task.take_id
    end
  returning t.* into task;
  if not found then
    raise sqlstate 'PT409' using message = 'take_lapsed';
  end if;
  perform artifacts.record_task(
    agent_api_finish_task.caller, caller_agent, 'task.done', task.taken_by, given,
    jsonb_build_object('reply_grant_id', task.reply_grant_id)
  );
  return artifacts.finished_json(task);
end
$$;
comment on function public.agent_api_finish_task(
  jsonb, text, text, text, text, text, timestamptz, text, text, integer, integer
) is
  'Records that a task is done: the task of take_id, or of grant_id for a grant to the agent '
  'itself, or to each agent of its tag, that nobody holds. With reply_artifact_id, the same '
  'transaction grants this artifact of the taker to the giver, by default until the artifact ends. '
  'Returns {grant_id, state, reply | null}, and the same again if it is repeated. Raises '
  'take_lapsed, grant_not_found, invalid_request, grant_revoked, grant_expired, artifact_expired, '
  'and those of agent_api_grant_artifact.';

-- schemas/artifacts/tasks/requeueing.sql

-- The giver lets a task begin again.

create function public.agent_api_requeue_task(caller jsonb, grant_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  given artifacts.grants;
begin
  caller_agent := agents.admit(agent_api_requeue_task.caller);
  select g.* into given
  from artifacts.grants g
  where g.grant_id = agent_api_requeue_task.grant_id
    and g.grantee is not null
    and (caller_agent is null or g.from_agent = caller_agent);
  if not found then
    raise sqlstate 'PT404' using message = 'grant_not_found';
  end if;
  perform artifacts.refuse_ended_grant(given);
  -- What is done stays done, and a taker keeps its take. Otherwise a giver that lost the answer,
  -- and repeats the request, would have work done twice that an agent took or finished meanwhile.
  update artifacts.tasks t
  set state = 'waiting',
    attempt = 0,
    ready_at = clock_timestamp(),
    take_id = null,
    waits_again_since = agents.present_transaction()
  where t.grant_id = given.grant_id
    and artifacts.state_now(t.state, t.ready_at, t.attempt, t.max_attempts) in ('waiting', 'parked');
  return json_build_object('grant_id', given.grant_id, 'state', coalesce(
    (
      select t.state
      from artifacts.tasks t
      where t.grant_id = given.grant_id
      order by array_position(array['waiting', 'taken', 'done'], t.state)
      limit 1
    ),
    'waiting'
  ));
end
$$;
comment on function public.agent_api_requeue_task(jsonb, text) is
  'Lets the parked tasks of a grant, and those that rest after a failure, wait again: at once, and '
  'their attempts count from 0. Returns {grant_id, state}: waiting, unless it was taken or done '
  'meanwhile. Idempotent. Raises grant_not_found, grant_revoked, grant_expired, artifact_expired.';

-- schemas/artifacts/tasks/settling.sql

-- What the sweep does about tasks: takes lapse without a clock, and most are found by the next look
-- of /inbox/take. For a queue that nobody looks at, the sweep is that look.

create function artifacts.is_over(given artifacts.grants) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return (is_over.given).live_until <= clock_timestamp() or not exists (
    select
    from artifacts.artifacts a
    where a.artifact_id = (is_over.given).artifact_id
      and a.state in ('committed', 'superseded')
      and a.ended_at is null
      and a.expires_at > clock_timestamp()
  );
end
$$;
comment on function artifacts.is_over(artifacts.grants) is
  'Whether a grant, or its artifact, has ended, and its task with it.';

create function public.agent_api_settle_tasks(caller jsonb, max_entries integer) returns json
language plpgsql
volatile
security invoker
set search_path = ''
-- For the same reason as in grant_ids_since.
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
declare
  -- A variable: an index does not help with a volatile function.
  instant constant timestamptz := clock_timestamp();
  -- As many as artifacts.count_parked counts.
  most_parked constant integer := 1000;
  lapsed artifacts.tasks;
  given artifacts.grants;
  waiting integer := 0;
  parked integer := 0;
begin
  perform agents.authenticate_operator(agent_api_settle_tasks.caller);
  for lapsed in
    select t.*
    from artifacts.tasks t
    where t.state = 'taken' and t.ready_at <= instant
    order by t.ready_at
    limit agent_api_settle_tasks.max_entries
    -- Its taker may be extending it, and another agent may be taking it.
    for update skip locked
  loop
    select g.* into given from artifacts.grants g where g.grant_id = lapsed.grant_id;
    if artifacts.is_over(given) then
      delete from artifacts.tasks t where t.grant_id = lapsed.grant_id and t.queue = lapsed.queue;
    elsif lapsed.attempt >= lapsed.max_attempts then
      perform artifacts.settle_lapse(agent_api_settle_tasks.caller, null, lapsed, given);
      parked := parked + 1;
    else
      -- ready_at stays: it is the task's place among those that wait.
      update artifacts.tasks t
      set state = 'waiting', take_id = null, waits_again_since = agents.present_transaction()
      where t.grant_id = lapsed.grant_id and t.queue = lapsed.queue;
      waiting := waiting + 1;
    end if;
  end loop;
  -- So that those whose grants have ended never hide the others.
  delete from artifacts.tasks t
  where t.ctid = any (array(
    select p.ctid
    from (
      select k.ctid, k.grant_id
      from artifacts.tasks k
      where k.state = 'parked'
      order by k.grant_id, k.queue
      limit most_parked
      -- Its giver may be requeueing it.
      for update skip locked
    ) p
    cross join lateral (
      select g as given from artifacts.grants g where g.grant_id = p.grant_id limit 1
    ) g
    where artifacts.is_over(g.given)
  ));
  -- No grant is that old: its file has ended.
  delete from artifacts.inbox_views v
  where v.ctid = any (array(
    select o.ctid
    from artifacts.inbox_views o
    where o.shown_at < instant - interval '400 days'
    order by o.shown_at
    limit agent_api_settle_tasks.max_entries
    for update skip locked
  ));
  return json_build_object(
    'waiting', waiting,
    'parked', parked,
    'remaining', (
      select count(*)
      from (
        select from artifacts.tasks t
        where t.state = 'taken' and t.ready_at <= instant
        order by t.ready_at
        limit 1000
      ) l
    )
  );
end
$$;
comment on function public.agent_api_settle_tasks(jsonb, integer) is
  'Settles takes that lapsed, up to max_entries: their tasks wait again, so that /inbox and /wait '
  'tell of them, or are parked after their last attempts. Deletes parked tasks whose grants have '
  'ended. Returns {waiting, parked, remaining}; remaining counts at most 1000. Raises forbidden for '
  'an agent.';

-- schemas/artifacts/tasks/ends.sql

-- An agent ends: its tasks, and what it said.

create function artifacts.give_back_takes(agent_id text, max_entries integer) returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
  -- A variable: an index does not help with a volatile function.
  instant constant timestamptz := clock_timestamp();
  given_back integer;
begin
  update artifacts.tasks t
  set
    -- After its last attempt a task lapses instead, and whoever finds it parks it, with its event.
    state = case when t.attempt < t.max_attempts then 'waiting' else t.state end,
    take_id = case when t.attempt >= t.max_attempts then t.take_id end,
    ready_at = instant,
    waits_again_since = case when t.attempt < t.max_attempts then agents.present_transaction() end
  -- Found by ctid, which cannot change while the row is locked. Otherwise the planner, which does
  -- not know the number of rows, may read the whole table.
  where t.ctid = any (array(
    select h.ctid
    from artifacts.tasks h
    where h.taken_by = give_back_takes.agent_id and h.state = 'taken' and h.ready_at > instant
    order by h.taken_by, h.state, h.grant_id
    limit give_back_takes.max_entries
    for update
  ));
  get diagnostics given_back = row_count;
  return given_back;
end
$$;
comment on function artifacts.give_back_takes(text, integer) is
  'Lets other agents have at once what an agent has taken, up to max_entries tasks; the attempts '
  'count. Returns how many. Call it under end_access.';

create function artifacts.release_tasks(agent_id text, max_entries integer) returns integer
language plpgsql
volatile
set search_path = ''
-- For the same reason as in grant_ids_since.
set enable_seqscan = off
as $$
declare
  released integer;
  most integer := artifacts.give_back_takes(release_tasks.agent_id, release_tasks.max_entries);
begin
  -- Its tasks of its tags. Those of grants to itself end with these grants.
  delete from artifacts.tasks t
  where t.ctid = any (array(
    select o.ctid
    from artifacts.tasks o
    where o.agent_id = release_tasks.agent_id and o.to_tag is not null
    order by o.agent_id, o.grant_id
    limit release_tasks.max_entries
    for update
  ));
  get diagnostics released = row_count;
  most := greatest(most, released);
  delete from artifacts.inbox_views v
  where v.grantee = release_tasks.agent_id and v.seen_through = any (array(
    select o.seen_through
    from artifacts.inbox_views o
    where o.grantee = release_tasks.agent_id
    order by o.grantee, o.seen_through
    limit release_tasks.max_entries
  ));
  get diagnostics released = row_count;
  -- One row per tag that the agent ever had.
  delete from artifacts.task_queues q where q.agent_id = release_tasks.agent_id;
  return greatest(most, released);
end
$$;
comment on function artifacts.release_tasks(text, integer) is
  'Ends an agent as a worker: its takes are given back, and its own tasks of its tags are deleted, '
  'up to max_entries of each kind. Returns the largest number of one kind: repeat it while that is '
  'max_entries. Call it under end_access.';

create function artifacts.erase_tasks(name text, pseudonym text, max_entries integer) returns integer
language plpgsql
volatile
set search_path = ''
-- For the same reason as in grant_ids_since.
set enable_seqscan = off
as $$
declare
  erased integer;
  most integer;
begin
  -- As a rule, the agent's grants have taken its own words along.
  delete from artifacts.hand_overs h
  where h.grant_id = any (array(
    select s.grant_id
    from artifacts.hand_overs s
    where s.from_agent = name
    order by s.from_agent, s.idempotency_key, s.handed_over_at
    limit max_entries
  ));
  get diagnostics most = row_count;
  delete from artifacts.tasks t
  where t.ctid = any (array(
    select e.ctid
    from artifacts.tasks e
    where e.agent_id = name and e.to_tag is not null
    order by e.agent_id, e.grant_id
    limit max_entries
    for update
  ));
  get diagnostics erased = row_count;
  most := greatest(most, erased);
  delete from artifacts.inbox_views v
  where v.grantee = name and v.seen_through = any (array(
    select o.seen_through
    from artifacts.inbox_views o
    where o.grantee = name
    order by o.grantee, o.seen_through
    limit max_entries
  ));
  get diagnostics erased = row_count;
  most := greatest(most, erased);
  -- The taker's words go with its name. What became of the task stays.
  update artifacts.tasks t
  set taken_by = pseudonym, reason = null
  where t.ctid = any (array(
    select e.ctid
    from artifacts.tasks e
    where e.taken_by = name
    order by e.taken_by, e.state, e.grant_id
    limit max_entries
    for update
  ));
  get diagnostics erased = row_count;
  return greatest(most, erased);
end
$$;
comment on function artifacts.erase_tasks(text, text, integer) is
  'Erases up to max_entries rows of each kind that name an agent in tasks, and what it said about '
  'grants; returns the largest number of one kind.';

-- schemas/artifacts/standing/standing_grants.sql

-- Standing grants: an owner's promise to grant what it will commit under a name or a prefix. Each
-- commit makes ordinary grants of it, so that nothing else has to know standing grants.

create table artifacts.standing_grants (
  standing_id text collate "C" primary key,
  from_agent agents.agent_id not null,
  covered_name text collate "C" not null,
  is_prefix boolean not null,
  to_agent agents.agent_id,
  to_tag agents.tag,
  grantee text collate "C" not null generated always as (coalesce(to_agent, '#' || to_tag)) stored,
  grant_days integer,
  note text,
  is_shared boolean not null default false,
  created_at timestamptz not null default clock_timestamp(),
  expires_at timestamptz not null,
  ended_at timestamptz,
  transaction_id xid8 not null default agents.present_transaction(),
  live_until timestamptz not null generated always as (least(expires_at, ended_at)) stored,

  constraint standing_id_is_well_formed check (
    length(standing_id) = 41 and standing_id ~ '^standing_[0-9a-f]*$'
  ),
  constraint name_has_at_most_1024_bytes check (octet_length(covered_name) <= 1024),
  constraint a_name_is_not_empty check (is_prefix or covered_name <> ''),
  constraint a_standing_grant_is_to_an_agent_or_to_a_tag check (
    (to_agent is null) <> (to_tag is null)
  ),
  constraint grant_days_is_positive check (grant_days > 0),
  constraint note_is_1_to_2000_characters check (length(note) between 1 and 2000),
  constraint only_a_tag_shares check (to_tag is not null or not is_shared)
);
comment on table artifacts.standing_grants is
  'One row per standing grant. While it is live, every commit of from_agent under the name grants '
  'the artifact.';
comment on column artifacts.standing_grants.covered_name is
  'A file''s whole name (`key`) or, with is_prefix, the beginning of names; empty: every name.';
comment on column artifacts.standing_grants.standing_id is 'Random, and no secret.';
comment on column artifacts.standing_grants.is_prefix is
  'Whether covered_name is only the beginning of the files'' names.';
comment on column artifacts.standing_grants.to_tag is
  'Its grants are to every agent that has this tag.';
comment on column artifacts.standing_grants.ended_at is
  'When its owner ended it, or an agent was removed; null: neither.';
comment on column artifacts.standing_grants.grantee is 'As in artifacts.grants, for the indexes.';
comment on column artifacts.standing_grants.grant_days is
  'How long each grant lasts, from its commit on; null: until the standing grant expires.';
comment on column artifacts.standing_grants.note is
  'The owner''s words, for whoever gets its grants: as in artifacts.hand_overs.';
comment on column artifacts.standing_grants.is_shared is 'As in artifacts.hand_overs.';
comment on column artifacts.standing_grants.transaction_id is
  'The transaction that made the row: see artifacts.grants.transaction_id.';
comment on column artifacts.standing_grants.live_until is
  'When the standing grant expires or was ended. The row stays for 30 days, and as long as a grant '
  'of it is live.';

-- Each beginning of a name is looked up by itself, so a commit reads only what matches.
create index standing_grants_by_name on artifacts.standing_grants (from_agent, covered_name, live_until);
-- The order of /standing/list.
create index standing_grants_by_granter
  on artifacts.standing_grants (from_agent, live_until, standing_id);
create index standing_grants_by_grantee
  on artifacts.standing_grants (grantee, live_until, standing_id);
create index standing_grants_by_end on artifacts.standing_grants (live_until, standing_id);
create index grants_by_standing on artifacts.grants (standing_id, live_until, grant_id)
  where standing_id is not null;

create function artifacts.standing_lock(agent_id text) returns bigint
language sql
immutable
return hashtextextended('standing grants of ' || agent_id, 0);
comment on function artifacts.standing_lock(text) is
  'The advisory lock of an agent''s standing grants: its commits take it in shared mode, '
  '/standing/create and /standing/end exclusively. It comes before all row locks.';

create function artifacts.standing_json(standing artifacts.standing_grants) returns jsonb
language sql
stable
return jsonb_build_object(
  'standing_id', standing.standing_id,
  'key', case when not standing.is_prefix then standing.covered_name end,
  'prefix', case when standing.is_prefix then standing.covered_name end,
  'to_agent', standing.to_agent,
  'grant_days', standing.grant_days,
  'note', standing.note,
  'deliver', artifacts.delivery(standing.is_shared),
  'created_at', agents.iso_timestamp(standing.created_at),
  'expires_at', agents.iso_timestamp(standing.expires_at)
) || case
  when standing.to_tag is null then jsonb '{}' else jsonb_build_object('to_tag', standing.to_tag)
end;
comment on function artifacts.standing_json(artifacts.standing_grants) is
  'A standing grant, as its owner sees it.';

create function artifacts.end_standing(ids text[], caller jsonb, caller_agent text) returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
  ended artifacts.standing_grants;
  ended_count integer := 0;
begin
  -- In the order in which commits lock them.
  perform
  from artifacts.standing_grants s
  where s.standing_id = any (end_standing.ids)
  order by s.standing_id
  for update;
  for ended in
    update artifacts.standing_grants s
    set ended_at = clock_timestamp()
    where s.standing_id = any (end_standing.ids) and s.live_until > clock_timestamp()
    returning s.*
  loop
    ended_count := ended_count + 1;
    perform agents.record_event(
      end_standing.caller, end_standing.caller_agent, 'standing.ended', ended.to_agent, ended.standing_id,
      jsonb_strip_nulls(jsonb_build_object('to_tag', ended.to_tag)),
      ended.from_agent
    );
  end loop;
  return ended_count;
end
$$;
comment on function artifacts.end_standing(text[], jsonb, text) is
  'Ends these standing grants, and not the grants that they made; returns how many were live.';

create function artifacts.end_standing_of(
  agent_id text,
  max_entries integer,
  only_given boolean default false,
  before_transaction xid8 default null
) returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
  instant timestamptz := clock_timestamp();
begin
  return artifacts.end_standing(
    array(
      (
        select s.standing_id
        from artifacts.standing_grants s
        where s.from_agent = end_standing_of.agent_id
          and s.live_until > instant
          and (before_transaction is null or s.transaction_id < before_transaction)
        order by s.from_agent, s.live_until
        limit end_standing_of.max_entries
      )
      union
      (
        select s.standing_id
        from artifacts.standing_grants s
        where not only_given and s.grantee = end_standing_of.agent_id and s.live_until > instant
        order by s.grantee, s.live_until
        limit end_standing_of.max_entries
      )
      limit end_standing_of.max_entries
    ),
    '{"kind": "operator"}',
    null
  );
end
$$;
comment on function artifacts.end_standing_of(text, integer, boolean, xid8) is
  'Ends up to max_entries standing grants from and to an agent, or only those that it gave, in '
  'transactions before the given one if there is one; returns how many.';

-- schemas/artifacts/standing/promised_grants.sql

-- What a commit does for standing grants: it makes the grants that they promise.

create function artifacts.grant_for_standing(
  caller jsonb,
  caller_agent text,
  standing artifacts.standing_grants,
  artifact artifacts.artifacts
) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  given artifacts.grants;
begin
  insert into artifacts.grants (
    grant_id, artifact_id, from_agent, to_agent, to_tag, token_hash, expires_at, standing_id
  )
  values (
    'grant_' || replace(gen_random_uuid()::text, '-', ''),
    artifact.artifact_id,
    artifact.agent_id,
    standing.to_agent,
    standing.to_tag,
    -- Nobody has the token.
    encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex'),
    coalesce(
      clock_timestamp() + make_interval(hours => 24 * standing.grant_days), standing.expires_at
    ),
    standing.standing_id
  )
  returning * into given;
  if standing.note is not null or standing.is_shared then
    insert into artifacts.hand_overs (grant_id, from_agent, note, is_shared)
    values (given.grant_id, given.from_agent, standing.note, standing.is_shared);
  end if;
  perform artifacts.forget_surplus_grants(given.from_agent, 10000);
  perform agents.record_event(
    caller, caller_agent, 'grant.created', given.to_agent, given.grant_id,
    jsonb_strip_nulls(jsonb_build_object(
      'artifact_id', given.artifact_id,
      'key', artifact.key,
      'expires_at', agents.iso_timestamp(given.expires_at),
      'to_tag', given.to_tag,
      'standing_id', given.standing_id
    )),
    given.from_agent
  );
end
$$;
comment on function artifacts.grant_for_standing(
  jsonb, text, artifacts.standing_grants, artifacts.artifacts
) is
  'Makes the grant of a standing grant for an artifact that the transaction has locked.';

create function artifacts.lock_standing_of(agent_id text, key text) returns text[]
language plpgsql
volatile
set search_path = ''
-- For the same reason as in grant_ids_since.
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  instant timestamptz;
begin
  perform pg_advisory_xact_lock_shared(artifacts.standing_lock(lock_standing_of.agent_id));
  instant := clock_timestamp();
  -- Most agents have no standing grants, and pay for one index lookup.
  if not exists (
    select
    from artifacts.standing_grants s
    where (s.from_agent, s.live_until) > (lock_standing_of.agent_id, instant)
      and (s.from_agent, s.live_until) <= (lock_standing_of.agent_id, timestamptz 'infinity')
    order by s.from_agent, s.live_until
    limit 1
  ) then
    return array[]::text[];
  end if;
  return array(
    select s.standing_id
    from artifacts.standing_grants s
    where s.standing_id = any (array(
        select i.standing_id
        from generate_series(0, char_length(lock_standing_of.key)) as length
        cross join lateral (
          select n.standing_id
          from artifacts.standing_grants n
          where n.from_agent = lock_standing_of.agent_id
            and n.covered_name = left(lock_standing_of.key, length)
            and n.live_until > instant
            and (n.is_prefix or n.covered_name = lock_standing_of.key)
          order by n.from_agent, n.covered_name, n.live_until
          limit 1000
        ) i
      ))
      -- The clock of after a wait: the end of an agent, which has no lock above, may have taken the
      -- row's lock before `instant` and ended it afterwards.
      and s.live_until > clock_timestamp()
      -- What was ended stays so if the clock goes back to before that.
      and s.ended_at is null
    order by s.standing_id
    -- The end of an agent ends standing grants to it. It waits here, and then finds the grants.
    for share
  );
end
$$;
comment on function artifacts.lock_standing_of(text, text) is
  'The ids of the live standing grants of an agent that promise what it commits under a name. Until '
  'the end of the transaction, it makes no others, and these do not end. Call it before any row is '
  'locked.';

create function artifacts.grant_committed(
  caller jsonb,
  caller_agent text,
  committed artifacts.artifacts,
  promised_ids text[]
) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  standing artifacts.standing_grants;
begin
  -- Most commits were promised to nobody.
  if grant_committed.promised_ids = '{}' then
    return;
  end if;
  for standing in
    select s.*
    from artifacts.standing_grants s
    where s.standing_id = any (grant_committed.promised_ids)
    order by s.standing_id
  loop
    perform artifacts.grant_for_standing(caller, caller_agent, standing, committed);
  end loop;
end
$$;
comment on function artifacts.grant_committed(jsonb, text, artifacts.artifacts, text[]) is
  'Makes the grants of a committed artifact; promised_ids is what lock_standing_of returned.';

-- schemas/artifacts/standing/forgotten.sql

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

-- schemas/artifacts/standing/standing_operations.sql

-- What owners do with standing grants.

create function public.agent_api_create_standing_grant(
  caller jsonb,
  standing_id text,
  agent_id text,
  name text,
  is_prefix boolean,
  to_agent text,
  to_tag text,
  expires_at timestamptz,
  grant_days integer,
  existing boolean,
  note text default null,
  is_shared boolean default false,
  max_standing integer default 1000,
  max_existing integer default 1000,
  max_live_grants integer default 1000
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  owner text;
  instant timestamptz;
  last_key text collate "C";
  existing_ids text[] := array[]::text[];
  artifact artifacts.artifacts;
  standing artifacts.standing_grants;
  granted integer := 0;
begin
  caller_agent := agents.admit(agent_api_create_standing_grant.caller);
  owner := agents.require_self(caller_agent, agent_api_create_standing_grant.agent_id);
  perform agents.claim_for_operator(caller_agent, owner);
  -- A commit is either before this, and among the existing artifacts, or sees the new row.
  perform pg_advisory_xact_lock(artifacts.standing_lock(owner));
  instant := clock_timestamp();
  if agent_api_create_standing_grant.expires_at <= instant then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "expires_at", "message": "Must lie in the future."}]}';
  end if;
  if (
    select count(*)
    from artifacts.standing_grants s
    where (s.from_agent, s.live_until) > (owner, instant)
      and (s.from_agent, s.live_until) <= (owner, timestamptz 'infinity')
  ) >= agent_api_create_standing_grant.max_standing then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object(
        'limit', 'standing_grants', 'maximum', agent_api_create_standing_grant.max_standing
      );
  end if;

  if agent_api_create_standing_grant.existing then
    last_key := agent_api_create_standing_grant.name || case
      when agent_api_create_standing_grant.is_prefix then repeat(U&'\+10FFFF', 256) else ''
    end;
    existing_ids := array(
      select a.artifact_id
      from artifacts.artifacts a
      where a.agent_id = owner
        and a.state = 'committed'
        and a.ended_at is null
        and a.key >= agent_api_create_standing_grant.name
        and a.key <= last_key
        and a.expires_at > instant
      order by a.agent_id, a.key
      limit agent_api_create_standing_grant.max_existing + 1
    );
    if cardinality(existing_ids) > agent_api_create_standing_grant.max_existing then
      raise sqlstate 'PT409' using
        message = 'limit_exceeded',
        detail = json_build_object(
          'limit', 'existing_artifacts', 'maximum', agent_api_create_standing_grant.max_existing
        );
    end if;
    perform
    from artifacts.artifacts a
    where a.artifact_id = any (existing_ids)
    order by a.artifact_id
    for update;
    -- The counts are exact, because the artifacts are locked.
    if exists (
      select
      from unnest(existing_ids) as e (artifact_id)
      where (
        select count(*) from artifacts.live_grants(e.artifact_id, instant)
      ) >= agent_api_create_standing_grant.max_live_grants
    ) then
      raise sqlstate 'PT409' using
        message = 'limit_exceeded',
        detail = json_build_object(
          'limit', 'live_grants', 'maximum', agent_api_create_standing_grant.max_live_grants
        );
    end if;
  end if;

  insert into artifacts.standing_grants (
    standing_id, from_agent, covered_name, is_prefix, to_agent, to_tag, grant_days, note, is_shared,
    expires_at
  )
  values (
    agent_api_create_standing_grant.standing_id,
    owner,
    agent_api_create_standing_grant.name,
    agent_api_create_standing_grant.is_prefix,
    agent_api_create_standing_grant.to_agent,
    agent_api_create_standing_grant.to_tag,
    agent_api_create_standing_grant.grant_days,
    agent_api_create_standing_grant.note,
    agent_api_create_standing_grant.is_shared,
    agent_api_create_standing_grant.expires_at
  )
  returning * into standing;
  perform agents.record_event(
    agent_api_create_standing_grant.caller, caller_agent, 'standing.created', standing.to_agent,
    standing.standing_id,
    jsonb_strip_nulls(jsonb_build_object(
      'to_tag', standing.to_tag, 'expires_at', agents.iso_timestamp(standing.expires_at)
    )),
    owner
  );
  for artifact in
    select a.*
    from artifacts.artifacts a
    -- Deleted or ended while this waited for its lock.
    where a.artifact_id = any (existing_ids) and a.state = 'committed' and a.ended_at is null
    order by a.artifact_id
  loop
    granted := granted + 1;
    perform artifacts.grant_for_standing(
      agent_api_create_standing_grant.caller, caller_agent, standing, artifact
    );
  end loop;
  return artifacts.standing_json(standing) || jsonb_build_object('granted', granted);
end
$$;
comment on function public.agent_api_create_standing_grant(
  jsonb, text, text, text, boolean, text, text, timestamptz, integer, boolean, text, boolean, integer,
  integer, integer
) is
  'Makes a standing grant of a name or a prefix to an agent or a tag, and with existing the grants '
  'of what is committed there now: the standing grant, and how many it granted. note and is_shared '
  'are those of each grant. Raises forbidden, invalid_request, limit_exceeded.';

create function public.agent_api_list_standing_grants(
  caller jsonb,
  agent_id text,
  max_entries integer,
  cursor text default null
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  subject text := agents.subject_of(
    agent_api_list_standing_grants.caller, agent_api_list_standing_grants.agent_id
  );
  answer json;
begin
  with walked as (
    select s.standing, row_number() over (
      order by (s.standing).live_until, (s.standing).standing_id
    ) as number
    from artifacts.read_position(agent_api_list_standing_grants.cursor) p
    cross join lateral (
      select i as standing
      from artifacts.standing_grants i
      where i.from_agent = subject
        and (i.live_until, i.standing_id) > (p.after_live_until, p.after_grant_id)
      order by i.from_agent, i.live_until, i.standing_id
      -- One more than asked for tells whether there is a next page.
      limit agent_api_list_standing_grants.max_entries + 1
    ) s
  ), page as (
    select w.* from walked w where w.number <= agent_api_list_standing_grants.max_entries
  )
  select json_build_object(
    'standing_grants', (
      select coalesce(json_agg(artifacts.standing_json(p.standing) order by p.number), '[]')
      from page p
      -- What was ended stays so if the clock goes back to before that.
      where (p.standing).ended_at is null
    ),
    'next_cursor', case
      when (select count(*) from walked) > agent_api_list_standing_grants.max_entries then (
        select (extract(epoch from (p.standing).live_until) * 1000000)::bigint
          || '.' || (p.standing).standing_id
        from page p
        order by p.number desc
        limit 1
      )
    end
  ) into answer;
  return answer;
end
$$;
comment on function public.agent_api_list_standing_grants(jsonb, text, integer, text) is
  'The live standing grants of an agent, those that end first. Raises forbidden, invalid_request.';

create function public.agent_api_end_standing_grant(
  caller jsonb,
  standing_id text,
  end_grants boolean default true,
  max_entries integer default 500
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  owner text;
  was_live boolean;
  instant timestamptz;
  live_ids text[] := array[]::text[];
  revoked record;
  revoked_count integer := 0;
begin
  caller_agent := agents.admit(agent_api_end_standing_grant.caller);
  select s.from_agent into owner
  from artifacts.standing_grants s
  where s.standing_id = agent_api_end_standing_grant.standing_id
    and (caller_agent is null or s.from_agent = caller_agent);
  if not found then
    raise sqlstate 'PT404' using
      message = 'grant_not_found',
      hint = 'There is no such standing grant, or it is not yours.';
  end if;
  -- Commits that run now are finished first; later ones make no grant of it.
  perform pg_advisory_xact_lock(artifacts.standing_lock(owner));
  was_live := artifacts.end_standing(
    array[agent_api_end_standing_grant.standing_id], agent_api_end_standing_grant.caller, caller_agent
  ) > 0;

  if agent_api_end_standing_grant.end_grants then
    instant := clock_timestamp();
    live_ids := array(
      select g.grant_id
      from artifacts.grants g
      where g.standing_id = agent_api_end_standing_grant.standing_id and g.live_until > instant
      order by g.standing_id, g.live_until
      limit agent_api_end_standing_grant.max_entries
    );
    -- Lock artifacts first, as in every function that ends several grants.
    perform
    from artifacts.artifacts a
    where a.artifact_id in (
      select g.artifact_id from artifacts.grants g where g.grant_id = any (live_ids)
    )
    order by a.artifact_id
    for update;
    for revoked in
      update artifacts.grants g
      set revoked_at = clock_timestamp()
      from artifacts.artifacts a
      where g.grant_id = any (live_ids)
        and g.live_until > clock_timestamp()
        and a.artifact_id = g.artifact_id
      returning g.grant_id, g.artifact_id, g.from_agent, g.to_agent, g.to_tag, a.key
    loop
      revoked_count := revoked_count + 1;
      perform agents.record_event(
        agent_api_end_standing_grant.caller, caller_agent, 'grant.revoked', revoked.to_agent, revoked.grant_id,
        jsonb_strip_nulls(jsonb_build_object(
          'artifact_id', revoked.artifact_id, 'key', revoked.key, 'to_tag', revoked.to_tag
        )),
        revoked.from_agent
      );
    end loop;
  end if;
  return json_build_object(
    'standing_id', agent_api_end_standing_grant.standing_id,
    'ended', was_live,
    'revoked', revoked_count,
    'remaining', cardinality(live_ids) >= agent_api_end_standing_grant.max_entries
  );
end
$$;
comment on function public.agent_api_end_standing_grant(jsonb, text, boolean, integer) is
  'Ends a standing grant and, with end_grants, up to max_entries live grants that it made: '
  '{standing_id, ended: whether it was live, revoked, remaining}. While remaining is true, call it '
  'again. Idempotent. Raises grant_not_found.';

-- schemas/artifacts/versions/versions.sql

-- Versions: the committed artifacts of one name, numbered from 1 in the order of their commits. A
-- number that was given out once is never given to another artifact of the name.

-- The order of /versions. Also finds the highest number of a name.
create unique index versions_by_name on artifacts.artifacts (agent_id, key, version)
  where version is not null;

create table artifacts.spent_versions (
  agent_id agents.agent_id,
  key_hash bytea,
  version bigint not null,

  primary key (agent_id, key_hash),
  constraint key_hash_has_16_bytes_or_none check (length(key_hash) in (0, 16)),
  constraint versions_begin_at_1 check (version >= 1)
);
comment on table artifacts.spent_versions is
  'The highest version that each name of an agent had when the tombstone of that version was '
  'deleted, so that the number is not given out again. Rows stay as long as the agent''s name has '
  'the same holder: one per name whose newest artifact ended a month ago.';
comment on column artifacts.spent_versions.key_hash is
  'The first 16 bytes of the SHA-256 of the name (`key`). Empty: all names of the agent, because '
  'an earlier holder of the agent''s name may have used them.';

create function artifacts.hash_of_key(key text) returns bytea
language sql
immutable
return substring(sha256(convert_to(key, 'UTF8')) from 1 for 16);
comment on function artifacts.hash_of_key(text) is 'What spent_versions stores of a name.';

create function artifacts.version_at(instant timestamptz) returns bigint
language sql
immutable
-- Milliseconds since 1970. Every version that was given out before is lower: a name gets fewer than
-- one version per millisecond. The number has 13 digits until 2286.
return (extract(epoch from instant) * 1000)::bigint;
comment on function artifacts.version_at(timestamptz) is
  'A version that is higher than every one that was given out before a time, for names whose '
  'versions are not known.';

create function artifacts.next_version(agent_id text, key text) returns bigint
language plpgsql
stable
set search_path = ''
as $$
begin
  -- One statement, so that a tombstone that is being deleted is seen in one of the two tables.
  return (
    select greatest(
      1 + (
        select a.version
        from artifacts.artifacts a
        where a.agent_id = next_version.agent_id
          and a.key = next_version.key
          and a.version is not null
        order by a.version desc
        limit 1
      ),
      1 + (
        select max(s.version)
        from artifacts.spent_versions s
        where s.agent_id = next_version.agent_id
          and s.key_hash in ('', artifacts.hash_of_key(next_version.key))
      ),
      (select artifacts.version_at(e.first_version_after) from agents.epochs e),
      -- Of an erased agent, nothing else is known.
      (
        select artifacts.version_at(e.erased_at)
        from agents.erased_names e
        where e.name_hash = agents.hash_of_name(next_version.agent_id)
      ),
      1
    )
  );
end
$$;
comment on function artifacts.next_version(text, text) is
  'The version of the next artifact that is committed under a name. The caller holds the lock of '
  'commits under this name.';

create function artifacts.begin_versions_anew(agent_id text) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  delete from artifacts.spent_versions s where s.agent_id = begin_versions_anew.agent_id;
  insert into artifacts.spent_versions (agent_id, key_hash, version)
  values (begin_versions_anew.agent_id, '', artifacts.version_at(clock_timestamp()));
end
$$;
comment on function artifacts.begin_versions_anew(text) is
  'For a new holder of an agent''s name: its versions begin above every one that the former holder '
  'had, and tell nothing of them.';

create function artifacts.keep_spent_versions(artifact_ids text[]) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  insert into artifacts.spent_versions as s (agent_id, key_hash, version)
  select a.agent_id, artifacts.hash_of_key(a.key), max(a.version)
  from artifacts.artifacts a
  where a.artifact_id = any (keep_spent_versions.artifact_ids)
    and a.version is not null
    -- A later version of the name keeps the count.
    and not exists (
      select
      from artifacts.artifacts l
      where l.agent_id = a.agent_id
        and l.key = a.key
        and l.version > a.version
        and l.artifact_id <> all (keep_spent_versions.artifact_ids)
    )
  group by a.agent_id, a.key
  order by a.agent_id, artifacts.hash_of_key(a.key)
  on conflict on constraint spent_versions_pkey do update
  set version = greatest(s.version, excluded.version);
end
$$;
comment on function artifacts.keep_spent_versions(text[]) is
  'Call this before the tombstones of these artifacts are deleted.';

create function artifacts.is_taken(artifact_id text) returns boolean
language plpgsql
stable
set search_path = ''
-- For the same reason as in grant_ids_since.
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  instant timestamptz := clock_timestamp();
begin
  -- Not `exists`: see artifacts.is_granted. A grant that has ended has ended its task.
  return (
    select count(*) > 0
    from artifacts.live_grants(is_taken.artifact_id, instant) g
    cross join lateral (
      select
      from artifacts.tasks t
      where t.grant_id = g.grant_id and t.state = 'taken' and t.ready_at > instant
      limit 1
    ) t
  );
end
$$;
comment on function artifacts.is_taken(text) is
  'Whether somebody has taken a task of an artifact, so that keep_versions must not end it.';

create function artifacts.end_surplus_versions(
  caller jsonb,
  caller_agent text,
  committed artifacts.artifacts
) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  -- One more superseded version comes with each commit, so these catch up.
  most_read constant integer := 1000;
  most_ended constant integer := 100;
  instant timestamptz := clock_timestamp();
  surplus_ids text[];
  ended artifacts.artifacts;
begin
  surplus_ids := array(
    select s.artifact_id
    from (
      select a.artifact_id, a.state, a.ended_at, a.expires_at, a.version
      from artifacts.artifacts a
      where a.agent_id = committed.agent_id and a.key = committed.key and a.version is not null
        and a.version < committed.version
        and a.state = 'superseded' and a.ended_at is null and a.expires_at > instant
      order by a.version desc
      offset committed.keep_versions
      limit most_read
    ) s
    where not artifacts.is_taken(s.artifact_id)
      and (
        committed.end_grants
        or not exists (select from artifacts.live_grants(s.artifact_id, instant))
      )
    order by s.version
    limit most_ended
  );
  -- Skips what others have locked: waiting for it here could deadlock. A later commit ends it.
  surplus_ids := array(
    select a.artifact_id
    from artifacts.artifacts a
    where a.artifact_id = any (surplus_ids) and a.state = 'superseded'
    order by a.artifact_id
    for update skip locked
  );
  for ended in
    update artifacts.artifacts a
    set state = 'deleted', deleted_at = clock_timestamp()
    where a.artifact_id = any (surplus_ids)
      -- Under the lock again: they may have been granted or taken meanwhile.
      and not artifacts.is_taken(a.artifact_id)
      and (
        committed.end_grants
        or not exists (select from artifacts.live_grants(a.artifact_id, instant))
      )
    returning a.*
  loop
    perform agents.record_event(
      caller, caller_agent, 'artifact.deleted', ended.agent_id, ended.artifact_id,
      jsonb_build_object('key', ended.key, 'reason', 'keep_versions')
    );
  end loop;
end
$$;
comment on function artifacts.end_surplus_versions(jsonb, text, artifacts.artifacts) is
  'Ends the superseded versions of a name that its newest artifact does not keep, as if they were '
  'deleted; at most 100 per commit. It leaves those that are taken and, without end_grants, those '
  'that are granted.';

-- schemas/artifacts/versions/listing.sql

-- Finding the versions of a name: /versions, and what /open says of a file that was replaced.

create function artifacts.live_versions(
  agent_id text,
  key text,
  before_version bigint,
  max_entries integer
) returns setof artifacts.artifacts
language plpgsql
stable
set search_path = ''
-- For the same reason as in grant_ids_since: the planner might sort all versions of the name.
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  return query
    select a.*
    from artifacts.artifacts a
    where a.agent_id = live_versions.agent_id
      and a.key = live_versions.key
      and a.version is not null
      and a.version < coalesce(live_versions.before_version, 9223372036854775807)
    order by a.agent_id desc, a.key desc, a.version desc
    limit live_versions.max_entries;
end
$$;
comment on function artifacts.live_versions(text, text, bigint, integer) is
  'The newest versions of a name below a number, also those that have ended.';

create function artifacts.is_open_to(artifact artifacts.artifacts, caller_agent text, instant timestamptz)
returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return artifact.state in ('committed', 'superseded')
    and artifact.ended_at is null
    and artifact.expires_at > instant
    and (
      is_open_to.caller_agent is null
      or is_open_to.caller_agent = artifact.agent_id
      or artifacts.is_granted(artifact.artifact_id, is_open_to.caller_agent, instant)
    );
end
$$;
comment on function artifacts.is_open_to(artifacts.artifacts, text, timestamptz) is
  'Whether an artifact has not ended, and a caller (null: the operator) may open it. Its downloads '
  'may be used up.';

create function artifacts.refuse_replaced(agent_id text, key text, caller_agent text) returns void
language plpgsql
stable
set search_path = ''
as $$
declare
  instant timestamptz := clock_timestamp();
  open_versions jsonb;
begin
  select jsonb_agg(
    jsonb_build_object('artifact_id', v.artifact_id, 'version', v.version) order by v.version desc
  )
  into open_versions
  from (
    select w.artifact_id, w.version
    from artifacts.live_versions(refuse_replaced.agent_id, refuse_replaced.key, null, 1000) w
    where w.state = 'superseded' and artifacts.is_open_to(w, refuse_replaced.caller_agent, instant)
    limit 10
  ) v;
  if open_versions is not null then
    raise sqlstate 'PT404' using
      message = 'artifact_not_found',
      detail = json_build_object('replaced', open_versions),
      hint = format(
        'This file was replaced, and you have no access to what replaced it. You may still open version %s (%s).',
        open_versions -> 0 ->> 'version', open_versions -> 0 ->> 'artifact_id'
      );
  end if;
end
$$;
comment on function artifacts.refuse_replaced(text, text, text) is
  'Raises artifact_not_found with the superseded versions of a name that a caller may open, if '
  'there are any: {replaced: [{artifact_id, version}]}, at most 10. Looks at the newest 1,000.';

create function artifacts.numbered_artifact(agent_id text, key text, version bigint, caller_agent text)
returns artifacts.artifacts
language plpgsql
stable
set search_path = ''
as $$
declare
  artifact artifacts.artifacts;
begin
  if exists (
    select
    from artifacts.spent_versions s
    where s.agent_id = numbered_artifact.agent_id
      and s.key_hash = ''
      and s.version > numbered_artifact.version
  ) then
    -- A former holder of the agent's name may have had it.
    return null;
  end if;
  select a.* into artifact
  from artifacts.artifacts a
  where a.agent_id = numbered_artifact.agent_id
    and a.key = numbered_artifact.key
    and a.version = numbered_artifact.version;
  if not found and octet_length(numbered_artifact.key) > char_length(numbered_artifact.key) then
    select a.* into artifact
    from artifacts.artifacts a
    where a.agent_id = numbered_artifact.agent_id
      and a.key = (
        artifacts.named_artifact(
          numbered_artifact.agent_id, numbered_artifact.key, numbered_artifact.caller_agent
        )
      ).key
      and a.version = numbered_artifact.version;
  end if;
  return artifact;
end
$$;
comment on function artifacts.numbered_artifact(text, text, bigint, text) is
  'A version of an agent''s `key`, even if it has ended; null: none. The name may be another '
  'Unicode spelling of a current one: see artifacts.named_artifact.';

create function public.agent_api_list_versions(
  caller jsonb,
  agent_id text,
  key text,
  max_entries integer,
  before_version bigint default null
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(agent_api_list_versions.caller);
  owner text := coalesce(
    agent_api_list_versions.agent_id, agents.require_self(caller_agent, null)
  );
  instant timestamptz := clock_timestamp();
  -- An upper limit on the versions that one page reads, so that ended ones cannot slow it down.
  entries_per_page constant integer := agent_api_list_versions.max_entries + 1000;
  answer json;
begin
  with walked as (
    select w as artifact, w.version
    from artifacts.live_versions(
      owner, agent_api_list_versions.key, agent_api_list_versions.before_version, entries_per_page
    ) w
  ), listed as (
    select w.artifact, w.version
    from walked w
    where artifacts.is_open_to(w.artifact, caller_agent, instant)
    order by w.version desc
    -- One more than asked for tells whether there is a next page.
    limit agent_api_list_versions.max_entries + 1
  ), page as (
    select l.* from listed l order by l.version desc limit agent_api_list_versions.max_entries
  )
  select json_build_object(
    'versions', (
      select coalesce(json_agg(artifacts.artifact_json(p.artifact) order by p.version desc), '[]')
      from page p
    ),
    'next_cursor', case
      when (select count(*) from listed) > agent_api_list_versions.max_entries
        then (select min(p.version) from page p)::text
      when (select count(*) from walked) = entries_per_page
        then (select min(w.version) from walked w)::text
    end
  ) into answer;
  return answer;
end
$$;
comment on function public.agent_api_list_versions(jsonb, text, text, integer, bigint) is
  'The versions of an agent''s `key` (null: the caller''s) that a caller may open, newest first, '
  'below before_version: for the owner and the operator all that have not ended. A page may be '
  'short or empty before the last. Raises invalid_request.';

-- schemas/artifacts/verification/verifications.sql

-- Verifying the bytes of an artifact. /commit takes several steps, so that no transaction stays
-- open while bytes are read:
--   agent_api_begin_commit          takes a lease and says which object to verify, and where to
--                                   start
--   agent_api_leave_move            keeps the lease of a move that may outlast the commit that
--                                   began it
--   agent_api_save_commit_progress  saves how much of a large object was hashed, and gives the
--                                   lease back; the next call continues there
--   agent_api_finish_commit         takes what was observed and decides, if the lease is still held
--   agent_api_release_commit        gives the lease back if no verdict was possible
-- If a commit crashes in between, it leaves a lease that expires and at most one sealed object,
-- which the next commit uses.
--
-- Storage moves an object by copying it. For gigabytes this takes minutes, and it continues when
-- nobody waits for it any more. Two moves of one upload at once would leave a copy on the disk that
-- no row names. So a lease under which a move begins lasts until Storage must have finished the
-- move. If the commit that began it has gone, the next ones wait for the sealed object to appear.
--
-- Code that changes both an artifact and its verification locks the artifact first.

create table artifacts.verifications (
  artifact_id text collate "C" primary key
    references artifacts.artifacts (artifact_id) on delete cascade,
  attempt integer not null,
  lease_token uuid,
  lease_expires_at timestamptz,
  move_awaited_until timestamptz,
  verified_bytes bigint not null default 0,
  hash_state bytea,
  object_id uuid,
  object_version text,
  progress_at timestamptz,

  constraint attempts_begin_at_1 check (attempt >= 1),
  constraint a_lease_has_an_end check ((lease_token is null) = (lease_expires_at is null)),
  constraint a_move_is_made_under_a_lease check (move_awaited_until is null or lease_token is not null),
  constraint a_hash_state_is_of_one_object check (
    (hash_state is null) = (verified_bytes = 0)
    and (hash_state is null) = (object_id is null)
    and (hash_state is null) = (object_version is null)
    and (hash_state is null) = (progress_at is null)
  )
);
comment on table artifacts.verifications is
  'One row per attempt to commit without a verdict, at most one per artifact. A verdict, a '
  'deletion or the end of the artifact deletes it.';
comment on column artifacts.verifications.lease_token is
  'Held by the only commit that verifies this artifact now; a verdict without it changes nothing. '
  'Null: given back.';
comment on column artifacts.verifications.move_awaited_until is
  'Until when the commit that took the lease to move the upload waits for the move. After that, '
  'the lease covers only the move: it ends when the sealed object appears or the lease expires. '
  'Null: the lease was taken for an object that is already sealed.';
comment on column artifacts.verifications.hash_state is
  'The SHA-256 state of the first verified_bytes of one object: only the one with this Storage id '
  'and version. Otherwise the bytes of one upload could certify those of another.';
comment on column artifacts.verifications.progress_at is
  'When a verification over several calls last progressed.';

create function artifacts.longest_move(size_bytes bigint) returns interval
language sql
immutable
-- The slowest moves that were seen ran at 8 MiB per second.
return make_interval(secs => 10 + (size_bytes / 1048576)::double precision);
comment on function artifacts.longest_move(bigint) is
  'How long Storage may take to move an object after nobody waits for the answer any more, before '
  'the move counts as failed: 10 seconds plus one second per MiB.';

create function public.agent_api_begin_commit(
  caller jsonb, artifact_id text, sha256 text, lease_seconds integer
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  artifact artifacts.artifacts;
  verification artifacts.verifications;
  stored record;
  incoming_path text;
  attempt_to_verify integer;
  call_ends_at timestamptz;
begin
  caller_agent := agents.admit(agent_api_begin_commit.caller);
  artifact := artifacts.lock_owned_artifact(caller_agent, agent_api_begin_commit.artifact_id);
  perform artifacts.refuse_ended(artifact);

  if artifact.state <> 'pending' then
    if artifact.sha256 <> agent_api_begin_commit.sha256 then
      raise sqlstate 'PT409' using message = 'already_committed';
    end if;
    return json_build_object('step', 'done', 'artifact', artifacts.artifact_json(artifact));
  end if;

  select v.* into verification
  from artifacts.verifications v
  where v.artifact_id = artifact.artifact_id;
  if verification.lease_expires_at > clock_timestamp()
    and coalesce(verification.move_awaited_until, 'infinity') > clock_timestamp()
  then
    raise sqlstate 'PT409' using message = 'commit_in_progress';
  end if;

  -- A lease that may still be valid here is that of a move. Another PUT may have replaced the
  -- upload between the lease and the move: then the size of the present upload counts. One
  -- statement checks both ends of the move, so that a move that completes meanwhile does not look
  -- like a failed one.
  select
    u.id, u.version, u.size,
    -- The sealed object is looked up only while the lease is valid.
    coalesce(
      greatest(
        verification.lease_expires_at, verification.move_awaited_until + artifacts.longest_move(u.size)
      ) > clock_timestamp(),
      false
    ) and not artifacts.has_object(
      artifacts.sealed_path(artifact.artifact_id, verification.attempt)
    ) as is_being_moved
  into stored
  from artifacts.object_at(artifacts.incoming_path(artifact.artifact_id)) u;
  if stored.is_being_moved then
    return json_build_object('step', 'moving', 'artifact', artifacts.artifact_json(artifact));
  elsif stored.id is not null then
    incoming_path := artifacts.incoming_path(artifact.artifact_id);
    update artifacts.artifacts a
    set commit_attempts = a.commit_attempts + 1
    where a.artifact_id = artifact.artifact_id
    returning a.commit_attempts into attempt_to_verify;
    if verification.artifact_id is not null then
      -- This upload is a different object from the one that was partly hashed, so discard the
      -- progress.
      delete from artifacts.verifications v where v.artifact_id = artifact.artifact_id;
    end if;
  else
    attempt_to_verify := artifacts.newest_sealed_attempt(artifact);
    if attempt_to_verify is null then
      perform artifacts.require_bucket();
      raise sqlstate 'PT409' using message = 'upload_missing';
    end if;
    select o.id, o.version, o.size into stored
    from artifacts.object_at(artifacts.sealed_path(artifact.artifact_id, attempt_to_verify)) o;
  end if;

  call_ends_at := clock_timestamp() + make_interval(secs => agent_api_begin_commit.lease_seconds);
  insert into artifacts.verifications as v (
    artifact_id, attempt, lease_token, lease_expires_at, move_awaited_until
  )
  select
    artifact.artifact_id, attempt_to_verify, gen_random_uuid(),
    case
      when incoming_path is null then call_ends_at
      else call_ends_at + artifacts.longest_move(coalesce(stored.size, artifact.size_bytes))
    end,
    case when incoming_path is not null then call_ends_at end
  on conflict on constraint verifications_pkey do update
  set attempt = excluded.attempt, lease_token = excluded.lease_token,
      lease_expires_at = excluded.lease_expires_at, move_awaited_until = excluded.move_awaited_until
  returning v.* into verification;

  return json_build_object(
    'step', 'verify',
    'lease_token', verification.lease_token,
    'incoming_path', incoming_path,
    'sealed_path', artifacts.sealed_path(artifact.artifact_id, verification.attempt),
    'size', artifact.size_bytes,
    'object', json_build_object('id', stored.id, 'version', stored.version, 'size', stored.size),
    'progress', case
      when stored.id = verification.object_id and stored.version = verification.object_version
      then json_build_object(
        'verified_bytes', verification.verified_bytes,
        'hash_state', encode(verification.hash_state, 'base64')
      )
    end
  );
end
$$;
comment on function public.agent_api_begin_commit(jsonb, text, text, integer) is
  'Takes the lease of a commit. Returns {step: "done", artifact} if nothing is left to do; {step: '
  '"moving", artifact} while an earlier commit''s move may be under way; otherwise {step: '
  '"verify", lease_token, incoming_path | null, sealed_path, size, object: {id, version, size | '
  'null}, progress: {verified_bytes, hash_state (base64)} | null}: move incoming_path, if there is '
  'one, to sealed_path and verify that, starting at progress. object is what is now at '
  'incoming_path or, if that is null, at sealed_path; a move gives it another version. Raises '
  'artifact_not_found, artifact_expired, already_committed, commit_in_progress, upload_missing, '
  'misconfigured.';

create function public.agent_api_leave_move(artifact_id text, lease_token uuid) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  artifact artifacts.artifacts;
  left_at timestamptz := clock_timestamp();
begin
  update artifacts.verifications v
  set move_awaited_until = left_at,
      -- Keep the time that the lease lasts beyond move_awaited_until: the longest move.
      lease_expires_at = left_at + (v.lease_expires_at - v.move_awaited_until)
  where v.artifact_id = agent_api_leave_move.artifact_id
    and v.lease_token = agent_api_leave_move.lease_token
    and v.move_awaited_until is not null;
  if not found then
    raise sqlstate 'PT409' using message = 'commit_in_progress';
  end if;
  select a.* into artifact from artifacts.artifacts a where a.artifact_id = agent_api_leave_move.artifact_id;
  return artifacts.artifact_json(artifact);
end
$$;
comment on function public.agent_api_leave_move(text, uuid) is
  'Records that the commit that began a move no longer waits for it. The lease stays, for the '
  'move, and lasts from now for longest_move. Returns the artifact. Raises commit_in_progress if '
  'the lease was lost.';

create function public.agent_api_save_commit_progress(
  artifact_id text,
  lease_token uuid,
  object_id uuid,
  object_version text,
  verified_bytes bigint,
  hash_state text
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  artifact artifacts.artifacts;
  verified_attempt integer;
begin
  select a.* into artifact
  from artifacts.artifacts a
  where a.artifact_id = agent_api_save_commit_progress.artifact_id
  for update;

  update artifacts.verifications v
  set lease_token = null,
      lease_expires_at = null,
      move_awaited_until = null,
      verified_bytes = agent_api_save_commit_progress.verified_bytes,
      hash_state = decode(agent_api_save_commit_progress.hash_state, 'base64'),
      object_id = agent_api_save_commit_progress.object_id,
      object_version = agent_api_save_commit_progress.object_version,
      progress_at = clock_timestamp()
  where v.artifact_id = agent_api_save_commit_progress.artifact_id
    and v.lease_token = agent_api_save_commit_progress.lease_token
  returning v.attempt into verified_attempt;
  if not found then
    raise sqlstate 'PT409' using message = 'commit_in_progress';
  end if;

  -- Of several sealed uploads, only the newest is ever used: the earlier ones are dead.
  update artifacts.artifacts a
  set rejected_attempts = greatest(a.rejected_attempts, verified_attempt - 1)
  where a.artifact_id = artifact.artifact_id;
  return artifacts.artifact_json(artifact);
end
$$;
comment on function public.agent_api_save_commit_progress(text, uuid, uuid, text, bigint, text) is
  'Saves the SHA-256 state (base64) of the first verified_bytes of one object, and gives the '
  'lease back. Returns the artifact. Raises commit_in_progress if the lease was lost: then '
  'nothing is saved.';

create function public.agent_api_release_commit(artifact_id text, lease_token uuid) returns json
language sql
volatile
security invoker
set search_path = ''
as $$
  with released as (
    update artifacts.verifications v
    set lease_token = null, lease_expires_at = null, move_awaited_until = null
    where v.artifact_id = agent_api_release_commit.artifact_id and v.lease_token = agent_api_release_commit.lease_token
    returning 1
  )
  select json_build_object(
    'released', exists (select from released),
    'upload_version', (
      select o.version
      from artifacts.object_at(artifacts.incoming_path(agent_api_release_commit.artifact_id)) o
      where exists (select from released)
    )
  )
$$;
comment on function public.agent_api_release_commit(text, uuid) is
  'Gives back the lease of a commit that could not be decided, so that the next commit need not '
  'wait until the lease expires. Returns {released, upload_version: the upload''s version in '
  'Storage, null if there is no upload or the lease was lost}.';

-- schemas/artifacts/verification/verdicts.sql

-- The end of a verification: compares what was observed with what was registered.

create function public.agent_api_finish_commit(
  caller jsonb,
  artifact_id text,
  lease_token uuid,
  expected_sha256 text,
  observed_size bigint,
  observed_sha256 text
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  artifact artifacts.artifacts;
  decided_attempt integer;
  superseded_id text;
  promised_ids text[];
begin
  caller_agent := agents.admit(agent_api_finish_commit.caller);
  select a.* into artifact
  from artifacts.artifacts a
  where a.artifact_id = agent_api_finish_commit.artifact_id;

  -- Commits of one `key` run one at a time, so that exactly one artifact is current. This lock
  -- comes before any row lock, so that two commits cannot deadlock.
  perform pg_advisory_xact_lock(
    hashtextextended('artifact key ' || artifact.agent_id || '/' || artifact.key, 0)
  );
  promised_ids := artifacts.lock_standing_of(artifact.agent_id, artifact.key);

  select a.* into artifact
  from artifacts.artifacts a
  where a.artifact_id = agent_api_finish_commit.artifact_id
  for update;

  -- Whatever the verdict is, the attempt ends here.
  delete from artifacts.verifications v
  where v.artifact_id = artifact.artifact_id and v.lease_token = agent_api_finish_commit.lease_token
  returning v.attempt into decided_attempt;

  if not found then
    perform artifacts.refuse_ended(artifact);
    if artifact.state <> 'pending' and artifact.sha256 = agent_api_finish_commit.expected_sha256 then
      return json_build_object('verdict', 'committed', 'artifact', artifacts.artifact_json(artifact));
    end if;
    raise sqlstate 'PT409' using message = 'commit_in_progress';
  end if;

  if agent_api_finish_commit.observed_size <> artifact.size_bytes
    or agent_api_finish_commit.observed_sha256 is distinct from agent_api_finish_commit.expected_sha256
  then
    update artifacts.artifacts a
    set rejected_attempts = decided_attempt
    where a.artifact_id = artifact.artifact_id;

    if agent_api_finish_commit.observed_size <> artifact.size_bytes then
      return json_build_object(
        'verdict', 'size_mismatch', 'expected', artifact.size_bytes, 'actual',
        agent_api_finish_commit.observed_size
      );
    end if;
    return json_build_object(
      'verdict', 'checksum_mismatch', 'expected', agent_api_finish_commit.expected_sha256, 'actual',
      agent_api_finish_commit.observed_sha256
    );
  end if;

  -- Select first, because an update runs its triggers even if it finds no row.
  select a.artifact_id into superseded_id
  from artifacts.artifacts a
  where a.agent_id = artifact.agent_id
    and a.key = artifact.key
    and a.state = 'committed'
    and a.ended_at is null
  for update;
  if found then
    update artifacts.artifacts a set state = 'superseded' where a.artifact_id = superseded_id;
  end if;

  update artifacts.artifacts a
  set state = 'committed',
      sha256 = agent_api_finish_commit.observed_sha256,
      version = artifacts.next_version(a.agent_id, a.key),
      sealed_attempt = decided_attempt,
      committed_at = committed.at,
      expires_at = committed.at + make_interval(hours => 24 * a.ttl_days)
  from (select clock_timestamp() as at) committed
  where a.artifact_id = artifact.artifact_id
  returning a.* into artifact;

  perform agents.record_event(
    agent_api_finish_commit.caller, caller_agent, 'artifact.committed',
    artifact.agent_id, artifact.artifact_id,
    jsonb_build_object(
      'key', artifact.key, 'sha256', artifact.sha256, 'version', artifact.version,
      'superseded', superseded_id
    )
  );
  if superseded_id is not null then
    perform agents.record_event(
      agent_api_finish_commit.caller, caller_agent, 'artifact.superseded', artifact.agent_id,
      superseded_id,
      jsonb_build_object('key', artifact.key, 'superseded_by', artifact.artifact_id)
    );
  end if;
  perform artifacts.grant_committed(agent_api_finish_commit.caller, caller_agent, artifact, promised_ids);
  if artifact.keep_versions is not null then
    perform artifacts.end_surplus_versions(agent_api_finish_commit.caller, caller_agent, artifact);
  end if;
  return json_build_object('verdict', 'committed', 'artifact', artifacts.artifact_json(artifact));
end
$$;
comment on function public.agent_api_finish_commit(jsonb, text, uuid, text, bigint, text) is
  'Decides on what was observed at the leased sealed path: {verdict: "committed", artifact}, or '
  '{verdict: "size_mismatch" | "checksum_mismatch", expected, actual}. After a mismatch, the '
  'caller must remove the object at that path. Raises commit_in_progress if the lease was lost: '
  'then the caller must remove nothing. Raises unauthenticated if the caller''s access ended '
  'during the verification.';

-- schemas/artifacts/retention/sweep_schedule.sql

-- When the sweep runs. The database can schedule it if the project has pg_cron, pg_net and two
-- secrets in its Vault. Extensions are named only in dynamic SQL, so that this file applies without
-- them, too.

create table artifacts.sweeps (
  only_row boolean primary key default true,
  installed_at timestamptz not null default now(),
  schedule text,
  swept_at timestamptz,

  constraint there_is_only_one_row check (only_row)
);
comment on table artifacts.sweeps is
  'One row: when the sweep is scheduled, and when it last ran. pg_cron shows a schedule only to '
  'the role that created it.';
comment on column artifacts.sweeps.schedule is
  'What agent_api_schedule_sweep last gave pg_cron; null: never.';
comment on column artifacts.sweeps.swept_at is 'When a call of /sweep last finished; null: never.';

insert into artifacts.sweeps default values;

create function public.agent_api_schedule_sweep(
  schedule text default '*/2 * * * *',
  url_secret text default 'project_url',
  key_secret text default 'secret_key'
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  missing text[] := array[]::text[];
  secret text;
  is_stored boolean;
  -- Every run reads the secrets. So a rotated key needs no new schedule, and pg_cron's own table
  -- contains no key.
  read_secret constant text := '(select decrypted_secret from vault.decrypted_secrets where name = %L)';
begin
  if not exists (
    select from pg_catalog.pg_proc p where p.pronamespace = to_regnamespace('cron') and p.proname = 'schedule'
  ) then
    missing := missing || 'the extension pg_cron'::text;
  end if;
  if not exists (
    select from pg_catalog.pg_proc p where p.pronamespace = to_regnamespace('net') and p.proname = 'http_post'
  ) then
    missing := missing || 'the extension pg_net'::text;
  end if;
  if to_regclass('vault.decrypted_secrets') is null then
    missing := missing || 'the extension supabase_vault'::text;
  else
    foreach secret in array array[agent_api_schedule_sweep.url_secret, agent_api_schedule_sweep.key_secret] loop
      -- The schema may be missing. `supabase db lint` checks constant dynamic SQL, so `format`
      -- hides the schema's name until this runs.
      execute format('select exists (select from %I.decrypted_secrets where name = $1)', 'vault')
      into is_stored using secret;
      if not is_stored then
        missing := missing || format('the Vault secret %L', secret);
      end if;
    end loop;
  end if;
  if missing <> '{}' then
    raise object_not_in_prerequisite_state using
      message = 'The sweep cannot be scheduled in this database without: ' || array_to_string(missing, ', ') || '.',
      hint = 'See docs/retention.md.';
  end if;

  -- This replaces an existing job of the same name.
  execute format('select %I.schedule($1, $2, $3)', 'cron') using
    'agent-artifacts-sweep',
    agent_api_schedule_sweep.schedule,
    format(
      'select net.http_post('
      || 'url := ' || read_secret || ' || ''/functions/v1/agent-artifacts/sweep'', '
      || 'headers := jsonb_build_object(''content-type'', ''application/json'', ''apikey'', ' || read_secret || '), '
      || 'body := ''{"limit": 1000}''::jsonb, '
      || 'timeout_milliseconds := 60000), agents.kick_deliveries()',
      agent_api_schedule_sweep.url_secret,
      agent_api_schedule_sweep.key_secret
    );
  -- From now on, pg_net is also told of deliveries to webhooks.
  update agents.webhook_kicks k
  set url_secret = agent_api_schedule_sweep.url_secret, key_secret = agent_api_schedule_sweep.key_secret
  where k.only_row;
  update artifacts.sweeps s set schedule = agent_api_schedule_sweep.schedule where s.only_row;
  return json_build_object('job', 'agent-artifacts-sweep', 'schedule', agent_api_schedule_sweep.schedule);
end
$$;
comment on function public.agent_api_schedule_sweep(text, text, text) is
  'Makes pg_cron call /sweep on a schedule through pg_net, with the URL and the secret key that '
  'Vault stores under these names. A later call replaces the schedule. Raises '
  'object_not_in_prerequisite_state, which says what is missing.';

do $$
begin
  perform public.agent_api_schedule_sweep();
exception when object_not_in_prerequisite_state then
  raise notice '%', sqlerrm;
end
$$;

-- schemas/artifacts/retention/retention.sql

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

-- schemas/artifacts/retention/dead_objects.sql

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

-- schemas/artifacts/retention/surplus_uploads.sql

-- An upload URL does not limit the size, and works for two hours, whatever happens to its artifact.
-- The sweep removes surplus uploads, but anyone with the URL can upload again. So the surplus bytes
-- that were seen count against the artifact's owner, which cannot register anything while it is
-- over its quota.

create index surplus_uploads_by_agent on artifacts.artifacts (agent_id) include (surplus_bytes)
  where surplus_bytes is not null;
create index surplus_uploads_by_age on artifacts.artifacts (surplus_seen_at)
  where surplus_bytes is not null;

create function artifacts.surplus_of(artifact artifacts.artifacts) returns table (bytes bigint)
language sql
stable
begin atomic
  select u.size - u.allowed
  from (
    select (o.metadata ->> 'size')::bigint as size,
      case
        when (surplus_of.artifact).state = 'pending' and (surplus_of.artifact).ended_at is null
          then (surplus_of.artifact).size_bytes
        else 0
      end as allowed
    from artifacts.current_objects o
    where o.name collate "C" = artifacts.incoming_path((surplus_of.artifact).artifact_id)
    limit 1
  ) u
  where u.size > u.allowed;
end;
comment on function artifacts.surplus_of(artifacts.artifacts) is
  'How many excess bytes an artifact has at its upload path: for a pending one, those beyond its '
  'registered size; for any other, all of them. No row: none.';

create function public.agent_api_record_surplus_uploads(caller jsonb) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  -- As many uploads as agent_api_collect_dead_objects looks at, and some that are next to be
  -- cleared.
  names_per_call constant integer := 200;
  cleared_per_call constant integer := 200;
  cleared_before constant timestamptz := now() - interval '1 hour';
  looked_at text[];
  changed_ids text[];
begin
  perform agents.authenticate_operator(agent_api_record_surplus_uploads.caller);
  perform artifacts.lock_sweep();

  looked_at := array(
    select split_part(o.name, '/', 2)
    from artifacts.halves_of_bucket() h
    cross join lateral artifacts.current_names(h.after, h.up_to, names_per_call) o
    where h.half = 'uploads'
    union
    (
      select a.artifact_id
      from artifacts.artifacts a
      where a.surplus_bytes is not null and a.surplus_seen_at < cleared_before
      order by a.surplus_seen_at
      limit cleared_per_call
    )
  );
  changed_ids := array(
    select a.artifact_id
    from unnest(looked_at) as named (artifact_id)
    -- One index lookup per id.
    cross join lateral (
      select i.* from artifacts.artifacts i where i.artifact_id = named.artifact_id limit 1
    ) a
    where a.surplus_seen_at < cleared_before or exists (select from artifacts.surplus_of(a))
  );
  changed_ids := array(
    select a.artifact_id
    from artifacts.artifacts a
    where a.artifact_id = any (changed_ids)
    for update skip locked
  );

  update artifacts.artifacts a
  set (surplus_bytes, surplus_seen_at) = (select s.bytes, clock_timestamp() from artifacts.surplus_of(a) s)
  where a.artifact_id = any (changed_ids);
  return json_build_object('looked_at', cardinality(looked_at));
end
$$;
comment on function public.agent_api_record_surplus_uploads(jsonb) is
  'Records the excess bytes of the uploads that agent_api_collect_dead_objects looks at next, '
  'before they are removed, and clears excess that was not seen again for an hour. Returns '
  '{looked_at: how many artifacts}. Raises forbidden for an agent.';

-- schemas/artifacts/fsck/consistency.sql

-- What `agentops fsck` shows: contradictions between the rows and the bucket. Only restoring one
-- without the other, or editing the bucket by hand, can cause them. What the sweep has not removed
-- yet is not a contradiction.

create function public.agent_api_list_artifacts_without_bytes(
  max_entries integer,
  after text default ''
) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  with examined as (
    select a.artifact_id, artifacts.sealed_path(a.artifact_id, a.sealed_attempt) as path,
      -- While sealed_attempt is null, there are no bytes yet.
      a.sealed_attempt is not null and a.ended_at is null as holds_bytes
    from artifacts.artifacts a
    where a.artifact_id > agent_api_list_artifacts_without_bytes.after
    order by a.artifact_id
    limit agent_api_list_artifacts_without_bytes.max_entries
  )
  select json_build_object(
    'found', coalesce(
      json_agg(json_build_object('artifact_id', e.artifact_id, 'path', e.path) order by e.artifact_id)
        filter (where e.holds_bytes and o.is_there is null and a.state <> 'deleted'),
      '[]'
    ),
    'next',
    case when count(*) = agent_api_list_artifacts_without_bytes.max_entries then max(e.artifact_id) end
  )
  from examined e
  -- One index lookup per object.
  left join lateral (
    select true as is_there
    from artifacts.current_objects o
    where o.name collate "C" = e.path
    limit 1
  ) o on e.holds_bytes
  -- The state is not in the index, so the row is read only if the object is missing.
  left join lateral (
    select i.state
    from artifacts.artifacts i
    where e.holds_bytes and o.is_there is null and i.artifact_id = e.artifact_id
    limit 1
  ) a on true
$$;
comment on function public.agent_api_list_artifacts_without_bytes(integer, text) is
  'Committed artifacts whose object is gone, among the max_entries artifacts after the given id: '
  '{found: [{artifact_id, path}], next: where the next page begins | null}.';

create function public.agent_api_list_objects_without_artifact(
  max_entries integer,
  after text default ''
) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  with judged as (
    select j.object_name, j.standing
    from artifacts.judge_objects(
      agent_api_list_objects_without_artifact.after, U&'\+10FFFF',
      agent_api_list_objects_without_artifact.max_entries
    ) j
  )
  select json_build_object(
    'found', coalesce(
      json_agg(json_build_object('path', j.object_name) order by j.object_name)
        filter (where j.standing = 'unknown'),
      '[]'
    ),
    'next',
    case when count(*) = agent_api_list_objects_without_artifact.max_entries then max(j.object_name) end
  )
  from judged j
$$;
comment on function public.agent_api_list_objects_without_artifact(integer, text) is
  'The objects without a row, whatever their age, among the max_entries objects after the given '
  'path: {found: [{path}], next: where the next page begins | null}.';

create function public.agent_api_count_archived_versions(
  max_entries integer,
  after text default ''
) returns json
language plpgsql
stable
security invoker
set search_path = ''
-- As in artifacts.current_names.
set enable_sort = off
as $$
begin
  return (
    with examined as (
      select v.name, v.metadata,
        v.archived_at is not null and v.is_delete_marker is not true as is_archived
      from artifacts.object_versions() v
      where v.name collate "C" > agent_api_count_archived_versions.after
      order by v.name collate "C"
      -- All versions of one name are on one page.
      fetch first agent_api_count_archived_versions.max_entries rows with ties
    )
    select json_build_object(
      'found', json_build_array(json_build_object(
        'versions', count(*) filter (where e.is_archived),
        'bytes', coalesce(sum((e.metadata ->> 'size')::bigint) filter (where e.is_archived), 0),
        'versioning', artifacts.versioning_status()
      )),
      'next', case
        when count(*) >= agent_api_count_archived_versions.max_entries then max(e.name collate "C")
      end
    )
    from examined e
  );
end
$$;
comment on function public.agent_api_count_archived_versions(integer, text) is
  'How many older versions of objects Storage keeps, whose bytes no other function sees, among the '
  'max_entries rows after the given path: {found: [{versions, bytes, versioning: DISABLED, ENABLED, '
  'SUSPENDED or null if the bucket is missing}], next: where the next page begins | null}.';

-- The totals of agents. The caller adds up each agent's rows, over the pages of all artifacts and
-- of all grants: one agent may have more rows than one call can read.

create function public.agent_api_list_shares_of_artifacts(
  max_entries integer,
  after text default ''
) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  with examined as (
    select a.artifact_id, artifacts.share_in_totals(a, 1) as share
    from artifacts.artifacts a
    where a.artifact_id > agent_api_list_shares_of_artifacts.after
    order by a.artifact_id
    limit agent_api_list_shares_of_artifacts.max_entries
  )
  select json_build_object(
    'found', coalesce(json_agg(e.share), '[]'),
    'next',
    case when count(*) = agent_api_list_shares_of_artifacts.max_entries then max(e.artifact_id) end
  )
  from examined e
$$;
comment on function public.agent_api_list_shares_of_artifacts(integer, text) is
  'What each of the max_entries artifacts after the given id adds to its agent''s totals: {found: '
  '[{agent_id, pending, …}], next: where the next page begins | null}.';

create function public.agent_api_list_shares_of_grants(
  max_entries integer,
  after text default ''
) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  with examined as (
    select g.grant_id, g.from_agent
    from artifacts.grants g
    where g.grant_id > agent_api_list_shares_of_grants.after
    order by g.grant_id
    limit agent_api_list_shares_of_grants.max_entries
  )
  select json_build_object(
    'found', coalesce(json_agg(json_build_object('agent_id', e.from_agent, 'grants', 1)), '[]'),
    'next', case when count(*) = agent_api_list_shares_of_grants.max_entries then max(e.grant_id) end
  )
  from examined e
$$;
comment on function public.agent_api_list_shares_of_grants(integer, text) is
  'Like agent_api_list_shares_of_artifacts, for the max_entries grants after the given id.';

create function public.agent_api_list_totals(
  max_entries integer,
  after text default ''
) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  with examined as (
    select t.agent_id, artifacts.kept_share(t) as share
    from artifacts.totals t
    where t.agent_id > agent_api_list_totals.after
    order by t.agent_id
    limit agent_api_list_totals.max_entries
  )
  select json_build_object(
    'found', coalesce(json_agg(e.share order by e.agent_id), '[]'),
    'next', case when count(*) = agent_api_list_totals.max_entries then max(e.agent_id) end
  )
  from examined e
$$;
comment on function public.agent_api_list_totals(integer, text) is
  'The stored totals of the max_entries agents after the given one: {found: [{agent_id, pending, '
  '…}], next: where the next page begins | null}.';

create function public.agent_api_list_wrong_totals(agent_ids text[]) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  with examined as (
    select named.agent_id, to_jsonb(artifacts.kept_share(t)) as kept, to_jsonb(c) as counted
    from unnest(agent_api_list_wrong_totals.agent_ids) as named (agent_id)
    left join artifacts.totals t on t.agent_id = named.agent_id
    cross join lateral artifacts.count_totals(named.agent_id) c
  )
  select coalesce(
    json_agg(json_build_object('agent_id', e.agent_id, 'kept', e.kept, 'counted', e.counted))
      filter (where e.kept is distinct from e.counted),
    '[]'
  )
  from examined e
$$;
comment on function public.agent_api_list_wrong_totals(text[]) is
  'Those of these agents whose totals differ from the sum of their rows in one snapshot: '
  '[{agent_id, kept | null, counted}]. It reads all of their rows. Use it for agents whose sum '
  'over pages seems wrong: changes between pages are counted twice or not at all.';

-- schemas/artifacts/fsck/lost_bytes.sql

-- Artifacts whose bytes Storage has lost. `agentops fsck --bytes` asks Storage, because the rows
-- of storage.objects stay when their bytes are lost.

create function artifacts.holds_bytes(artifact artifacts.artifacts) returns boolean
language sql
immutable
return artifact.sealed_attempt is not null and artifact.ended_at is null and artifact.state <> 'deleted';
comment on function artifacts.holds_bytes(artifacts.artifacts) is
  'Whether the bucket should have this artifact''s bytes.';

create function public.agent_api_list_sealed_artifacts(
  max_entries integer,
  after text default ''
) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  with examined as (
    select a as artifact, a.artifact_id
    from artifacts.artifacts a
    where a.artifact_id > agent_api_list_sealed_artifacts.after
    order by a.artifact_id
    limit agent_api_list_sealed_artifacts.max_entries
  )
  select json_build_object(
    'found', coalesce(
      json_agg(
        json_build_object(
          'artifact_id', e.artifact_id,
          'path', artifacts.sealed_path(e.artifact_id, (e.artifact).sealed_attempt),
          'size', (e.artifact).size_bytes,
          'sha256', (e.artifact).sha256,
          'is_lost', (e.artifact).lost_at is not null
        )
        order by e.artifact_id
      ) filter (where artifacts.holds_bytes(e.artifact)),
      '[]'
    ),
    'next', case when count(*) = agent_api_list_sealed_artifacts.max_entries then max(e.artifact_id) end
  )
  from examined e
$$;
comment on function public.agent_api_list_sealed_artifacts(integer, text) is
  'The artifacts whose bytes the bucket should have, among the max_entries artifacts after the '
  'given id: {found: [{artifact_id, path, size, sha256, is_lost}], next: where the next page '
  'begins | null}.';

create function public.agent_api_mark_lost_artifacts(
  lost_paths text[],
  found_paths text[]
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  verdict record;
  marked text[] := array[]::text[];
  unmarked text[] := array[]::text[];
begin
  perform artifacts.lock_sweep();
  for verdict in
    with judged as (
      select p.path, true as is_lost from unnest(agent_api_mark_lost_artifacts.lost_paths) as p (path)
      union all
      select p.path, false from unnest(agent_api_mark_lost_artifacts.found_paths) as p (path)
    )
    update artifacts.artifacts a
    set lost_at = case when j.is_lost then clock_timestamp() end
    from judged j
    where a.artifact_id = split_part(j.path, '/', 2)
      and artifacts.sealed_path(a.artifact_id, a.sealed_attempt) = j.path
      and artifacts.holds_bytes(a)
      and (a.lost_at is not null) <> j.is_lost
    returning a.artifact_id, a.agent_id, a.key, j.is_lost
  loop
    perform agents.record_event(
      '{"kind": "operator"}', null,
      case when verdict.is_lost then 'artifact.lost' else 'artifact.recovered' end,
      verdict.agent_id, verdict.artifact_id,
      jsonb_build_object('key', verdict.key)
    );
    if verdict.is_lost then
      marked := marked || verdict.artifact_id;
    else
      unmarked := unmarked || verdict.artifact_id;
    end if;
  end loop;
  return json_build_object('lost', marked, 'recovered', unmarked);
end
$$;
comment on function public.agent_api_mark_lost_artifacts(text[], text[]) is
  'Marks the artifacts at lost_paths as lost, and removes the mark from those at found_paths, '
  'which have their bytes again. An event tells the owner of each: artifact.lost or '
  'artifact.recovered. Returns {lost, recovered}: the artifact_ids whose mark changed.';

create function public.agent_api_repair_totals(agent_ids text[]) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  repaired_agent text;
  kept artifacts.totals;
  counted artifacts.share;
  repaired text[] := array[]::text[];
begin
  perform artifacts.lock_sweep();
  for repaired_agent in
    select distinct named.agent_id collate "C" as agent_id
    from unnest(agent_api_repair_totals.agent_ids) as named (agent_id)
    order by 1
  loop
    insert into artifacts.totals (agent_id) values (repaired_agent) on conflict do nothing;
    perform artifacts.count_for_enrolment(repaired_agent);
    -- Any other transaction that changes this agent's artifacts waits for this lock before it
    -- commits. So the next statement counts exactly the rows that the totals include.
    select t.* into kept from artifacts.totals t where t.agent_id = repaired_agent for update;
    counted := artifacts.count_totals(repaired_agent);
    continue when artifacts.kept_share(kept) is not distinct from counted;
    update artifacts.totals t
    set pending = counted.pending,
        committed = counted.committed,
        superseded = counted.superseded,
        pending_bytes = counted.pending_bytes,
        committed_bytes = counted.committed_bytes,
        superseded_bytes = counted.superseded_bytes,
        grants = counted.grants,
        surplus_bytes = counted.surplus_bytes
    where t.agent_id = repaired_agent;
    repaired := repaired || repaired_agent;
  end loop;
  return json_build_object('repaired', repaired);
end
$$;
comment on function public.agent_api_repair_totals(text[]) is
  'Sets the totals of these agents to the sum of their rows. Returns {repaired}: those whose '
  'totals were wrong. Call agent_api_repair_project_totals afterwards.';

create function artifacts.missing_in_project_totals() returns artifacts.share
language sql
stable
set search_path = ''
as $$
  select null::agents.agent_id, coalesce(sum(s.pending), 0)::bigint,
    coalesce(sum(s.committed), 0)::bigint, coalesce(sum(s.superseded), 0)::bigint,
    coalesce(sum(s.pending_bytes), 0)::bigint, coalesce(sum(s.committed_bytes), 0)::bigint,
    coalesce(sum(s.superseded_bytes), 0)::bigint, coalesce(sum(s.grants), 0)::bigint,
    coalesce(sum(s.surplus_bytes), 0)::bigint
  from (
    select t.pending, t.committed, t.superseded, t.pending_bytes, t.committed_bytes,
      t.superseded_bytes, t.grants, t.surplus_bytes
    from artifacts.totals t
    union all
    select -p.pending, -p.committed, -p.superseded, -p.pending_bytes, -p.committed_bytes,
      -p.superseded_bytes, -p.grants, -p.surplus_bytes
    from artifacts.project_totals p
  ) s
$$;
comment on function artifacts.missing_in_project_totals() is
  'The sum over all agents minus the totals of the project. It reads one row per agent: for fsck.';

create function artifacts.missing_in_enrolment_totals()
returns table (enrolment_id text, bytes bigint)
language sql
stable
set search_path = ''
as $$
  select s.enrolment_id, sum(s.bytes)::bigint
  from (
    select t.enrolment_id,
      t.pending_bytes + t.committed_bytes + t.superseded_bytes + t.surplus_bytes as bytes
    from artifacts.totals t
    where t.enrolment_id <> ''
    union all
    select e.enrolment_id, -e.bytes from artifacts.enrolment_totals e
  ) s
  group by s.enrolment_id
  having sum(s.bytes) <> 0
$$;
comment on function artifacts.missing_in_enrolment_totals() is
  'The sum over the agents of each enrolment minus its total, where they differ. It reads one row '
  'per agent: for fsck.';

create function public.agent_api_check_project_totals() returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select coalesce(json_object_agg(d.name, d.number) filter (where d.number <> '0'), '{}')
  from (
    select j.key as name, j.value as number
    from jsonb_each(to_jsonb(artifacts.missing_in_project_totals()) - 'agent_id') j
    union all
    select 'bytes of ' || m.enrolment_id, to_jsonb(m.bytes)
    from artifacts.missing_in_enrolment_totals() m
  ) d
$$;
comment on function public.agent_api_check_project_totals() is
  'The sum over all agents minus the totals of the project, by name and without zeros, and the same '
  'for the bytes of each enrolment; {} if they agree.';

create function public.agent_api_repair_project_totals() returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  missing artifacts.share;
begin
  perform artifacts.lock_sweep();
  -- The same order of locks as in every other transaction. These locks do not block reads.
  lock table artifacts.totals in share row exclusive mode;
  lock table artifacts.enrolment_totals in share row exclusive mode;
  lock table artifacts.project_totals in share row exclusive mode;
  perform artifacts.add_to_enrolment_totals(m.enrolment_id, m.bytes)
  from artifacts.missing_in_enrolment_totals() m;
  missing := artifacts.missing_in_project_totals();
  insert into artifacts.project_totals as p (
    shard, pending, committed, superseded, pending_bytes, committed_bytes, superseded_bytes, grants,
    surplus_bytes
  )
  values (
    artifacts.shard(), missing.pending, missing.committed, missing.superseded, missing.pending_bytes,
    missing.committed_bytes, missing.superseded_bytes, missing.grants, missing.surplus_bytes
  )
  on conflict on constraint project_totals_pkey do update
  set pending = p.pending + excluded.pending,
      committed = p.committed + excluded.committed,
      superseded = p.superseded + excluded.superseded,
      pending_bytes = p.pending_bytes + excluded.pending_bytes,
      committed_bytes = p.committed_bytes + excluded.committed_bytes,
      superseded_bytes = p.superseded_bytes + excluded.superseded_bytes,
      grants = p.grants + excluded.grants,
      surplus_bytes = p.surplus_bytes + excluded.surplus_bytes;
  return '{}'::json;
end
$$;
comment on function public.agent_api_repair_project_totals() is
  'Sets the totals of the project, and of each enrolment, to the sum over all agents. Returns {}.';

-- schemas/artifacts/deletion.sql

-- An owner deletes an artifact.

create function public.agent_api_delete_artifact(caller jsonb, artifact_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  artifact artifacts.artifacts;
begin
  caller_agent := agents.admit(agent_api_delete_artifact.caller);
  artifact := artifacts.lock_owned_artifact(caller_agent, agent_api_delete_artifact.artifact_id);
  if artifact.state = 'deleted' then
    -- A caller that lost the first answer and repeats the delete gets it now.
    return artifacts.artifact_json(artifact);
  end if;
  perform artifacts.refuse_ended(artifact);

  -- Grants end with their artifact. The sweep removes the bytes.
  update artifacts.artifacts a
  set state = 'deleted', deleted_at = clock_timestamp()
  where a.artifact_id = artifact.artifact_id
  returning a.* into artifact;
  -- A running commit loses its lease, so it can give no verdict.
  delete from artifacts.verifications v where v.artifact_id = artifact.artifact_id;

  perform agents.record_event(
    agent_api_delete_artifact.caller, caller_agent, 'artifact.deleted', artifact.agent_id,
    artifact.artifact_id,
    jsonb_build_object('key', artifact.key)
  );
  return artifacts.artifact_json(artifact);
end
$$;
comment on function public.agent_api_delete_artifact(jsonb, text) is
  'Ends an artifact and its grants. Idempotent. Raises artifact_not_found, artifact_expired.';

-- schemas/artifacts/downloads.sql

-- Reading artifacts: whoever has access gets what a download URL is made from.

create function artifacts.download_json(
  artifact artifacts.artifacts,
  ends_at timestamptz,
  window_seconds integer,
  counted_grant_id text
) returns json
language plpgsql
stable
set search_path = ''
as $$
begin
  return artifacts.content_json(artifact) || jsonb_build_object(
    'counted_grant_id', counted_grant_id,
    'sealed_path', artifacts.sealed_path(artifact.artifact_id, artifact.sealed_attempt),
    'window_seconds', greatest(
      1,
      least(
        window_seconds::numeric,
        floor(extract(epoch from least(ends_at, artifact.expires_at) - clock_timestamp()))
      )
    )::integer
  );
end
$$;
comment on function artifacts.download_json(artifacts.artifacts, timestamptz, integer, text) is
  'What a download URL is made from. Its window is the shortest of the requested one, the time to '
  'ends_at (null: none) and the time to the artifact''s end, at least 1 second. counted_grant_id '
  'is the grant that now has one download less (null: none), for agent_api_return_download.';

create function artifacts.granted_by_token(token_hash text) returns artifacts.grants
language plpgsql
stable
set search_path = ''
as $$
declare
  granted artifacts.grants;
begin
  select g.* into granted from artifacts.grants g where g.token_hash = granted_by_token.token_hash;
  if not found then
    raise sqlstate 'PT404' using message = 'grant_not_found';
  end if;
  if granted.expires_at <= clock_timestamp() then
    raise sqlstate 'PT410' using message = 'grant_expired';
  end if;
  if granted.revoked_at is not null then
    raise sqlstate 'PT410' using message = 'grant_revoked';
  end if;
  return granted;
end
$$;
comment on function artifacts.granted_by_token(text) is
  'The live grant of a token. Raises grant_not_found, grant_expired, grant_revoked.';

create function artifacts.granted_artifact(artifact_id text) returns artifacts.artifacts
language plpgsql
stable
set search_path = ''
as $$
declare
  artifact artifacts.artifacts;
begin
  select a.* into artifact from artifacts.artifacts a where a.artifact_id = granted_artifact.artifact_id;
  if not found then
    -- The tombstone and the grant were deleted after the grant was read.
    raise sqlstate 'PT410' using message = 'artifact_expired';
  end if;
  perform artifacts.refuse_ended(artifact);
  perform artifacts.refuse_lost(artifact);
  return artifact;
end
$$;
comment on function artifacts.granted_artifact(text) is
  'The artifact of a grant, if it has not ended. Raises artifact_expired, artifact_lost.';

create function public.agent_api_redeem_grant_token(
  caller jsonb,
  token_hash text,
  window_seconds integer
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  redeemed artifacts.grants := artifacts.granted_by_token(agent_api_redeem_grant_token.token_hash);
  artifact artifacts.artifacts := artifacts.granted_artifact(redeemed.artifact_id);
  is_counted boolean := artifacts.is_limited(redeemed.grant_id);
begin
  if is_counted and not artifacts.count_download(redeemed.grant_id) then
    raise sqlstate 'PT410' using message = 'grant_used_up';
  end if;

  perform agents.record_read(
    agent_api_redeem_grant_token.caller, null, 'artifact.fetched', redeemed.to_agent, redeemed.grant_id,
    jsonb_build_object('artifact_id', redeemed.artifact_id, 'key', artifact.key), redeemed.from_agent
  );
  return artifacts.download_json(
    artifact, redeemed.expires_at, agent_api_redeem_grant_token.window_seconds,
    case when is_counted then redeemed.grant_id end
  );
end
$$;
comment on function public.agent_api_redeem_grant_token(jsonb, text, integer) is
  'What the holder of a grant token may download. If the grant has a download limit, the download '
  'is counted. caller is {"kind": "grant_token", "request_id"}. Raises grant_not_found, '
  'grant_expired, grant_revoked, artifact_expired, artifact_lost, grant_used_up.';

create function public.agent_api_check_grant_token(token_hash text) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  checked artifacts.grants := artifacts.granted_by_token(agent_api_check_grant_token.token_hash);
  artifact artifacts.artifacts := artifacts.granted_artifact(checked.artifact_id);
  downloads_left bigint;
begin
  select d.max_downloads - d.downloads into downloads_left
  from artifacts.grant_downloads d
  where d.grant_id = checked.grant_id;
  if downloads_left <= 0 then
    raise sqlstate 'PT410' using message = 'grant_used_up';
  end if;
  return json_build_object(
    'key', artifact.key,
    'size', artifact.size_bytes,
    'from_agent', checked.from_agent,
    'expires_at', agents.iso_timestamp(least(checked.expires_at, artifact.expires_at)),
    'downloads_left', downloads_left
  );
end
$$;
comment on function public.agent_api_check_grant_token(text) is
  'What agent_api_redeem_grant_token would give access to, from whom, until when and for how many '
  'downloads (null: any number). Raises the same errors. Counts nothing.';

create function public.agent_api_open_artifact(
  caller jsonb,
  artifact_id text,
  window_seconds integer,
  key text default null,
  agent_id text default null,
  max_size bigint default null,
  version bigint default null
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  owner text;
  artifact artifacts.artifacts;
  opened_at timestamptz := clock_timestamp();
  grant_ends_at timestamptz;
  counted_grant_id text;
begin
  caller_agent := agents.admit(agent_api_open_artifact.caller);
  if agent_api_open_artifact.key is null then
    select a.* into artifact from artifacts.artifacts a where a.artifact_id = agent_api_open_artifact.artifact_id;
  else
    owner := coalesce(agent_api_open_artifact.agent_id, agents.require_self(caller_agent, null));
    if agent_api_open_artifact.version is not null then
      artifact := artifacts.numbered_artifact(
        owner, agent_api_open_artifact.key, agent_api_open_artifact.version, caller_agent
      );
    else
      artifact := artifacts.named_artifact(owner, agent_api_open_artifact.key, caller_agent);
      if caller_agent <> owner and (
        artifact.artifact_id is null
        or not artifacts.is_granted(artifact.artifact_id, caller_agent, opened_at)
      ) then
        perform artifacts.refuse_replaced(owner, agent_api_open_artifact.key, caller_agent);
      end if;
    end if;
  end if;
  if artifact.artifact_id is null then
    raise sqlstate 'PT404' using message = 'artifact_not_found';
  end if;

  if caller_agent <> artifact.agent_id then
    -- A grant ends with its artifact. So for a grantee, an ended artifact does not exist.
    if artifact.state = 'deleted' or artifact.expires_at <= clock_timestamp() then
      raise sqlstate 'PT404' using message = 'artifact_not_found';
    end if;
    select u.ends_at, u.counted_grant_id into grant_ends_at, counted_grant_id
    from artifacts.use_grant(artifact.artifact_id, caller_agent, opened_at) u;
  end if;

  perform artifacts.refuse_ended(artifact);
  if artifact.state = 'pending' then
    raise sqlstate 'PT409' using message = 'artifact_not_committed';
  end if;
  -- A refusal after use_grant rolls back the transaction, and with it the counted download.
  perform artifacts.refuse_lost(artifact);
  if artifact.size_bytes > agent_api_open_artifact.max_size then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object(
        'limit', 'max_size', 'maximum', agent_api_open_artifact.max_size, 'size', artifact.size_bytes
      ),
      hint = format('The artifact has %s bytes, which is more than max_size.', artifact.size_bytes);
  end if;

  perform agents.record_read(
    agent_api_open_artifact.caller, caller_agent, 'artifact.opened', artifact.agent_id,
    artifact.artifact_id,
    jsonb_build_object('key', artifact.key)
  );
  return artifacts.download_json(
    artifact, grant_ends_at, agent_api_open_artifact.window_seconds, counted_grant_id
  );
end
$$;
comment on function public.agent_api_open_artifact(
  jsonb, text, integer, text, text, bigint, bigint
) is
  'What the owner, an agent with a live grant, or the operator may download: an artifact, or the '
  'current one of a `key` of agent_id (null: the caller), see artifacts.named_artifact, or a '
  'version of that `key`. If the '
  'grant has a download limit, the download is counted. An artifact of more than max_size bytes (null: any size) is refused and '
  'not counted. Raises artifact_not_found, artifact_expired, artifact_lost, '
  'artifact_not_committed, limit_exceeded, grant_used_up, invalid_request.';

-- schemas/artifacts/metrics.sql

-- What GET /metrics of agent-artifacts returns. It reads counters that are updated with every
-- change, and the ends of indexes, so it takes the same time for a million artifacts as for one.

create function artifacts.sweep_backlog()
returns table (kind text, count bigint, waits_since timestamptz)
language sql
stable
set search_path = ''
as $$
  -- Only artifacts whose end was over an hour ago: a running sweep has ended them by then.
  (
    select 'to_end', count(*), min(o.over_at)
    from (
      select coalesce(a.deleted_at, a.expires_at) as over_at
      from artifacts.artifacts a
      where a.ended_at is null
        and a.state <> 'pending'
        and coalesce(a.deleted_at, a.expires_at) < now() - interval '1 hour'
      order by coalesce(a.deleted_at, a.expires_at)
      limit 1000
    ) o
  )
  union all
  (
    select 'to_empty', count(*), min(e.ended_at)
    from (
      select a.ended_at
      from artifacts.artifacts a
      where a.ended_at is not null and a.removed_at is null
      order by a.ended_at
      limit 1000
    ) e
  )
  union all
  (
    select 'to_forget', count(*), min(t.ended_at) + interval '30 days'
    from (
      select a.ended_at
      from artifacts.artifacts a
      where a.removed_at is not null and a.ended_at < now() - interval '30 days'
      order by a.ended_at
      limit 1000
    ) t
  )
$$;
comment on function artifacts.sweep_backlog() is
  'What is left for the sweep, counted up to a thousand of each kind: artifacts to end, ended '
  'artifacts whose bytes must be removed, tombstones to delete.';

create function artifacts.count_parked() returns bigint
language sql
stable
set search_path = ''
as $$
  select count(*)
  from (
    -- The sweep deletes those among them whose grants have ended.
    select t.grant_id
    from artifacts.tasks t
    where t.state = 'parked'
    order by t.grant_id, t.queue
    limit 1000
  ) p
  cross join lateral (
    select g.live_until from artifacts.grants g where g.grant_id = p.grant_id limit 1
  ) g
  where g.live_until > now()
$$;
comment on function artifacts.count_parked() is
  'How many tasks are parked, counted up to a thousand.';

create function artifacts.first_parked() returns text
language plpgsql
stable
set search_path = ''
as $$
begin
  return (
    select p.grant_id
    from (
      select t.grant_id
      from artifacts.tasks t
      where t.state = 'parked'
      order by t.grant_id, t.queue
      limit 1000
    ) p
    cross join lateral (
      select g.live_until from artifacts.grants g where g.grant_id = p.grant_id limit 1
    ) g
    where g.live_until > now()
    order by p.grant_id
    limit 1
  );
end
$$;
comment on function artifacts.first_parked() is 'The grant of a parked task; null: none is parked.';

create function public.agent_api_read_artifacts_metrics(caller jsonb) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  answer json;
begin
  perform agents.authenticate_operator(agent_api_read_artifacts_metrics.caller);

  select json_build_object(
    'artifacts', json_build_object(
      'pending', held.pending, 'committed', held.committed, 'superseded', held.superseded
    ),
    'bytes', json_build_object(
      'pending', held.pending_bytes,
      'committed', held.committed_bytes,
      'superseded', held.superseded_bytes
    ),
    'surplus_bytes', held.surplus_bytes,
    'grants', held.grants,
    'parked_tasks', artifacts.count_parked(),
    'backlog', backlog.counts,
    'backlog_since', extract(epoch from backlog.waits_since),
    'swept_at', (select extract(epoch from s.swept_at) from artifacts.sweeps s),
    'activity', agents.activity_of('agent-artifacts'),
    'keys_expiring', agents.count_expiring('7 days'),
    'database_bytes', pg_database_size(current_database()),
    'held_log', agents.held_log(),
    'webhooks', agents.webhook_backlog(),
    'last_event_id', (select max(e.event_id) from agents.events e),
    'oldest_event_at', (
      select extract(epoch from e.occurred_at) from agents.events e order by e.event_id limit 1
    )
  ) into answer
  from (
    select
      coalesce(sum(p.pending), 0) as pending,
      coalesce(sum(p.committed), 0) as committed,
      coalesce(sum(p.superseded), 0) as superseded,
      coalesce(sum(p.pending_bytes), 0) as pending_bytes,
      coalesce(sum(p.committed_bytes), 0) as committed_bytes,
      coalesce(sum(p.superseded_bytes), 0) as superseded_bytes,
      coalesce(sum(p.grants), 0) as grants,
      coalesce(sum(p.surplus_bytes), 0) as surplus_bytes
    from artifacts.project_totals p
  ) held
  cross join (
    select json_object_agg(b.kind, b.count) as counts, min(b.waits_since) as waits_since
    from artifacts.sweep_backlog() b
  ) backlog;
  return answer;
end
$$;
comment on function public.agent_api_read_artifacts_metrics(jsonb) is
  'What agent-artifacts returns at /metrics: {artifacts, bytes, surplus_bytes, grants, '
  'parked_tasks, backlog, backlog_since, swept_at, activity, keys_expiring, database_bytes, '
  'held_log, webhooks, last_event_id, oldest_event_at}; times are seconds since 1970, or null. Raises unauthenticated, forbidden.';

-- schemas/mesh/networks.sql

-- The mesh (private tunnels between agents), and the networks that provide their tunnel addresses.

create schema mesh;
comment on schema mesh is 'Peers, access rules and encrypted PSKs. Not exposed by the API.';

create table mesh.settings (
  only_row boolean primary key default true,
  ipv4_network cidr not null,
  ipv6_network cidr not null,

  constraint there_is_only_one_row check (only_row),
  constraint ipv4_network_has_room_for_peers check (
    family(ipv4_network) = 4 and masklen(ipv4_network) between 8 and 29
  ),
  -- Unspecified, loopback, link-local, multicast and reserved addresses: hosts cannot reach each
  -- other at these. `agentfiles mesh up` refuses such a mesh.
  constraint ipv4_network_has_no_special_address check (
    not ipv4_network && any (
      '{0.0.0.0/8, 127.0.0.0/8, 169.254.0.0/16, 224.0.0.0/4, 240.0.0.0/4}'::cidr[]
    )
  ),
  constraint ipv6_network_is_a_unique_local_64 check (
    ipv6_network <<= 'fd00::/8'::inet and masklen(ipv6_network) = 64
  )
);
comment on table mesh.settings is
  'One row: the networks of the mesh. `agentops mesh network` changes the IPv4 network while no peer '
  'exists; SQL can change both.';

create function mesh.draw_ipv4_network() returns cidr
language sql
volatile
set search_path = ''
as $$
  -- The last 12 digits of a version 4 UUID are random. No extension is needed.
  select format('10.%s.0.0/16', case when r.drawn < 32 then 48 + r.drawn else 80 + r.drawn end)::cidr
  from (select ('x' || right(gen_random_uuid()::text, 7))::bit(28)::integer % 48 as drawn) r
$$;
comment on function mesh.draw_ipv4_network() is
  'One of 48 networks, so that a host can be in two meshes: 10.48.0.0/16 to 10.79.0.0/16, and '
  '10.112.0.0/16 to 10.127.0.0/16. The ranges between and around them are the defaults of others: '
  'OpenVPN, k3s and VPCs use what is below, CRI-O, Podman and Kubernetes 10.85.0.0 to 10.111.0.0, '
  'and Google Cloud, MicroK8s and flannel what is above.';

-- RFC 4193, 3.2: the 40 bits after fd are random, so that two meshes do not use the same network. A
-- version 4 UUID begins with 48 random bits of the server's strong generator.
insert into mesh.settings (ipv4_network, ipv6_network)
select
  mesh.draw_ipv4_network(),
  format('fd%s:%s:%s::/64', substr(r.digits, 1, 2), substr(r.digits, 3, 4), substr(r.digits, 7, 4))::cidr
from (select replace(gen_random_uuid()::text, '-', '') as digits) r;

create table mesh.address_leases (
  agent_id agents.agent_id primary key,
  ipv4 inet not null,
  ipv6 inet not null,
  released_at timestamptz,
  resting_pubkey text collate "C",

  constraint ipv4_is_one_address check (family(ipv4) = 4 and masklen(ipv4) = 32),
  constraint ipv6_is_one_address check (family(ipv6) = 6 and masklen(ipv6) = 128),
  constraint ipv4_is_unique unique (ipv4),
  constraint ipv6_is_unique unique (ipv6),
  constraint a_pubkey_rests_with_its_addresses check (resting_pubkey is null or released_at is not null)
);
comment on table mesh.address_leases is
  'Which tunnel addresses belong to which agent. A lease outlives its peer by at least a day. So '
  'an agent that comes back gets the same addresses, and one that repeatedly registers and '
  'removes itself cannot use up the network.';
comment on column mesh.address_leases.released_at is
  'When the peer was removed; null while it is registered.';
comment on column mesh.address_leases.resting_pubkey is
  'The last public key of the removed peer. No other agent can register it for a day.';

create index resting_address_leases on mesh.address_leases (released_at) where released_at is not null;
create index resting_pubkeys on mesh.address_leases (resting_pubkey) where resting_pubkey is not null;

create function mesh.lock_addresses() returns void
language sql
volatile
set search_path = ''
as $$
  select pg_advisory_xact_lock(hashtextextended('mesh addresses', 0))
$$;
comment on function mesh.lock_addresses() is
  'Only one transaction at a time assigns addresses or changes the networks.';

create function mesh.keep_networks_that_are_in_use() returns trigger
language plpgsql
set search_path = ''
as $$
begin
  perform mesh.lock_addresses();
  if exists (select from mesh.address_leases l where l.released_at is null) then
    raise exception 'The networks of the mesh can only be changed while there is no peer.' using errcode = '55000';
  end if;
  -- The addresses of released leases belong to the old network. Endpoints were deleted with their
  -- peers.
  delete from mesh.address_leases l where l.released_at is not null;
  return null;
end
$$;
comment on function mesh.keep_networks_that_are_in_use() is
  'Refuses to change mesh.settings while a peer exists.';

create trigger networks_change_only_without_peers
  before insert or update or delete or truncate on mesh.settings
  for each statement execute function mesh.keep_networks_that_are_in_use();

create function mesh.lease_addresses(agent_id text) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  ipv4_network inet;
  ipv6_network inet;
  next_ipv4 inet;
begin
  update mesh.address_leases l
  set released_at = null, resting_pubkey = null
  where l.agent_id = lease_addresses.agent_id;
  if found then
    return;
  end if;

  select s.ipv4_network, s.ipv6_network into ipv4_network, ipv6_network from mesh.settings s;
  -- The first lease gets the address after the network's own. max() reads one index entry.
  select set_masklen(coalesce(max(l.ipv4), ipv4_network), 32) + 1 into next_ipv4 from mesh.address_leases l;

  if next_ipv4 < set_masklen(broadcast(ipv4_network), 32) then
    insert into mesh.address_leases (agent_id, ipv4, ipv6)
    values (
      lease_addresses.agent_id,
      next_ipv4,
      set_masklen(ipv6_network, 128) + (next_ipv4 - set_masklen(ipv4_network, 32))
    );
    return;
  end if;

  update mesh.address_leases l
  set agent_id = lease_addresses.agent_id, released_at = null, resting_pubkey = null
  where l.agent_id = (
    select rested.agent_id
    from mesh.address_leases rested
    where rested.released_at < clock_timestamp() - interval '1 day'
    order by rested.released_at
    limit 1
  );
  if not found then
    raise sqlstate 'PT409' using message = 'network_full';
  end if;
end
$$;
comment on function mesh.lease_addresses(text) is
  'Gives an agent its addresses: its previous ones; otherwise new ones; otherwise those unused '
  'for the longest time. The caller holds lock_addresses. Raises network_full.';

-- schemas/mesh/endpoints.sql

-- Where peers listen.

create domain mesh.endpoint as text collate "C"
  constraint endpoint_is_a_host_and_a_port check (
    value ~ '^(\[[0-9a-f:]+\]|[0-9a-z.-]{1,253}):[1-9][0-9]{0,4}$'
  );
comment on domain mesh.endpoint is 'host:port, as normalized by the function''s parser.';

create function mesh.is_inside_the_mesh(endpoint_ip inet) returns boolean
language plpgsql
stable
set search_path = ''
as $$
declare
  -- An address with one of these prefixes has an IPv4 address in its last 32 bits: mapped (RFC
  -- 4291, 2.5.5.2), compatible (2.5.5.1), or for a translator (RFC 6052).
  prefix inet := (
    select p.prefix
    from unnest(array['::ffff:0.0.0.0', '::', '64:ff9b::']::inet[]) as p (prefix)
    where is_inside_the_mesh.endpoint_ip <<= set_masklen(p.prefix, 96)
  );
  host inet := case
    when prefix is not null then inet '0.0.0.0' + (is_inside_the_mesh.endpoint_ip - prefix)
    else is_inside_the_mesh.endpoint_ip
  end;
begin
  return exists (select from mesh.settings s where host <<= s.ipv4_network or host <<= s.ipv6_network);
end
$$;
comment on function mesh.is_inside_the_mesh(inet) is
  'Whether an address, or the IPv4 address in it, is in the mesh''s own networks; false for null.';

create function mesh.refuse_endpoints_inside_the_mesh(endpoint_ip inet, further_endpoint_ips inet[]) returns void
language plpgsql
stable
set search_path = ''
as $$
declare
  field text := case
    when mesh.is_inside_the_mesh(refuse_endpoints_inside_the_mesh.endpoint_ip) then 'endpoint'
    when exists (
      select from unnest(refuse_endpoints_inside_the_mesh.further_endpoint_ips) as f (ip)
      where mesh.is_inside_the_mesh(f.ip)
    ) then 'endpoints'
  end;
begin
  if field is not null then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = json_build_object('issues', json_build_array(json_build_object(
        'path', field,
        'message', 'Must be reachable from other hosts: it lies inside the mesh.'
      )));
  end if;
end
$$;
comment on function mesh.refuse_endpoints_inside_the_mesh(inet, inet[]) is
  'Raises invalid_request for an endpoint in the mesh''s own networks: every neighbour would '
  'encrypt its own ciphertext in a loop. DNS names are allowed: their address is null.';

-- schemas/mesh/peers.sql

-- Peers, their names, and when each was last seen.

create function mesh.name_of(agent_id text) returns text
language plpgsql
immutable
set search_path = ''
as $$
begin
  return (
    select case
      -- Most identifiers are names already.
      when r.reduced = name_of.agent_id and not r.is_taken then r.reduced
      -- 64 bits: even an agent that can choose its identifier finds none that gets another agent's
      -- name.
      else rtrim(left(r.reduced, 46), '-') || '-'
        || left(encode(sha256(name_of.agent_id::bytea), 'hex'), 16)
    end
    from (
      select n.reduced,
        length(n.reduced) > 63
          -- Programs take these names for an address (RFC 6943, 3.1.1), or look them up on their
          -- own. With such a name, a neighbour would receive their traffic.
          or n.reduced ~ '^([0-9]+|0x[0-9a-f]*)$'
          or n.reduced ~ '^(localhost|localdomain|broadcasthost|wpad|isatap|metadata|ip6-.*)$'
          -- A name that looks as if it had such a suffix: another identifier may get that name.
          or n.reduced ~ '-[0-9a-f]{16}$' as is_taken
      from (
        -- A single hyphen for several characters: `xn--` begins an encoded name (RFC 5890).
        select rtrim(
          regexp_replace(lower(name_of.agent_id collate "C"), '[^a-z0-9]+', '-', 'g'), '-'
        ) as reduced
      ) n
    ) r
  );
end
$$;
comment on function mesh.name_of(text) is
  'The name of an agent in the mesh: a DNS label (RFC 1123). It is the identifier, if that is a '
  'usable label. Otherwise it is the part of the identifier that fits into a label, with a suffix '
  'of its hash. So two agents never have the same name, and an agent''s name never changes.';

create table mesh.peers (
  agent_id agents.agent_id primary key,
  dns_label text collate "C" not null generated always as (mesh.name_of(agent_id)) stored,
  pubkey text collate "C" not null,
  endpoint mesh.endpoint,
  further_endpoints mesh.endpoint[] not null default '{}',
  listen_port integer,
  effective_listen_port integer generated always as (
    coalesce(listen_port, substring(endpoint from '[0-9]+$')::integer)
  ) stored,
  registered_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),

  constraint a_peer_has_addresses foreign key (agent_id) references mesh.address_leases (agent_id),
  constraint pubkey_is_canonical_base64_of_32_bytes check (
    length(pubkey) = 44 and pubkey ~ '^[A-Za-z0-9+/]*[AEIMQUYcgkosw048]=$'
  ),
  constraint pubkey_is_unique unique (pubkey),
  constraint name_is_unique unique (dns_label),
  constraint name_is_a_dns_label check (dns_label ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  constraint a_peer_has_at_most_four_endpoints check (cardinality(further_endpoints) <= 3),
  constraint further_endpoints_follow_the_first check (endpoint is not null or further_endpoints = '{}'),
  constraint listen_port_is_a_port check (listen_port between 1 and 65535)
);
comment on table mesh.peers is 'An agent''s registration in the mesh.';
comment on column mesh.peers.dns_label is
  'The peer''s name, under which its neighbours reach it.';
comment on column mesh.peers.endpoint is
  'Where the peer listens; null: not reachable from outside.';
comment on column mesh.peers.further_endpoints is
  'Where else the peer listens, in the order in which others should try these.';
comment on column mesh.peers.effective_listen_port is
  'The port that the agent''s own configuration listens on; null: any port.';

-- Finds peers that registered the same endpoint.
create index peers_by_endpoint on mesh.peers (endpoint, agent_id);

create function mesh.endpoints_of(peer mesh.peers) returns text[]
language sql
immutable
return array_remove((endpoints_of.peer).endpoint::text || (endpoints_of.peer).further_endpoints::text[], null);
comment on function mesh.endpoints_of(mesh.peers) is 'Where a peer listens, the first one first.';

create table mesh.liveness (
  agent_id agents.agent_id primary key,
  last_seen timestamptz,
  config_version_applied bigint,
  config_version_highest bigint,
  rendering_revision_highest integer,
  waits_until timestamptz,
  paths_reported_at timestamptz,
  problem text collate "C",
  problem_network cidr,

  constraint problem_is_a_known_one check (problem in ('network_taken')),
  constraint problem_network_is_of_a_problem check (problem_network is null or problem is not null),
  constraint liveness_is_of_a_peer foreign key (agent_id) references mesh.peers (agent_id) on delete cascade
)
-- fillfactor leaves room for HOT updates: no index covers the columns that change, so a heartbeat
-- writes only the row.
with (fillfactor = 50);

comment on table mesh.liveness is
  'What heartbeats write. Separate from peers, so that a heartbeat is as cheap as possible.';
comment on column mesh.liveness.config_version_applied is
  'The config_version that the agent last reported it runs.';
comment on column mesh.liveness.config_version_highest is
  'The highest config_version that the agent ever reported, until agent_api_after_restore. If it '
  'is higher than the current one, the database was restored: a host applies the older '
  'configuration within seconds, and then reports that.';
comment on column mesh.liveness.rendering_revision_highest is
  'The highest rendering_revision of the functions that received the heartbeats. Older functions '
  'have a lower one: after a rollback, hosts have run a higher config_version without any restore.';
comment on column mesh.liveness.paths_reported_at is
  'When the newest heartbeat that reported paths came.';
comment on column mesh.liveness.problem is
  'Why the host has no tunnel, as its heartbeats say: network_taken, if another network of '
  'the host has addresses of the mesh. Null: it reports no problem.';
comment on column mesh.liveness.problem_network is
  'The network of the host that the problem is about; null: not told.';
comment on column mesh.liveness.waits_until is
  'When the wait that the agent announced with its last heartbeat ends. Until then it need not '
  'send another.';

create function mesh.is_online(liveness mesh.liveness, online_seconds integer) returns boolean
language sql
stable
return coalesce(
  -- greatest ignores nulls: waits_until is null if the peer does not wait.
  greatest((is_online.liveness).last_seen, (is_online.liveness).waits_until)
    > now() - make_interval(secs => is_online.online_seconds),
  false
);
comment on function mesh.is_online(mesh.liveness, integer) is
  'Whether a peer was seen, or a wait that it announced was still running, within the given number '
  'of seconds.';

create function mesh.problem_json(liveness mesh.liveness) returns json
language sql
stable
return case
  when (problem_json.liveness).problem is not null then json_build_object(
    'code', (problem_json.liveness).problem,
    'network', (problem_json.liveness).problem_network
  )
end;
comment on function mesh.problem_json(mesh.liveness) is
  'What a host reports of itself, {code, network | null}; null: no problem.';

create function mesh.map_entry(
  peer mesh.peers,
  lease mesh.address_leases,
  liveness mesh.liveness,
  online_seconds integer,
  subject text,
  version_of_psk integer,
  path json
) returns table (
  agent_id text,
  name text,
  pubkey text,
  endpoint text,
  endpoints text[],
  addresses text[],
  last_seen text,
  online boolean,
  registered_at text,
  updated_at text,
  self boolean,
  psk_version integer,
  config_version_applied bigint,
  path json,
  problem json
)
language sql
stable
begin atomic
  select (map_entry.peer).agent_id,
    (map_entry.peer).dns_label,
    (map_entry.peer).pubkey,
    (map_entry.peer).endpoint,
    mesh.endpoints_of(map_entry.peer),
    array[host((map_entry.lease).ipv4), host((map_entry.lease).ipv6)],
    agents.iso_timestamp((map_entry.liveness).last_seen),
    -- Same as mesh.is_online, written out because a map may have thousands of rows.
    coalesce(
      greatest((map_entry.liveness).last_seen, (map_entry.liveness).waits_until)
        > now() - make_interval(secs => map_entry.online_seconds),
      false
    ),
    agents.iso_timestamp((map_entry.peer).registered_at),
    agents.iso_timestamp((map_entry.peer).updated_at),
    (map_entry.peer).agent_id = map_entry.subject,
    map_entry.version_of_psk,
    case
      when (map_entry.peer).agent_id <> map_entry.subject
        then (map_entry.liveness).config_version_applied
    end,
    map_entry.path,
    mesh.problem_json(map_entry.liveness);
end;
comment on function mesh.map_entry(
  mesh.peers, mesh.address_leases, mesh.liveness, integer, text, integer, json
) is
  'The peer object of the wire contract, and what subject sees of the peer. Returns one row: for '
  'thousands of rows, building JSON this way takes a third of the time of json_build_object.';

create function mesh.both_registered(one_agent text, other_agent text) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return (
    select count(*) = 2
    from mesh.peers p
    where p.agent_id in (both_registered.one_agent, both_registered.other_agent)
  );
end
$$;
comment on function mesh.both_registered(text, text) is
  'Whether two different agents both have a peer.';

create function mesh.record_sight(
  caller jsonb,
  caller_agent text,
  action text,
  agent_id text,
  other_agents text[]
) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform agents.record_change(
    record_sight.caller, record_sight.caller_agent, record_sight.action, record_sight.agent_id,
    other_agent_id => o.agent_id, max_things => null
  )
  from unnest(record_sight.other_agents) as o (agent_id);
end
$$;
comment on function mesh.record_sight(jsonb, text, text, text, text[]) is
  'Appends to agents.events that an agent and each of the others now see each other '
  '(peer.appeared), or no longer do (peer.vanished). One event is for both agents.';

-- schemas/mesh/rules.sql

-- Access rules: who may reach whom. On the wire they are called acls.

create table mesh.rules (
  from_agent agents.agent_id not null,
  to_agent agents.agent_id not null,
  proto text collate "C" not null,
  port integer not null,
  from_agreed_at timestamptz,
  to_agreed_at timestamptz,
  policy_since timestamptz,
  active boolean not null generated always as (
    from_agreed_at is not null and to_agreed_at is not null or policy_since is not null
  ) stored,
  origin text not null generated always as (
    case when policy_since is null then 'agents' else 'policy' end
  ) stored,

  constraint a_rule_is_put_once primary key (from_agent, to_agent, proto, port),
  constraint the_agents_of_a_rule_differ check (from_agent <> to_agent),
  constraint proto_is_tcp_or_udp check (proto in ('tcp', 'udp')),
  constraint port_is_a_port check (port between 1 and 65535),
  constraint somebody_agreed_to_a_rule check (
    from_agreed_at is not null or to_agreed_at is not null or policy_since is not null
  )
);
comment on table mesh.rules is
  'Access rules. A rule is active when both of its agents have agreed, or when the policy has it; '
  'otherwise it is a request, which gives nobody access. It may name agents that are not '
  'registered.';
comment on column mesh.rules.policy_since is
  'Since when the policy has this rule; null: it does not. Separate from what the agents agreed '
  'to, which stays when the policy no longer has the rule.';
comment on column mesh.rules.origin is
  'What keeps the rule: policy if the policy has it, otherwise agents.';

create index rules_by_to_agent on mesh.rules (to_agent, from_agent, proto, port);

-- Only active rules: anybody can make many requests, and these must not slow down a configuration.
create index active_rules_by_from_agent on mesh.rules (from_agent, to_agent) where active;

create index active_rules_by_to_agent on mesh.rules (to_agent, from_agent, proto, port) where active;

create index policy_rules_by_from_agent on mesh.rules (from_agent, to_agent, proto, port)
  where policy_since is not null;

create index policy_rules_by_to_agent on mesh.rules (to_agent, from_agent, proto, port)
  where policy_since is not null;

create function mesh.neighbours(agent_id text) returns text[]
language plpgsql
stable
set search_path = ''
as $$
begin
  return (
    select coalesce(array_agg(n.agent_id), '{}')
    from (
      select r.to_agent from mesh.rules r where r.active and r.from_agent = neighbours.agent_id
      union
      select r.from_agent from mesh.rules r where r.active and r.to_agent = neighbours.agent_id
    ) as n (agent_id)
  );
end
$$;
comment on function mesh.neighbours(text) is
  'The agents that share an active rule with an agent, registered or not.';

create function mesh.visible_peers(agent_id text) returns text[]
language plpgsql
stable
set search_path = ''
as $$
begin
  return (
    select coalesce(array_agg(p.agent_id), '{}')
    -- In the from clause, neighbours is called once. As a condition it would be called per peer.
    from unnest(mesh.neighbours(visible_peers.agent_id)) as n (agent_id)
    join mesh.peers p on p.agent_id = n.agent_id
  );
end
$$;
comment on function mesh.visible_peers(text) is
  'The other peers that an agent sees: registered, and sharing an active rule with it.';

create function mesh.see_each_other(one_agent text, other_agent text) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return exists (
      select from mesh.rules r
      where r.active and r.from_agent = one_agent and r.to_agent = other_agent
    )
    or exists (
      select from mesh.rules r
      where r.active and r.from_agent = other_agent and r.to_agent = one_agent
    );
end
$$;
comment on function mesh.see_each_other(text, text) is
  'Whether two agents share an active rule, in either direction: if both are registered, they see '
  'each other.';

create function mesh.waiting_for(rule mesh.rules) returns text
language sql
immutable
return case
  when rule.policy_since is not null then null
  when rule.from_agreed_at is null then rule.from_agent
  when rule.to_agreed_at is null then rule.to_agent
end;
comment on function mesh.waiting_for(mesh.rules) is
  'The agent that has not agreed to a rule yet; null: the rule is active.';

create function mesh.is_in_policy(rule mesh.rules) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return exists (
    select from mesh.rules r
    where r.from_agent = (is_in_policy.rule).from_agent
      and r.to_agent = (is_in_policy.rule).to_agent
      and r.proto = (is_in_policy.rule).proto
      and r.port = (is_in_policy.rule).port
      and r.policy_since is not null
  );
end
$$;
comment on function mesh.is_in_policy(mesh.rules) is 'Whether the policy has this rule now.';

create function mesh.record_rule_event(caller jsonb, caller_agent text, action text, rule mesh.rules) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform agents.record_change(
    record_rule_event.caller, record_rule_event.caller_agent, record_rule_event.action,
    (record_rule_event.rule).from_agent,
    jsonb_build_object(
      'to_agent', (record_rule_event.rule).to_agent,
      'proto', (record_rule_event.rule).proto,
      'port', (record_rule_event.rule).port
    ),
    (record_rule_event.rule).to_agent,
    (record_rule_event.rule).proto || ' ' || (record_rule_event.rule).port
  );
end
$$;
comment on function mesh.record_rule_event(jsonb, text, text, mesh.rules) is
  'Appends an event about a rule to agents.events; its subject is from_agent, which the rule lets '
  'in.';

create function mesh.put_rule_json(rule mesh.rules, created boolean, waiting_for text) returns json
language sql
stable
return json_build_object(
  'from_agent', rule.from_agent,
  'to_agent', rule.to_agent,
  'port', rule.port,
  'proto', rule.proto,
  'created', created,
  'active', waiting_for is null,
  'waiting_for', waiting_for
);
comment on function mesh.put_rule_json(mesh.rules, boolean, text) is 'The answer of /acl/put.';

-- schemas/mesh/pairs.sql

-- Pairs of peers, and the PSK of each pair.

create table mesh.pairs (
  low_agent agents.agent_id not null,
  high_agent agents.agent_id not null,
  psk_version integer not null default 1,
  encrypted_psk text collate "C",
  encrypted_version integer,
  encryption_key_id text collate "C" generated always as (split_part(encrypted_psk, '.', 2)) stored,
  made_at timestamptz,
  rotated_at timestamptz,

  constraint a_pair_has_one_psk primary key (low_agent, high_agent),
  constraint a_pair_is_in_canonical_order check (low_agent < high_agent),
  constraint low_agent_is_registered foreign key (low_agent) references mesh.peers (agent_id),
  constraint high_agent_is_registered foreign key (high_agent) references mesh.peers (agent_id),
  constraint psk_is_encrypted check (encrypted_psk ~ '^v1\.[0-9a-f]{16}\.[A-Za-z0-9+/=]+$'),
  constraint made_at_is_set_when_made check (encrypted_psk is null or made_at is not null)
);
comment on table mesh.pairs is
  'One row per two peers that have seen each other since both registered. The row stays when they '
  'no longer see each other, and is deleted with either peer.';
comment on column mesh.pairs.psk_version is
  'Counts the PSKs of the pair: 1 for the first. To replace a PSK, the version is raised and '
  'encrypted_psk becomes null. While encrypted_psk is null, nobody was given a PSK of this '
  'version, so the version is not raised again.';
comment on column mesh.pairs.encrypted_psk is
  'v1.<id of the encryption key>.<base64>, encrypted by the function: the database never sees a '
  'PSK. Null until the next configuration of either side makes the PSK.';
comment on column mesh.pairs.encrypted_version is
  'The version inside encrypted_psk, if the pair had a newer version when it was stored. Null: '
  'psk_version.';
comment on column mesh.pairs.made_at is 'When the newest PSK was made; null before the first.';
comment on column mesh.pairs.rotated_at is 'When psk_version was last raised.';

create index pairs_by_high_agent on mesh.pairs (high_agent);
-- Also finds the oldest PSK of each encryption key.
create index pairs_by_encryption_key on mesh.pairs (encryption_key_id, made_at) where encrypted_psk is not null;

create function mesh.lock_pairs(agent_id text, other_agents text[] default null) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform from mesh.pairs p
  where (p.low_agent = lock_pairs.agent_id or p.high_agent = lock_pairs.agent_id)
    and (
      lock_pairs.other_agents is null
      or p.low_agent = any (lock_pairs.other_agents)
      or p.high_agent = any (lock_pairs.other_agents)
    )
  order by p.low_agent, p.high_agent
  for update;
end
$$;
comment on function mesh.lock_pairs(text, text[]) is
  'Step 4 of the lock order: the pairs of an agent with these others, or with anybody.';

create function mesh.pairs_of(agent_id text, other_agents text[])
returns table (
  other_agent text,
  psk_version integer,
  encrypted_psk text,
  encrypted_version integer,
  made_at timestamptz
)
language sql
stable
begin atomic
  select p.high_agent, p.psk_version, p.encrypted_psk, p.encrypted_version, p.made_at
  from mesh.pairs p
  where p.low_agent = pairs_of.agent_id and p.high_agent = any (pairs_of.other_agents)
  union all
  select p.low_agent, p.psk_version, p.encrypted_psk, p.encrypted_version, p.made_at
  from mesh.pairs p
  where p.high_agent = pairs_of.agent_id and p.low_agent = any (pairs_of.other_agents);
end;
comment on function mesh.pairs_of(text, text[]) is 'The pairs of an agent with these others.';

create function mesh.missing_for_psk(one_agent text, other_agent text) returns text
language sql
stable
set search_path = ''
as $$
  select case
    when count(*) = 0 then 'The two share no active rule. Each side agrees to one with /acl/put.'
    else 'Not registered: ' || string_agg(m.agent_id, ', ' order by m.agent_id)
      || '. An agent joins with /peer/register.'
  end
  from unnest(array[missing_for_psk.one_agent, missing_for_psk.other_agent]) as m (agent_id)
  where not exists (select from mesh.peers p where p.agent_id = m.agent_id)
$$;
comment on function mesh.missing_for_psk(text, text) is
  'Why two agents have no PSK to rotate, as a sentence for the operator.';

create function public.agent_api_list_psks_to_reencrypt(
  newest_key_id text,
  max_entries integer
) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select coalesce(json_agg(encrypted), '[]')
  from (
    select
      p.low_agent, p.high_agent,
      coalesce(p.encrypted_version, p.psk_version) as encrypted_version, p.encrypted_psk
    from mesh.pairs p
    where p.encrypted_psk is not null
      and p.encryption_key_id <> agent_api_list_psks_to_reencrypt.newest_key_id
    limit agent_api_list_psks_to_reencrypt.max_entries
  ) encrypted
$$;
comment on function public.agent_api_list_psks_to_reencrypt(text, integer) is
  'Some of the PSKs that are not encrypted with the newest key: [{low_agent, high_agent, '
  'encrypted_version, encrypted_psk}].';

create function public.agent_api_reencrypt_psks(psks jsonb) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  reencrypted_count integer;
begin
  -- The same order as in every other transaction that locks pairs.
  perform from mesh.pairs p
  join jsonb_to_recordset(agent_api_reencrypt_psks.psks) as named (low_agent text, high_agent text)
    on named.low_agent = p.low_agent and named.high_agent = p.high_agent
  order by p.low_agent, p.high_agent
  for update of p;

  update mesh.pairs p
  set encrypted_psk = reencrypted.reencrypted_psk
  from jsonb_to_recordset(agent_api_reencrypt_psks.psks)
    as reencrypted (low_agent text, high_agent text, encrypted_psk text, reencrypted_psk text)
  where p.low_agent = reencrypted.low_agent
    and p.high_agent = reencrypted.high_agent
    -- The PSK may have been replaced since the caller read it.
    and p.encrypted_psk = reencrypted.encrypted_psk;
  get diagnostics reencrypted_count = row_count;

  return json_build_object('reencrypted', reencrypted_count);
end
$$;
comment on function public.agent_api_reencrypt_psks(jsonb) is
  'Replaces encrypted PSKs: psks is [{low_agent, high_agent, encrypted_psk, reencrypted_psk}], '
  'the same PSK encrypted with two keys. Returns how many it replaced: {reencrypted}.';

-- schemas/mesh/counters.sql

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

-- schemas/mesh/config_versions.sql

-- The version of each agent's configuration, and the locks under which it is raised.
--
-- A config_version is raised exactly when the text of the agent's configuration would change. So a
-- function that changes peers, rules or PSK versions must know for certain who sees whom. It takes
-- its locks in this order:
--   1. the agents that it names (lock_agents). Only the holder changes their peers and adds rules
--      that name them. The policy, which names very many, relies on step 2 alone.
--   2. the config_versions of all agents whose text may change, in one statement
--      (lock_config_versions). Two changes that affect the same text run one after the other here,
--      so that the second sees what the first did. Neighbours that are not registered count, too:
--      otherwise two that register at once would miss each other.
--   3. the addresses (lock_addresses), if it assigns some.
--   4. the pairs whose PSK it changes, in one statement (lock_pairs).
-- Within each step, the order is the same in every transaction (in steps 2 to 4, byte order of the
-- identifiers), which prevents deadlocks. Everything a change depends on is read after step 2.

create table mesh.config_versions (
  agent_id agents.agent_id primary key,
  version bigint not null default 0,
  has_false_reports boolean not null default false,
  refusals_since timestamptz,
  refusals_told integer not null default 0,

  constraint refusals_are_told_since_a_time check ((refusals_since is null) = (refusals_told = 0))
)
with (fillfactor = 50);

comment on table mesh.config_versions is
  'A number per agent. Each change of its configuration raises it by one. A row outlives its peer, '
  'so that a version never decreases; agent_api_after_restore raises all of them.';
comment on column mesh.config_versions.has_false_reports is
  'The operator says that the agent reports versions that it never received, so its reports are no '
  'sign of a restore. Here, because a peer that registers again must not remove it.';
comment on column mesh.config_versions.refusals_since is
  'When the hour began in which events about refused connections are counted. Here, too, because a '
  'peer that registers again must not begin another one. Null: there was none.';
comment on column mesh.config_versions.refusals_told is
  'How many events about refused connections the agent has caused in this hour.';

create function mesh.take_turn(caller_agent text) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  -- Out of the ten connections, or a few more, that PostgREST has for all callers together.
  turns_per_agent constant integer := 4;
begin
  if take_turn.caller_agent is null then
    return;
  end if;
  for turn in 1..turns_per_agent loop
    if pg_try_advisory_xact_lock(
      hashtextextended('mesh turn ' || turn || ' of ' || take_turn.caller_agent, 0)
    ) then
      return;
    end if;
  end loop;
  raise sqlstate 'PT503' using
    message = 'upstream_unavailable',
    hint = 'Other changes of this agent are under way. Send the same request again.';
end
$$;
comment on function mesh.take_turn(text) is
  'Before step 1: lets an agent make a few changes at once (null, the operator: any number), and '
  'refuses more. More changes would only wait for each other, and each would hold a connection '
  'that other callers need. Raises upstream_unavailable.';

create function mesh.lock_agents(agent_ids text[]) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  lock_key bigint;
begin
  -- In the order of the lock keys, not of the identifiers. Two identifiers may share a lock key,
  -- and then the order of identifiers would not prevent deadlocks.
  for lock_key in
    select distinct hashtextextended('mesh agent ' || named.agent_id, 0)
    from unnest(lock_agents.agent_ids) as named (agent_id)
    order by 1
  loop
    perform pg_advisory_xact_lock(lock_key);
  end loop;
end
$$;
comment on function mesh.lock_agents(text[]) is
  'Step 1 of the lock order, for agents that need not be registered.';

create function mesh.lock_config_versions(agent_ids text[]) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform from mesh.config_versions v
  where v.agent_id = any (lock_config_versions.agent_ids)
  order by v.agent_id
  for update;
end
$$;
comment on function mesh.lock_config_versions(text[]) is 'Step 2 of the lock order.';

create function mesh.start_config_versions(agent_ids text[]) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  insert into mesh.config_versions (agent_id, version)
  select named.agent_id, e.first_config_version
  from unnest(start_config_versions.agent_ids) as named (agent_id)
  cross join agents.epochs e
  on conflict do nothing;
end
$$;
comment on function mesh.start_config_versions(text[]) is
  'Gives agents with their first peer or rule a version that can be raised and locked. Runs '
  'between steps 1 and 2, so that step 2 finds every row.';

create function mesh.start_and_lock_config_versions(agent_ids text[]) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  insert into mesh.config_versions as v (agent_id, version)
  select named.agent_id, e.first_config_version
  from unnest(start_and_lock_config_versions.agent_ids) as named (agent_id)
  cross join agents.epochs e
  order by named.agent_id collate "C"
  -- Also locks existing rows. With two statements, a transaction would hold a new row while it
  -- waits for a row that comes before it in the order.
  on conflict (agent_id) do update set version = v.version where false;
end
$$;
comment on function mesh.start_and_lock_config_versions(text[]) is
  'Like start_config_versions, and step 2 of the lock order, in one: for a change that gives rules '
  'to agents that may have no version yet.';

create function mesh.lock_versions_around(agent_id text) returns text[]
language plpgsql
volatile
set search_path = ''
as $$
declare
  around text[];
  is_complete boolean := false;
begin
  while not is_complete loop
    around := mesh.neighbours(lock_versions_around.agent_id) || lock_versions_around.agent_id;
    begin
      perform mesh.lock_config_versions(around);
      -- The policy may have added neighbours during the wait. Then release the rows, and lock all
      -- of them again in their order.
      if exists (
        select unnest(mesh.neighbours(lock_versions_around.agent_id))
        except
        select unnest(around)
      ) then
        raise exception using errcode = 'MV001';
      end if;
      is_complete := true;
    exception when sqlstate 'MV001' then
      null;
    end;
  end loop;
  return mesh.visible_peers(lock_versions_around.agent_id);
end
$$;
comment on function mesh.lock_versions_around(text) is
  'Step 2 for a change of one agent''s peer, which its neighbours'' texts may name. Returns the '
  'agents that see it, if it is registered.';

create function mesh.raise_config_versions(agent_ids text[]) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  update mesh.config_versions v
  set version = v.version + 1
  where v.agent_id = any (raise_config_versions.agent_ids);
end
$$;
comment on function mesh.raise_config_versions(text[]) is
  'Records that the configurations of these agents have changed. Call it under '
  'lock_config_versions.';

-- schemas/mesh/registrations.sql

-- Registering peers, for the first time or again with other values.

create function mesh.has_another_holder(pubkey text, agent_id text) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  -- One statement, so that it sees a peer that is removed concurrently either here or in
  -- address_leases.
  return exists (
      select from mesh.peers p
      where p.pubkey = has_another_holder.pubkey and p.agent_id <> has_another_holder.agent_id
    )
    or exists (
      select from mesh.address_leases l
      where l.resting_pubkey = has_another_holder.pubkey
        and l.agent_id <> has_another_holder.agent_id
        and l.released_at > clock_timestamp() - interval '1 day'
    );
end
$$;
comment on function mesh.has_another_holder(text, text) is
  'Whether a public key belongs to another agent, or did until its peer was removed within the '
  'last day. So neighbours, which know the public key, cannot keep its agent from coming back with '
  'it.';

create function mesh.add_peer(
  agent_id text,
  pubkey text,
  endpoint text,
  further_endpoints text[],
  listen_port integer,
  visible_peers text[]
) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform mesh.lease_addresses(add_peer.agent_id);
  insert into mesh.peers (agent_id, pubkey, endpoint, further_endpoints, listen_port)
  values (
    add_peer.agent_id, add_peer.pubkey, add_peer.endpoint, add_peer.further_endpoints, add_peer.listen_port
  );
  insert into mesh.liveness (agent_id) values (add_peer.agent_id);

  insert into mesh.pairs (low_agent, high_agent)
  select least(add_peer.agent_id, v.agent_id collate "C"), greatest(add_peer.agent_id, v.agent_id collate "C")
  from unnest(add_peer.visible_peers) as v (agent_id);

  -- The agent's own text is new, and every visible peer's has one peer more.
  perform mesh.raise_config_versions(add_peer.visible_peers || add_peer.agent_id);
end
$$;
comment on function mesh.add_peer(text, text, text, text[], integer, text[]) is
  'The first registration of an agent, or its first after a removal. Raises network_full.';

create function mesh.update_peer(
  before mesh.peers,
  pubkey text,
  endpoint text,
  further_endpoints text[],
  listen_port integer,
  visible_peers text[]
) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  after mesh.peers;
  changed_texts text[] := array[]::text[];
  own_text_changed boolean;
begin
  update mesh.peers p
  set pubkey = update_peer.pubkey,
      endpoint = update_peer.endpoint,
      further_endpoints = update_peer.further_endpoints,
      listen_port = update_peer.listen_port,
      updated_at = clock_timestamp()
  where p.agent_id = (update_peer.before).agent_id
  returning p.* into after;

  if after.pubkey <> (update_peer.before).pubkey then
    -- Whoever knows the old private key must not know the PSKs that are used with the new one. So
    -- all pairs get new PSKs, even those that do not see each other now.
    perform mesh.lock_pairs(after.agent_id);
    -- A PSK that is not made yet was given to nobody. If it were replaced too, an agent that keeps
    -- changing its pubkey could keep its neighbours from ever getting a PSK.
    with replaced as (
      update mesh.pairs p
      set psk_version = p.psk_version + 1, encrypted_psk = null, rotated_at = clock_timestamp()
      where (p.low_agent = after.agent_id or p.high_agent = after.agent_id) and p.encrypted_psk is not null
      returning p.*
    )
    select coalesce(bool_or(array[r.low_agent::text, r.high_agent::text] && update_peer.visible_peers), false)
    into own_text_changed
    from replaced r;
    changed_texts := update_peer.visible_peers;
    -- The agent's own text names its PSKs, not its pubkey.
    if own_text_changed then
      changed_texts := changed_texts || after.agent_id::text;
    end if;
  end if;
  if mesh.endpoints_of(after) <> mesh.endpoints_of(update_peer.before) then
    changed_texts := changed_texts || update_peer.visible_peers;
  end if;
  if after.effective_listen_port is distinct from (update_peer.before).effective_listen_port then
    changed_texts := changed_texts || after.agent_id::text;
  end if;
  perform mesh.raise_config_versions(changed_texts);
end
$$;
comment on function mesh.update_peer(mesh.peers, text, text, text[], integer, text[]) is
  'A later registration, with values that differ from the previous one.';

create function public.agent_api_register_peer(
  caller jsonb,
  agent_id text,
  pubkey text,
  endpoint text,
  endpoint_ip inet,
  listen_port integer,
  online_seconds integer,
  further_endpoints text[] default '{}',
  further_endpoint_ips inet[] default '{}'
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  visible_peers text[];
  before mesh.peers;
  action text;
  violated text;
  answer json;
begin
  caller_agent := agents.admit(agent_api_register_peer.caller);
  agent_api_register_peer.agent_id := agents.require_self(caller_agent, agent_api_register_peer.agent_id);
  perform agents.claim_for_operator(caller_agent, agent_api_register_peer.agent_id);
  perform mesh.take_turn(caller_agent);
  perform mesh.lock_agents(array[agent_api_register_peer.agent_id]);
  perform mesh.start_config_versions(array[agent_api_register_peer.agent_id]);
  visible_peers := mesh.lock_versions_around(agent_api_register_peer.agent_id);

  select p.* into before from mesh.peers p where p.agent_id = agent_api_register_peer.agent_id;
  if not found then
    -- Lock before the networks are read, because they may change while there is no peer.
    perform mesh.lock_addresses();
    action := 'peer.registered';
  elsif (before.pubkey, before.endpoint::text, before.further_endpoints::text[], before.listen_port)
    is distinct from (
      agent_api_register_peer.pubkey, agent_api_register_peer.endpoint,
      agent_api_register_peer.further_endpoints, agent_api_register_peer.listen_port
    )
  then
    action := 'peer.updated';
  end if;

  perform mesh.refuse_endpoints_inside_the_mesh(agent_api_register_peer.endpoint_ip, agent_api_register_peer.further_endpoint_ips);
  -- Check before anything is written, so that two agents that register each other's pubkey cannot
  -- deadlock.
  if mesh.has_another_holder(agent_api_register_peer.pubkey, agent_api_register_peer.agent_id) then
    raise sqlstate 'PT409' using message = 'pubkey_in_use';
  end if;

  begin
    if action = 'peer.registered' then
      perform mesh.add_peer(
        agent_api_register_peer.agent_id, agent_api_register_peer.pubkey,
        agent_api_register_peer.endpoint,
        agent_api_register_peer.further_endpoints, agent_api_register_peer.listen_port, visible_peers
      );
    elsif action = 'peer.updated' then
      perform mesh.update_peer(
        before, agent_api_register_peer.pubkey, agent_api_register_peer.endpoint,
        agent_api_register_peer.further_endpoints, agent_api_register_peer.listen_port, visible_peers
      );
    end if;
  exception when unique_violation then
    get stacked diagnostics violated = constraint_name;
    if violated <> 'pubkey_is_unique' then
      raise;
    end if;
    -- A concurrent registration with this pubkey came first.
    raise sqlstate 'PT409' using message = 'pubkey_in_use';
  end;

  if action is not null then
    perform agents.record_change(
      agent_api_register_peer.caller, caller_agent, action, agent_api_register_peer.agent_id,
      jsonb_build_object('pubkey', agent_api_register_peer.pubkey, 'endpoint', agent_api_register_peer.endpoint)
    );
  end if;
  if action = 'peer.registered' then
    perform mesh.record_sight(
      agent_api_register_peer.caller, caller_agent, 'peer.appeared',
      agent_api_register_peer.agent_id, visible_peers
    );
  end if;

  select to_jsonb(e) - array['self', 'psk_version', 'config_version_applied', 'path', 'problem'] into answer
  from mesh.peers p
  join mesh.address_leases a on a.agent_id = p.agent_id
  join mesh.liveness l on l.agent_id = p.agent_id
  cross join lateral mesh.map_entry(p, a, l, agent_api_register_peer.online_seconds, null, null, null) e
  where p.agent_id = agent_api_register_peer.agent_id;
  return answer;
end
$$;
comment on function public.agent_api_register_peer(jsonb, text, text, text, inet, integer, integer, text[], inet[]) is
  'Registers an agent''s peer, or updates it, and returns the peer object. Endpoints are in '
  'canonical form; endpoint_ip and further_endpoint_ips are their hosts, null for a DNS name. '
  'Raises forbidden, invalid_request, pubkey_in_use, network_full.';

create function public.agent_api_remove_peer(caller jsonb, agent_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  visible_peers text[];
  removed_pubkey text;
  has_peer boolean;
  revoked mesh.rules;
begin
  caller_agent := agents.admit(agent_api_remove_peer.caller);
  agent_api_remove_peer.agent_id := agents.require_self(caller_agent, agent_api_remove_peer.agent_id);
  perform mesh.take_turn(caller_agent);
  perform mesh.lock_agents(array[agent_api_remove_peer.agent_id]);
  visible_peers := mesh.lock_versions_around(agent_api_remove_peer.agent_id);
  select p.pubkey into removed_pubkey from mesh.peers p where p.agent_id = agent_api_remove_peer.agent_id;
  has_peer := found;

  for revoked in
    delete from mesh.rules r
    where (r.from_agent = agent_api_remove_peer.agent_id or r.to_agent = agent_api_remove_peer.agent_id)
      and r.policy_since is null
    returning r.*
  loop
    perform mesh.record_rule_event(agent_api_remove_peer.caller, caller_agent, 'rule.revoked', revoked);
  end loop;
  -- The rules of the policy stay, but lose the agents' own agreements.
  update mesh.rules r
  set from_agreed_at = null, to_agreed_at = null
  where (r.from_agent = agent_api_remove_peer.agent_id or r.to_agent = agent_api_remove_peer.agent_id)
    and r.policy_since is not null
    and (r.from_agreed_at is not null or r.to_agreed_at is not null);
  if has_peer then
    perform mesh.lock_pairs(agent_api_remove_peer.agent_id);
    delete from mesh.pairs p where p.low_agent = agent_api_remove_peer.agent_id or p.high_agent = agent_api_remove_peer.agent_id;
    delete from mesh.peers p where p.agent_id = agent_api_remove_peer.agent_id;
    update mesh.address_leases l
    set released_at = clock_timestamp(), resting_pubkey = removed_pubkey
    where l.agent_id = agent_api_remove_peer.agent_id;
    perform mesh.raise_config_versions(visible_peers);
    perform agents.record_change(agent_api_remove_peer.caller, caller_agent, 'peer.removed', agent_api_remove_peer.agent_id);
    perform mesh.record_sight(
      agent_api_remove_peer.caller, caller_agent, 'peer.vanished', agent_api_remove_peer.agent_id,
      visible_peers
    );
  end if;
  return json_build_object('agent_id', agent_api_remove_peer.agent_id, 'removed', has_peer);
end
$$;
comment on function public.agent_api_remove_peer(jsonb, text) is
  'Removes an agent''s peer, its PSKs, and every rule that names the agent, even if it has no '
  'peer, except for those of the policy. Its addresses and its public key are reserved for a time. '
  'Idempotent. Raises forbidden, invalid_request.';

-- schemas/mesh/rules/declined_requests.sql

-- Requests that the other side declined: it revoked them without having agreed. For a day after
-- that, the same request has no effect.

create table mesh.declined_requests (
  from_agent agents.agent_id not null,
  to_agent agents.agent_id not null,
  proto text collate "C" not null,
  port integer not null,
  declined_by agents.agent_id not null,
  declined_at timestamptz not null default clock_timestamp(),

  constraint a_request_is_declined_once primary key (from_agent, to_agent, proto, port),
  constraint a_side_of_the_rule_declines check (declined_by in (from_agent, to_agent))
);
comment on table mesh.declined_requests is
  'One row per rule whose request was declined in the last day. Separate from rules because it '
  'outlives them: the agent that asked cannot clear it with /peer/remove. Older rows have no '
  'effect, and are deleted when somebody declines another request.';

create index declined_requests_by_age on mesh.declined_requests (declined_at);
-- For a name that gets another holder.
create index declined_requests_to_agent on mesh.declined_requests (to_agent);

create function mesh.is_declined(rule mesh.rules, caller_agent text) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return exists (
    select from mesh.declined_requests d
    where d.from_agent = (is_declined.rule).from_agent
      and d.to_agent = (is_declined.rule).to_agent
      and d.proto = (is_declined.rule).proto
      and d.port = (is_declined.rule).port
      and d.declined_by <> is_declined.caller_agent
      and d.declined_at > clock_timestamp() - interval '1 day'
  );
end
$$;
comment on function mesh.is_declined(mesh.rules, text) is
  'Whether the other side has declined this rule to the caller within a day. Never true for the '
  'operator, or for the agent that declined it.';

create function mesh.count_declined(requester text, decliner text) returns bigint
language plpgsql
stable
set search_path = ''
as $$
begin
  return (
    select count(*)
    from (
      select d.declined_by, d.declined_at
      from mesh.declined_requests d
      where d.from_agent = count_declined.requester and d.to_agent = count_declined.decliner
      union all
      select d.declined_by, d.declined_at
      from mesh.declined_requests d
      where d.from_agent = count_declined.decliner and d.to_agent = count_declined.requester
    ) of_the_two
    where declined_by = count_declined.decliner and declined_at > clock_timestamp() - interval '1 day'
  );
end
$$;
comment on function mesh.count_declined(text, text) is
  'How many requests from one agent another agent has declined within a day.';

create function mesh.decline_request(rule mesh.rules, decliner text) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  insert into mesh.declined_requests as d (from_agent, to_agent, proto, port, declined_by)
  values (
    (decline_request.rule).from_agent, (decline_request.rule).to_agent,
    (decline_request.rule).proto, (decline_request.rule).port,
    decline_request.decliner
  )
  on conflict on constraint a_request_is_declined_once do update
  set declined_by = excluded.declined_by, declined_at = excluded.declined_at;

  -- Deletes more rows than it adds, so that rows older than a day do not accumulate.
  delete from mesh.declined_requests d
  using (
    select o.from_agent, o.to_agent, o.proto, o.port
    from mesh.declined_requests o
    where o.declined_at < now() - interval '1 day'
    order by o.declined_at
    limit 10
    for update skip locked
  ) old
  where (d.from_agent, d.to_agent, d.proto, d.port)
    = (old.from_agent, old.to_agent, old.proto, old.port);
end
$$;
comment on function mesh.decline_request(mesh.rules, text) is
  'Records that an agent has declined this request, and deletes some rows that are more than a '
  'day old.';

create function mesh.forget_declined(rule mesh.rules) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  delete from mesh.declined_requests d
  where d.from_agent = (forget_declined.rule).from_agent
    and d.to_agent = (forget_declined.rule).to_agent
    and d.proto = (forget_declined.rule).proto
    and d.port = (forget_declined.rule).port;
end
$$;
comment on function mesh.forget_declined(mesh.rules) is
  'Clears the record that a request was declined: the agent that declined it, or the operator, has '
  'put the rule.';

-- schemas/mesh/rules/rule_limits.sql

-- How many rules and requests an agent may have.

create function mesh.count_requests(requester text, target text) returns bigint
language plpgsql
stable
set search_path = ''
as $$
begin
  return (
      select count(*)
      from mesh.rules r
      where not r.active
        and r.from_agent = count_requests.requester
        and r.to_agent = count_requests.target
        and r.from_agreed_at is not null
    ) + (
      select count(*)
      from mesh.rules r
      where not r.active
        and r.from_agent = count_requests.target
        and r.to_agent = count_requests.requester
        and r.to_agreed_at is not null
    ) + mesh.count_declined(count_requests.requester, count_requests.target);
end
$$;
comment on function mesh.count_requests(text, text) is
  'How many requests from one agent wait for another, or were declined by it within a day.';

create function mesh.refuse_beyond_limits(
  rule mesh.rules,
  caller_agent text,
  max_rules integer,
  max_requests integer,
  max_requests_per_target integer
) returns void
language plpgsql
stable
set search_path = ''
as $$
declare
  target text collate "C";
begin
  if (refuse_beyond_limits.rule).active then
    if exists (
      select
      from unnest(array[
        (refuse_beyond_limits.rule).from_agent, (refuse_beyond_limits.rule).to_agent
      ]) as named (agent_id)
      where (
          select count(*) from mesh.rules r where r.active and r.from_agent = named.agent_id
        ) + (
          select count(*) from mesh.rules r where r.active and r.to_agent = named.agent_id
        ) > refuse_beyond_limits.max_rules
    ) then
      raise sqlstate 'PT409' using
        message = 'limit_exceeded',
        detail = json_build_object('limit', 'rules', 'maximum', refuse_beyond_limits.max_rules);
    end if;
    return;
  end if;

  -- Only the caller's own requests count. So nobody can use up another agent's limit.
  if (
    select count(*)
    from mesh.rules r
    where not r.active
      and (
        (r.from_agent = refuse_beyond_limits.caller_agent and r.from_agreed_at is not null)
        or (r.to_agent = refuse_beyond_limits.caller_agent and r.to_agreed_at is not null)
      )
  ) > refuse_beyond_limits.max_requests then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object('limit', 'requests', 'maximum', refuse_beyond_limits.max_requests);
  end if;

  -- Requests that wait for an agent fill its map. Count them per requester, not in total: with a
  -- limit on the total, one requester could keep all others from asking.
  target := mesh.waiting_for(refuse_beyond_limits.rule);
  if mesh.count_requests(refuse_beyond_limits.caller_agent, target)
    > refuse_beyond_limits.max_requests_per_target
  then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object(
        'limit', 'requests_per_target', 'maximum', refuse_beyond_limits.max_requests_per_target
      );
  end if;
end
$$;
comment on function mesh.refuse_beyond_limits(mesh.rules, text, integer, integer, integer) is
  'Raises limit_exceeded if the rule that was just put is one too many. An active rule counts for '
  'both of its agents. A request counts for the agent that made it, in total and among that '
  'agent''s requests to the same target.';

-- schemas/mesh/rules/rule_changes.sql

-- Agreeing to a rule, and revoking it.

create function public.agent_api_put_rule(
  caller jsonb,
  from_agent text,
  to_agent text,
  port integer,
  proto text,
  max_rules integer default 10000,
  max_requests integer default 1000,
  max_requests_per_target integer default 100
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  saw_each_other boolean;
  created boolean;
  was_active boolean;
  has_policy boolean;
  rule mesh.rules;
begin
  caller_agent := agents.require_one_of(
    agents.admit(agent_api_put_rule.caller), agent_api_put_rule.from_agent, agent_api_put_rule.to_agent
  );
  perform mesh.take_turn(caller_agent);
  perform mesh.lock_agents(array[agent_api_put_rule.from_agent, agent_api_put_rule.to_agent]);
  rule.from_agent := agent_api_put_rule.from_agent;
  rule.to_agent := agent_api_put_rule.to_agent;
  rule.proto := agent_api_put_rule.proto;
  rule.port := agent_api_put_rule.port;
  -- A rule of the policy is active, whoever agrees to it.
  has_policy := mesh.is_in_policy(rule);
  if mesh.is_declined(rule, caller_agent) then
    -- Answer as for a waiting request, and store nothing: a declined request does not bother the
    -- other side again.
    return mesh.put_rule_json(
      rule, created => false,
      waiting_for => case
        when has_policy then null
        when caller_agent = rule.from_agent then rule.to_agent
        else rule.from_agent
      end
    );
  end if;

  perform mesh.start_and_lock_config_versions(array[agent_api_put_rule.from_agent, agent_api_put_rule.to_agent]);
  saw_each_other := mesh.see_each_other(agent_api_put_rule.from_agent, agent_api_put_rule.to_agent);
  select r.active into was_active
  from mesh.rules r
  where r.from_agent = agent_api_put_rule.from_agent
    and r.to_agent = agent_api_put_rule.to_agent
    and r.proto = agent_api_put_rule.proto
    and r.port = agent_api_put_rule.port;
  created := not found;

  insert into mesh.rules as r (from_agent, to_agent, proto, port, from_agreed_at, to_agreed_at)
  values (
    agent_api_put_rule.from_agent,
    agent_api_put_rule.to_agent,
    agent_api_put_rule.proto,
    agent_api_put_rule.port,
    -- The operator, whose caller_agent is null, agrees for both.
    case when caller_agent is distinct from agent_api_put_rule.to_agent then clock_timestamp() end,
    case when caller_agent is distinct from agent_api_put_rule.from_agent then clock_timestamp() end
  )
  on conflict on constraint a_rule_is_put_once do update
  set from_agreed_at = coalesce(r.from_agreed_at, excluded.from_agreed_at),
      to_agreed_at = coalesce(r.to_agreed_at, excluded.to_agreed_at)
  returning r.* into rule;

  if created or rule.active is distinct from was_active then
    perform mesh.refuse_beyond_limits(
      rule, caller_agent, agent_api_put_rule.max_rules, agent_api_put_rule.max_requests,
      agent_api_put_rule.max_requests_per_target
    );
  end if;
  if created or rule.active is distinct from was_active or rule.policy_since is not null then
    perform mesh.forget_declined(rule);
  end if;

  if rule.active and was_active is not true then
    if mesh.both_registered(rule.from_agent, rule.to_agent) then
      if not saw_each_other then
        insert into mesh.pairs (low_agent, high_agent)
        values (least(rule.from_agent, rule.to_agent), greatest(rule.from_agent, rule.to_agent))
        on conflict do nothing;
        perform mesh.raise_config_versions(array[rule.from_agent]);
      end if;
      -- The text of from_agent does not say what it may reach. So only the first rule between the
      -- two changes it.
      perform mesh.raise_config_versions(array[rule.to_agent]);
    end if;
    perform mesh.record_rule_event(agent_api_put_rule.caller, caller_agent, 'rule.activated', rule);
    if not saw_each_other and mesh.both_registered(rule.from_agent, rule.to_agent) then
      perform mesh.record_sight(
        agent_api_put_rule.caller, caller_agent, 'peer.appeared', rule.from_agent,
        array[rule.to_agent::text]
      );
    end if;
  elsif created then
    perform mesh.record_rule_event(agent_api_put_rule.caller, caller_agent, 'rule.requested', rule);
  end if;

  return mesh.put_rule_json(rule, created, mesh.waiting_for(rule));
end
$$;
comment on function public.agent_api_put_rule(jsonb, text, text, integer, text, integer, integer, integer) is
  'Agrees to a rule, for the calling agent or, as the operator, for both. The rule is active once '
  'both have agreed. If the other side has declined it within a day, nothing changes. Raises '
  'forbidden, limit_exceeded.';

create function public.agent_api_revoke_rule(
  caller jsonb,
  from_agent text,
  to_agent text,
  port integer,
  proto text
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  revoked boolean;
  rule mesh.rules;
begin
  caller_agent := agents.require_one_of(
    agents.admit(agent_api_revoke_rule.caller), agent_api_revoke_rule.from_agent,
    agent_api_revoke_rule.to_agent
  );
  perform mesh.take_turn(caller_agent);
  perform mesh.lock_agents(array[agent_api_revoke_rule.from_agent, agent_api_revoke_rule.to_agent]);
  perform mesh.lock_config_versions(array[agent_api_revoke_rule.from_agent, agent_api_revoke_rule.to_agent]);
  rule.from_agent := agent_api_revoke_rule.from_agent;
  rule.to_agent := agent_api_revoke_rule.to_agent;
  rule.proto := agent_api_revoke_rule.proto;
  rule.port := agent_api_revoke_rule.port;
  if mesh.is_in_policy(rule) then
    raise sqlstate 'PT409' using message = 'policy_rule';
  end if;

  delete from mesh.rules r
  where r.from_agent = agent_api_revoke_rule.from_agent
    and r.to_agent = agent_api_revoke_rule.to_agent
    and r.proto = agent_api_revoke_rule.proto
    and r.port = agent_api_revoke_rule.port
  returning r.* into rule;
  revoked := found;

  if revoked then
    if rule.active and mesh.both_registered(rule.from_agent, rule.to_agent) then
      perform mesh.raise_config_versions(array[rule.to_agent]);
      if not mesh.see_each_other(rule.from_agent, rule.to_agent) then
        perform mesh.raise_config_versions(array[rule.from_agent]);
        perform mesh.record_sight(
          agent_api_revoke_rule.caller, caller_agent, 'peer.vanished', rule.from_agent,
          array[rule.to_agent::text]
        );
      end if;
    end if;
    if caller_agent = mesh.waiting_for(rule) then
      perform mesh.decline_request(rule, caller_agent);
    end if;
    perform mesh.record_rule_event(agent_api_revoke_rule.caller, caller_agent, 'rule.revoked', rule);
  end if;

  return json_build_object(
    'from_agent', agent_api_revoke_rule.from_agent,
    'to_agent', agent_api_revoke_rule.to_agent,
    'port', agent_api_revoke_rule.port,
    'proto', agent_api_revoke_rule.proto,
    'revoked', revoked
  );
end
$$;
comment on function public.agent_api_revoke_rule(jsonb, text, text, integer, text) is
  'Ends a rule, or a request for one, for both of its agents. An agent that has not agreed to the '
  'request yet declines it for a day by calling this. Idempotent. Raises forbidden, and '
  'policy_rule for a rule that the policy has.';

-- schemas/mesh/policy/policies.sql

-- The policy: rules that the operator keeps in a file, for agents and for tags. Its rules are rows
-- of mesh.rules, one for each two agents, so code that reads rules need not know about the policy.
--
-- Locks, before step 1 of the order in config_versions.sql and after access locks:
--   - the policy: a change of tags takes it in shared mode, agent_api_apply_policy exclusively. So
--     neither misses what the other changes.
--   - its rules: a change of tags that the policy names takes it exclusively. So if two agents get
--     tags at the same time, the second sees the tags of the first.

create function mesh.is_name_in_policy(name text) returns boolean
language sql
immutable
return case
  when starts_with(name, 'tag:') then agents.is_tag(name)
  else agents.is_agent_id(name)
end;
comment on function mesh.is_name_in_policy(text) is
  'Whether a policy may use this name: a tag if it begins with tag:, otherwise an agent.';

create table mesh.policies (
  only_row boolean primary key default true,
  source text not null,
  fingerprint text collate "C" not null,
  applied_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  rules integer not null default 0,

  constraint there_is_one_policy check (only_row),
  constraint source_is_a_file check (octet_length(source) <= 262144)
)
with (fillfactor = 10);
comment on table mesh.policies is
  'The policy that is in force: one row, or none before the first.';
comment on column mesh.policies.source is 'The file as it was written, with its comments.';
comment on column mesh.policies.fingerprint is 'The fingerprint of the plan that was applied.';
comment on column mesh.policies.finished_at is
  'When the last of its rules was made; null: agent_api_apply_policy has to be called again.';
comment on column mesh.policies.rules is
  'How many rules of the policy are in mesh.rules. Changes only under the lock of the policy or of '
  'its rules.';

create table mesh.policy_lines (
  from_name text collate "C" not null,
  to_name text collate "C" not null,
  proto text collate "C" not null,
  port integer not null,

  constraint a_policy_has_a_line_once primary key (from_name, to_name, proto, port),
  constraint from_name_is_a_tag_or_an_agent check (mesh.is_name_in_policy(from_name)),
  constraint to_name_is_a_tag_or_an_agent check (mesh.is_name_in_policy(to_name)),
  constraint proto_of_a_line_is_tcp_or_udp check (proto in ('tcp', 'udp')),
  constraint port_of_a_line_is_a_port check (port between 1 and 65535)
);
comment on table mesh.policy_lines is
  'The rules of the policy in force, one row for each name, protocol and port. A name that begins '
  'with tag: is a tag, any other an agent.';

create index policy_lines_by_to_name on mesh.policy_lines (to_name);

create function mesh.policy_lock() returns bigint
language sql
immutable
return hashtextextended('mesh policy', 0);
comment on function mesh.policy_lock() is 'The advisory lock of the policy.';

create function mesh.policy_names(names text[]) returns boolean
language sql
stable
set search_path = ''
as $$
  select exists (select from mesh.policy_lines l where l.from_name = any (policy_names.names))
    or exists (select from mesh.policy_lines l where l.to_name = any (policy_names.names))
$$;
comment on function mesh.policy_names(text[]) is
  'Whether the policy in force names any of these agents and tags.';

create function mesh.enter_policy(names text[]) returns boolean
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform pg_advisory_xact_lock_shared(mesh.policy_lock());
  if not mesh.policy_names(enter_policy.names) then
    return false;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('mesh policy rules', 0));
  return true;
end
$$;
comment on function mesh.enter_policy(text[]) is
  'Takes the locks for a change of an agent''s tags. Call it before the agent''s mesh is locked. '
  'names are the tags that change. Returns whether the policy names any of them.';

-- schemas/mesh/policy/expansion.sql

-- Expands a policy: its rules between each two of the existing agents.

create type mesh.policy_change as (
  from_agent text collate "C",
  to_agent text collate "C",
  proto text collate "C",
  port integer,
  is_added boolean
);
comment on type mesh.policy_change is 'A rule that the policy gains or loses.';

create function mesh.lines_of(policy jsonb)
returns table (from_name text, to_name text, proto text, port integer)
language sql
immutable
set search_path = ''
as $$
  select distinct f.name collate "C", t.name collate "C", (r.rule ->> 'proto') collate "C", p.port::integer
  from jsonb_array_elements(lines_of.policy -> 'rules') as r (rule)
  cross join lateral jsonb_array_elements_text(r.rule -> 'from') as f (name)
  cross join lateral jsonb_array_elements_text(r.rule -> 'to') as t (name)
  cross join lateral jsonb_array_elements_text(r.rule -> 'ports') as p (port)
$$;
comment on function mesh.lines_of(jsonb) is
  'The lines of a policy in the form of agent_api_plan_policy.';

create function mesh.agents_named(name text) returns table (agent_id text)
language sql
stable
set search_path = ''
-- If the planner's statistics have few tags, it assumes that each one belongs to very many agents.
set enable_seqscan = off
set enable_bitmapscan = off
as $$
  select t.agent_id::text from agents.agent_tags t where t.tag = agents_named.name
  union all
  select agents_named.name where not starts_with(agents_named.name, 'tag:')
$$;
comment on function mesh.agents_named(text) is
  'The agents that a name in a policy stands for: those with the tag, or the one agent.';

create function mesh.max_policy_rules() returns integer
language sql
immutable
return 100000;
comment on function mesh.max_policy_rules() is
  'How many rules between agents a policy may expand to, so that planning it fits into the time '
  'limit of a call.';

create function mesh.max_policy_rules_per_agent() returns integer
language sql
immutable
return 10000;
comment on function mesh.max_policy_rules_per_agent() is
  'How many rules of the policy may name one agent, so that a change of its tags stays short.';

create function mesh.refuse_crowded_agent(agent_id text) returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  raise sqlstate 'PT409' using
    message = 'limit_exceeded',
    detail = json_build_object(
      'limit', 'policy_rules_per_agent',
      'maximum', mesh.max_policy_rules_per_agent(),
      'agent_id', refuse_crowded_agent.agent_id
    );
end
$$;
comment on function mesh.refuse_crowded_agent(text) is
  'Raises limit_exceeded: too many rules of the policy name this agent.';

create function mesh.refuse_large_policy(policy jsonb) returns void
language plpgsql
stable
set search_path = ''
as $$
declare
  max_lines constant integer := 10000;
  max_rules constant integer := mesh.max_policy_rules();
  lines bigint;
  rules numeric;
begin
  with sizes as (
    select
      jsonb_array_length(r.rule -> 'ports') as ports,
      f.name as from_name,
      t.name as to_name
    from jsonb_array_elements(refuse_large_policy.policy -> 'rules') as r (rule)
    cross join lateral jsonb_array_elements_text(r.rule -> 'from') as f (name)
    cross join lateral jsonb_array_elements_text(r.rule -> 'to') as t (name)
  ), members as (
    select n.name, (select count(*) from mesh.agents_named(n.name)) as agents
    from (select s.from_name as name from sizes s union select s.to_name from sizes s) n
  )
  select coalesce(sum(s.ports), 0), coalesce(sum(s.ports::numeric * f.agents * t.agents), 0)
  into lines, rules
  from sizes s
  join members f on f.name = s.from_name
  join members t on t.name = s.to_name;

  if lines > max_lines then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object('limit', 'policy_lines', 'maximum', max_lines);
  end if;
  if rules > max_rules then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object('limit', 'policy_rules', 'maximum', max_rules);
  end if;
end
$$;
comment on function mesh.refuse_large_policy(jsonb) is
  'Raises limit_exceeded for a policy of more than 10,000 lines, or of too many rules between '
  'existing agents. Rules are counted line by line, before any is made.';

create function mesh.changes_of_policy(policy jsonb, is_limited boolean default true)
returns mesh.policy_change[]
language plpgsql
stable
set search_path = ''
as $$
declare
  crowded text;
  changes mesh.policy_change[];
begin
  if changes_of_policy.is_limited then
    perform mesh.refuse_large_policy(changes_of_policy.policy);
  end if;
  with members as materialized (
    select n.name, a.agent_id collate "C" as agent_id
    from (
      select l.from_name as name from mesh.lines_of(changes_of_policy.policy) l
      union
      select l.to_name from mesh.lines_of(changes_of_policy.policy) l
    ) n
    cross join lateral mesh.agents_named(n.name) a
  ), wanted as materialized (
    select distinct f.agent_id as from_agent, t.agent_id as to_agent, l.proto, l.port
    from mesh.lines_of(changes_of_policy.policy) l
    join members f on f.name = l.from_name
    join members t on t.name = l.to_name
    where f.agent_id <> t.agent_id
  ), present as materialized (
    select r.from_agent::text as from_agent, r.to_agent::text as to_agent, r.proto, r.port
    from mesh.rules r
    where r.policy_since is not null
  ), counted as (
    select n.agent_id
    from (select w.from_agent from wanted w union all select w.to_agent from wanted w) n (agent_id)
    group by n.agent_id
    having count(*) > mesh.max_policy_rules_per_agent()
  )
  select
    (select min(c.agent_id) from counted c),
    coalesce(
      array_agg(
        row(d.from_agent, d.to_agent, d.proto, d.port, d.is_added)::mesh.policy_change
        -- Rules that end come first: between two steps, nobody may reach more than before or after
        -- the change.
        order by d.is_added, d.from_agent, d.to_agent, d.proto, d.port
      ),
      '{}'
    )
  into crowded, changes
  from (
    select o.*, false as is_added from (table present except table wanted) o
    union all
    select n.*, true from (table wanted except table present) n
  ) d;
  if crowded is not null and changes_of_policy.is_limited then
    perform mesh.refuse_crowded_agent(crowded);
  end if;
  return changes;
end
$$;
comment on function mesh.changes_of_policy(jsonb, boolean) is
  'The rules that the policy in force would gain and lose if it became this policy, lost ones '
  'first. Raises limit_exceeded if is_limited.';

-- schemas/mesh/policy/effects.sql

-- How a change of the policy affects which agents may reach each other. A rule that its agents have
-- also agreed to is neither gained nor lost.

create type mesh.policy_sight as (
  low_agent text collate "C",
  high_agent text collate "C",
  is_gained boolean
);
comment on type mesh.policy_sight is 'Two registered peers that begin or cease to see each other.';

create type mesh.policy_effects as (
  effective mesh.policy_change[],
  sights mesh.policy_sight[],
  changed_agents text[]
);
comment on type mesh.policy_effects is
  'effective: the rules that begin or cease to be active. sights: the pairs of registered peers '
  'that therefore begin or cease to see each other. changed_agents: the agents whose configuration '
  'changes.';

create function mesh.effects_of(changes mesh.policy_change[]) returns mesh.policy_effects
language sql
stable
set search_path = ''
as $$
  with effective as materialized (
    select c.from_agent, c.to_agent, c.proto, c.port, c.is_added
    from unnest(effects_of.changes) as c
    -- One lookup in each index per rule, per agent and per pair.
    left join lateral (
      select r.active, r.from_agreed_at is not null and r.to_agreed_at is not null as is_agreed
      from mesh.rules r
      where r.from_agent = c.from_agent
        and r.to_agent = c.to_agent
        and r.proto = c.proto
        and r.port = c.port
      limit 1
    ) r on true
    where case when c.is_added then r.active is not true else r.active and not r.is_agreed end
  ), registered as materialized (
    select n.agent_id
    from (select e.from_agent from effective e union select e.to_agent from effective e) n (agent_id)
    cross join lateral (select from mesh.peers p where p.agent_id = n.agent_id limit 1) p
  ), between_peers as materialized (
    select e.*, least(e.from_agent, e.to_agent) as low_agent, greatest(e.from_agent, e.to_agent) as high_agent
    from effective e
    join registered f on f.agent_id = e.from_agent
    join registered t on t.agent_id = e.to_agent
  ), pairs as materialized (
    select b.low_agent, b.high_agent, n.before,
      n.before + count(*) filter (where b.is_added) - count(*) filter (where not b.is_added) as after
    from between_peers b
    cross join lateral (
      select (
        select count(*) from mesh.rules r
        where r.active and r.from_agent = b.low_agent and r.to_agent = b.high_agent
      ) + (
        select count(*) from mesh.rules r
        where r.active and r.from_agent = b.high_agent and r.to_agent = b.low_agent
      ) as before
    ) n
    group by b.low_agent, b.high_agent, n.before
  ), sights as materialized (
    select p.low_agent, p.high_agent, p.after > 0 as is_gained
    from pairs p
    where (p.before > 0) <> (p.after > 0)
  )
  select
    coalesce(
      (
        select array_agg(
          row(e.from_agent, e.to_agent, e.proto, e.port, e.is_added)::mesh.policy_change
          order by e.is_added, e.from_agent, e.to_agent, e.proto, e.port
        )
        from effective e
      ),
      '{}'
    ),
    coalesce(
      (
        select array_agg(
          row(s.low_agent, s.high_agent, s.is_gained)::mesh.policy_sight
          order by s.is_gained, s.low_agent, s.high_agent
        )
        from sights s
      ),
      '{}'
    ),
    array(
      -- The text of from_agent does not say what it may reach.
      select b.to_agent from between_peers b
      union
      select s.low_agent from sights s
      union
      select s.high_agent from sights s
      order by 1
    )
$$;
comment on function mesh.effects_of(mesh.policy_change[]) is
  'What these changes of the policy do. To make the changes afterwards, call this under the locks '
  'of the config_versions of all agents that they name.';

-- schemas/mesh/policy/changes.sql

-- Making the changes of the policy, to many agents in one transaction.

create function mesh.record_policy_events(caller jsonb, effects mesh.policy_effects) returns void
language sql
volatile
set search_path = ''
as $$
  select agents.record_event(
    record_policy_events.caller, null,
    case when c.is_added then 'rule.activated' else 'rule.revoked' end,
    c.from_agent, null,
    jsonb_build_object('to_agent', c.to_agent, 'proto', c.proto, 'port', c.port, 'origin', 'policy'),
    c.to_agent
  )
  from unnest((record_policy_events.effects).effective) as c;
  select agents.record_event(
    record_policy_events.caller, null,
    case when s.is_gained then 'peer.appeared' else 'peer.vanished' end,
    s.low_agent, other_agent_id => s.high_agent
  )
  from unnest((record_policy_events.effects).sights) as s;
$$;
comment on function mesh.record_policy_events(jsonb, mesh.policy_effects) is
  'Appends to agents.events what the policy changed, in the same form as other changes of rules.';

create function mesh.make_policy_changes(caller jsonb, changes mesh.policy_change[])
returns mesh.policy_effects
language plpgsql
volatile
set search_path = ''
-- The generic plan needs one index lookup per change. A plan for the thousands of changes of one
-- call joins whole tables with them, which took twenty times as long.
set plan_cache_mode = force_generic_plan
as $$
declare
  effects mesh.policy_effects;
begin
  perform mesh.start_and_lock_config_versions(array(
    select c.from_agent from unnest(make_policy_changes.changes) as c
    union
    select c.to_agent from unnest(make_policy_changes.changes) as c
  ));
  effects := mesh.effects_of(make_policy_changes.changes);

  delete from mesh.rules r
  using unnest(make_policy_changes.changes) as c
  where not c.is_added
    and r.from_agent = c.from_agent
    and r.to_agent = c.to_agent
    and r.proto = c.proto
    and r.port = c.port
    and r.from_agreed_at is null
    and r.to_agreed_at is null;
  -- Rules that agents have agreed to or requested stay.
  update mesh.rules r
  set policy_since = null
  from unnest(make_policy_changes.changes) as c
  where not c.is_added
    and r.from_agent = c.from_agent
    and r.to_agent = c.to_agent
    and r.proto = c.proto
    and r.port = c.port;
  insert into mesh.rules as r (from_agent, to_agent, proto, port, policy_since)
  select c.from_agent, c.to_agent, c.proto, c.port, clock_timestamp()
  from unnest(make_policy_changes.changes) as c
  where c.is_added
  order by c.from_agent, c.to_agent, c.proto, c.port
  on conflict on constraint a_rule_is_put_once do update
  set policy_since = coalesce(r.policy_since, excluded.policy_since);

  insert into mesh.pairs (low_agent, high_agent)
  select s.low_agent, s.high_agent
  from unnest(effects.sights) as s
  where s.is_gained
  order by s.low_agent, s.high_agent
  on conflict do nothing;
  perform mesh.raise_config_versions(effects.changed_agents);
  perform mesh.record_policy_events(make_policy_changes.caller, effects);

  update mesh.policies p
  set rules = p.rules + (
    select count(*) filter (where c.is_added) - count(*) filter (where not c.is_added)
    from unnest(make_policy_changes.changes) as c
  )
  where p.only_row;
  return effects;
end
$$;
comment on function mesh.make_policy_changes(jsonb, mesh.policy_change[]) is
  'Adds these rules to the policy or removes them from it. This is step 2 of the lock order, so '
  'call it once in a transaction. The caller holds the lock of the policy, or of its rules.';

-- schemas/mesh/policy/tags.sql

-- An agent that gets or loses a tag gets and loses the rules of the policy that go with it, in the
-- same transaction.

create function mesh.policy_changes_of(agent_id text, tags text[]) returns mesh.policy_change[]
language sql
stable
set search_path = ''
as $$
  with names as materialized (
    select n.name
    from unnest(policy_changes_of.tags || policy_changes_of.agent_id) as n (name)
    -- A name that begins with tag: is a tag. So no line names an agent with such an identifier.
    where n.name <> policy_changes_of.agent_id or not starts_with(n.name, 'tag:')
      or n.name = any (policy_changes_of.tags)
  ), wanted as materialized (
    select policy_changes_of.agent_id collate "C" as from_agent, o.agent_id collate "C" as to_agent,
      l.proto, l.port
    from names n
    join mesh.policy_lines l on l.from_name = n.name
    cross join lateral mesh.agents_named(l.to_name) o
    where o.agent_id <> policy_changes_of.agent_id
    union
    select o.agent_id collate "C", policy_changes_of.agent_id collate "C", l.proto, l.port
    from names n
    join mesh.policy_lines l on l.to_name = n.name
    cross join lateral mesh.agents_named(l.from_name) o
    where o.agent_id <> policy_changes_of.agent_id
  ), present as materialized (
    select r.from_agent::text as from_agent, r.to_agent::text as to_agent, r.proto, r.port
    from mesh.rules r
    where r.policy_since is not null and r.from_agent = policy_changes_of.agent_id
    union all
    select r.from_agent::text, r.to_agent::text, r.proto, r.port
    from mesh.rules r
    where r.policy_since is not null and r.to_agent = policy_changes_of.agent_id
  )
  select coalesce(
    array_agg(
      row(d.from_agent, d.to_agent, d.proto, d.port, d.is_added)::mesh.policy_change
      order by d.is_added, d.from_agent, d.to_agent, d.proto, d.port
    ),
    '{}'
  )
  from (
    select o.*, false as is_added from (table present except table wanted) o
    union all
    select n.*, true from (table wanted except table present) n
  ) d
$$;
comment on function mesh.policy_changes_of(text, text[]) is
  'The rules of the policy that an agent would gain and lose if these were its tags.';

create function mesh.refuse_beyond_policy_limits(changes mesh.policy_change[]) returns void
language plpgsql
stable
set search_path = ''
as $$
declare
  crowded text;
  added integer;
begin
  select count(*) into added
  from unnest(refuse_beyond_policy_limits.changes) as c
  where c.is_added;
  if added = 0 then
    return;
  end if;
  if added + (select p.rules from mesh.policies p) > mesh.max_policy_rules() then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object('limit', 'policy_rules', 'maximum', mesh.max_policy_rules());
  end if;
  select n.agent_id into crowded
  from (
    select named.agent_id, count(*) as added
    from unnest(refuse_beyond_policy_limits.changes) as c
    cross join lateral (values (c.from_agent), (c.to_agent)) as named (agent_id)
    where c.is_added
    group by named.agent_id
  ) n
  where n.added + (
      select count(*) from mesh.rules r
      where r.policy_since is not null and r.from_agent = n.agent_id
    ) + (
      select count(*) from mesh.rules r
      where r.policy_since is not null and r.to_agent = n.agent_id
    ) > mesh.max_policy_rules_per_agent()
  limit 1;
  if found then
    perform mesh.refuse_crowded_agent(crowded);
  end if;
end
$$;
comment on function mesh.refuse_beyond_policy_limits(mesh.policy_change[]) is
  'Raises limit_exceeded if these changes give the policy too many rules, in total or for one '
  'agent.';

create function mesh.follow_tags(caller jsonb, agent_id text, changed_tags text[]) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  changes mesh.policy_change[];
begin
  if not mesh.enter_policy(follow_tags.changed_tags) then
    return;
  end if;
  -- A separate statement, so that it sees what was committed while this transaction waited for the
  -- locks.
  changes := mesh.policy_changes_of(
    follow_tags.agent_id, agents.tags_of(follow_tags.agent_id)
  );
  if cardinality(changes) > 0 then
    perform mesh.refuse_beyond_policy_limits(changes);
    perform mesh.make_policy_changes(follow_tags.caller, changes);
  end if;
end
$$;
comment on function mesh.follow_tags(jsonb, text, text[]) is
  'After a change of an agent''s tags: adds the rules of the policy that its tags now give it, and '
  'removes the others. Raises limit_exceeded.';

-- schemas/mesh/policy/planning.sql

-- Shows what a policy would change before it is applied, and the policy that is in force.

create function mesh.refuse_malformed_policy(policy jsonb) returns void
language plpgsql
immutable
set search_path = ''
as $$
begin
  -- `strict`, because otherwise jsonpath takes a list for each of its members.
  if jsonb_typeof(policy -> 'source') is distinct from 'string'
    or octet_length(policy ->> 'source') > 262144
    or jsonb_typeof(policy -> 'rules') is distinct from 'array'
    or jsonb_typeof(coalesce(policy -> 'agents', '[]')) <> 'array'
    or jsonb_array_length(jsonb_path_query_array(policy, 'strict $.rules[*] ? (
      @.from.type() == "array" && @.to.type() == "array" && @.ports.type() == "array"
      && (@.proto == "tcp" || @.proto == "udp")
    )', silent => true))
    < jsonb_array_length(jsonb_path_query_array(policy, 'strict $.rules[*]', silent => true))
    or policy @? 'strict $.rules[*].ports[*] ? (
      @.type() != "number" || !(@ >= 1 && @ <= 65535 && @ == @.floor())
    )'
    or exists (
      select
      from (
        select jsonb_path_query(policy, 'strict $.rules[*].from[*]', silent => true)
        union all
        select jsonb_path_query(policy, 'strict $.rules[*].to[*]', silent => true)
        union all
        select jsonb_path_query(policy, 'strict $.agents[*]', silent => true)
      ) as n (name)
      where jsonb_typeof(n.name) <> 'string' or not mesh.is_name_in_policy(n.name #>> '{}')
    )
  then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "policy", "message": "Must be what `agentops policy plan` makes of a file."}]}';
  end if;
end
$$;
comment on function mesh.refuse_malformed_policy(jsonb) is
  'Raises invalid_request unless the policy is {source, rules: [{from: [name], to: [name], ports: '
  '[number], proto}], agents?: [agent_id]}.';

create function mesh.fingerprint_of(policy jsonb) returns text
language sql
stable
set search_path = ''
as $$
  with names as materialized (
    select l.from_name as name from mesh.lines_of(fingerprint_of.policy) l
    union
    select l.to_name from mesh.lines_of(fingerprint_of.policy) l
    union
    select l.from_name from mesh.policy_lines l
    union
    select l.to_name from mesh.policy_lines l
  ), looked_at as (
    select a.agent_id, n.name as tag
    from names n
    cross join lateral mesh.agents_named(n.name) a
    where starts_with(n.name, 'tag:')
    union
    select a.agent_id, t.tag
    from jsonb_array_elements_text(coalesce(fingerprint_of.policy -> 'agents', '[]')) as a (agent_id)
    cross join lateral unnest(agents.tags_of(a.agent_id)) as t (tag)
  )
  select encode(
    sha256(convert_to(
      jsonb_build_array(
        fingerprint_of.policy,
        (select jsonb_build_array(p.fingerprint, p.applied_at, p.rules) from mesh.policies p),
        (
          select string_agg(l.agent_id || ' ' || l.tag, ',' order by l.agent_id collate "C", l.tag collate "C")
          from looked_at l
        )
      )::text,
      'UTF8'
    )),
    'hex'
  )
$$;
comment on function mesh.fingerprint_of(jsonb) is
  'A digest of a policy and of what its plan depends on: the policy in force, which agents have '
  'the tags that either policy names, and the tags of the agents that the tests name.';

create function public.agent_api_plan_policy(
  policy jsonb,
  max_entries integer default 200
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  changes mesh.policy_change[];
  effects mesh.policy_effects;
begin
  perform mesh.refuse_malformed_policy(agent_api_plan_policy.policy);
  changes := mesh.changes_of_policy(agent_api_plan_policy.policy);
  effects := mesh.effects_of(changes);
  return json_build_object(
    'fingerprint', mesh.fingerprint_of(agent_api_plan_policy.policy),
    'in_force', (
      select json_build_object(
        'fingerprint', p.fingerprint,
        'applied_at', agents.iso_timestamp(p.applied_at),
        'finished', p.finished_at is not null,
        'rules', p.rules
      )
      from mesh.policies p
    ),
    'tags', (
      select coalesce(json_object_agg(a.agent_id, agents.tags_of(a.agent_id)), '{}')
      from jsonb_array_elements_text(coalesce(agent_api_plan_policy.policy -> 'agents', '[]')) as a (agent_id)
    ),
    'rules', (
      select json_build_object(
        'added', count(*) filter (where c.is_added),
        'removed', count(*) filter (where not c.is_added)
      )
      from unnest(changes) as c
    ),
    'gained', (
      select json_build_object(
        'rules', (select count(*) from unnest(effects.effective) as c where c.is_added),
        'pairs', (select count(*) from unnest(effects.sights) as s where s.is_gained)
      )
    ),
    'lost', (
      select json_build_object(
        'rules', (select count(*) from unnest(effects.effective) as c where not c.is_added),
        'pairs', (select count(*) from unnest(effects.sights) as s where not s.is_gained)
      )
    ),
    'changed_agents', cardinality(effects.changed_agents),
    'gained_rules', mesh.policy_rules_json(effects.effective, true, agent_api_plan_policy.max_entries),
    'lost_rules', mesh.policy_rules_json(effects.effective, false, agent_api_plan_policy.max_entries),
    'gained_pairs', mesh.policy_pairs_json(effects.sights, true, agent_api_plan_policy.max_entries),
    'lost_pairs', mesh.policy_pairs_json(effects.sights, false, agent_api_plan_policy.max_entries),
    'agents', to_json((effects.changed_agents)[:agent_api_plan_policy.max_entries])
  );
end
$$;
comment on function public.agent_api_plan_policy(jsonb, integer) is
  'What the project would gain and lose by a policy, {source, rules: [{from: [name], to: [name], '
  'ports: [number], proto}], agents?: the agents that its tests name}: {fingerprint, in_force: '
  '{fingerprint, applied_at, finished, rules} | null, tags: {agent_id: [tag]} of those agents, '
  'rules: {added, removed} of the policy, gained and lost: {rules, pairs}, changed_agents, and at '
  'most max_entries each of gained_rules, lost_rules, gained_pairs, lost_pairs, agents}. A rule '
  'that its agents have agreed to is not gained and not lost. Raises invalid_request, '
  'limit_exceeded.';

create function mesh.policy_rules_json(changes mesh.policy_change[], is_added boolean, max_entries integer)
returns json
language sql
immutable
set search_path = ''
as $$
  select coalesce(
    json_agg(
      json_build_object(
        'from_agent', l.from_agent, 'to_agent', l.to_agent, 'port', l.port, 'proto', l.proto
      )
      order by l.place
    ),
    '[]'
  )
  from (
    select c.from_agent, c.to_agent, c.port, c.proto, c.place
    from unnest(policy_rules_json.changes) with ordinality
      as c (from_agent, to_agent, proto, port, is_added, place)
    where c.is_added = policy_rules_json.is_added
    order by c.place
    limit policy_rules_json.max_entries
  ) l
$$;
comment on function mesh.policy_rules_json(mesh.policy_change[], boolean, integer) is
  'The first rules that are added, or removed.';

create function mesh.policy_pairs_json(sights mesh.policy_sight[], is_gained boolean, max_entries integer)
returns json
language sql
immutable
set search_path = ''
as $$
  select coalesce(json_agg(json_build_array(l.low_agent, l.high_agent) order by l.place), '[]')
  from (
    select s.low_agent, s.high_agent, s.place
    from unnest(policy_pairs_json.sights) with ordinality as s (low_agent, high_agent, is_gained, place)
    where s.is_gained = policy_pairs_json.is_gained
    order by s.place
    limit policy_pairs_json.max_entries
  ) l
$$;
comment on function mesh.policy_pairs_json(mesh.policy_sight[], boolean, integer) is
  'The first pairs that begin, or cease, to see each other.';

create function public.agent_api_read_policy() returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select json_build_object(
    'source', p.source,
    'fingerprint', p.fingerprint,
    'applied_at', agents.iso_timestamp(p.applied_at),
    'finished_at', agents.iso_timestamp(p.finished_at),
    'rules', p.rules
  )
  from mesh.policies p
$$;
comment on function public.agent_api_read_policy() is
  'The policy in force: {source: the file as it was written, fingerprint, applied_at, finished_at: '
  'null while agent_api_apply_policy has to be called again, rules}. Null before the first.';

-- schemas/mesh/policy/applying.sql

-- Putting a policy into force.

create function mesh.policy_in_force() returns jsonb
language sql
stable
set search_path = ''
as $$
  select jsonb_build_object(
    'rules',
    coalesce(
      jsonb_agg(
        jsonb_build_object(
          'from', jsonb_build_array(l.from_name),
          'to', jsonb_build_array(l.to_name),
          'ports', jsonb_build_array(l.port),
          'proto', l.proto
        )
      ),
      '[]'
    )
  )
  from mesh.policy_lines l
$$;
comment on function mesh.policy_in_force() is
  'The rules of the policy in force, in the form of agent_api_plan_policy.';

create function public.agent_api_apply_policy(policy jsonb, expect text, max_changes integer default 5000)
returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  operator constant jsonb := jsonb_build_object('kind', 'operator');
  in_force mesh.policies;
  changes mesh.policy_change[];
  effects mesh.policy_effects;
  remaining integer;
begin
  perform mesh.refuse_malformed_policy(agent_api_apply_policy.policy);
  perform pg_advisory_xact_lock(mesh.policy_lock());
  select p.* into in_force from mesh.policies p;

  -- Otherwise, an earlier call has begun to apply this policy, and this call continues.
  if in_force.fingerprint is distinct from agent_api_apply_policy.expect
    or in_force.source is distinct from agent_api_apply_policy.policy ->> 'source'
  then
    if mesh.fingerprint_of(agent_api_apply_policy.policy) is distinct from agent_api_apply_policy.expect then
      raise sqlstate 'PT409' using
        message = 'policy_changed',
        hint = 'The policy in force or the tags of agents have changed since that plan: run `agentops policy plan` again.';
    end if;
    changes := mesh.changes_of_policy(agent_api_apply_policy.policy);
    insert into mesh.policies as p (source, fingerprint)
    values (agent_api_apply_policy.policy ->> 'source', agent_api_apply_policy.expect)
    on conflict on constraint policies_pkey do update
    set source = excluded.source,
      fingerprint = excluded.fingerprint,
      applied_at = excluded.applied_at,
      finished_at = null;
    delete from mesh.policy_lines l where l.port > 0;
    insert into mesh.policy_lines (from_name, to_name, proto, port)
    select l.from_name, l.to_name, l.proto, l.port
    from mesh.lines_of(agent_api_apply_policy.policy) l;
    perform agents.record_event(
      operator, null, 'policy.applied', null, null,
      (
        select jsonb_build_object(
          'fingerprint', agent_api_apply_policy.expect,
          'added', count(*) filter (where c.is_added),
          'removed', count(*) filter (where not c.is_added)
        )
        from unnest(changes) as c
      )
    );
  else
    changes := mesh.changes_of_policy(mesh.policy_in_force(), is_limited => false);
  end if;

  remaining := greatest(cardinality(changes) - agent_api_apply_policy.max_changes, 0);
  effects := mesh.make_policy_changes(operator, changes[:agent_api_apply_policy.max_changes]);
  update mesh.policies p
  set finished_at = coalesce(p.finished_at, clock_timestamp())
  where p.only_row and remaining = 0;
  return json_build_object(
    'fingerprint', agent_api_apply_policy.expect,
    'added', (
      select count(*) from unnest(changes[:agent_api_apply_policy.max_changes]) as c where c.is_added
    ),
    'removed', (
      select count(*) from unnest(changes[:agent_api_apply_policy.max_changes]) as c where not c.is_added
    ),
    'changed_agents', cardinality(effects.changed_agents),
    'remaining', remaining
  );
end
$$;
comment on function public.agent_api_apply_policy(jsonb, text, integer) is
  'Puts a policy, in the form of agent_api_plan_policy, into force: expect is the fingerprint of '
  'the plan. Makes up to max_changes changes, first those that end a rule: {fingerprint, added, '
  'removed, changed_agents, remaining}. While remaining is not 0, call it again. Idempotent. '
  'Raises policy_changed, invalid_request, limit_exceeded.';

-- schemas/mesh/paths/path_reports.sql

-- What hosts report about their paths: whether each neighbour answers, and whether directly or
-- through a relay.
-- A report names up to 64 neighbours. Its time is in mesh.liveness, which every heartbeat writes
-- anyway. A row here is written only if its path has changed or is no longer named, so a mesh
-- without changes writes nothing here. A host with more neighbours names others in its next report,
-- and its earlier reports stay valid for the online window.
-- Locks: rows here come after pairs and before liveness. A report waits only for another report of
-- the same agent. It skips a pair that is locked, until the next report.

create table mesh.path_reports (
  agent_id agents.agent_id not null,
  other_agent agents.agent_id not null,
  low_agent agents.agent_id not null generated always as (least(agent_id, other_agent)) stored,
  high_agent agents.agent_id not null generated always as (greatest(agent_id, other_agent)) stored,
  via text collate "C" not null,
  endpoint mesh.endpoint,
  handshake_at timestamptz,
  since timestamptz not null,
  left_out_at timestamptz,
  confirmed_at timestamptz not null,

  constraint a_side_reports_a_path_once primary key (agent_id, other_agent),
  constraint a_path_is_of_a_pair foreign key (low_agent, high_agent)
    references mesh.pairs (low_agent, high_agent) on delete cascade,
  constraint via_is_a_way check (via in ('direct', 'relay', 'none'))
)
-- fillfactor leaves room for HOT updates: no index covers the columns that change often.
with (fillfactor = 50);

comment on table mesh.path_reports is
  'What each host last reported about its path to a neighbour. Valid only while '
  'mesh.time_of_report returns a time, and while the two share an active rule.';
comment on column mesh.path_reports.agent_id is 'The agent whose host reports.';
comment on column mesh.path_reports.other_agent is 'The neighbour that the path leads to.';
comment on column mesh.path_reports.via is 'direct, relay or none.';
comment on column mesh.path_reports.endpoint is
  'Where the host sees the neighbour: the outer address of its packets. Null: unknown, or of no '
  'use to other hosts.';
comment on column mesh.path_reports.handshake_at is
  'The time of their last handshake, accurate to 15 seconds; null: never.';
comment on column mesh.path_reports.since is
  'Since when, according to the reports, the path has worked this way, or has not worked.';
comment on column mesh.path_reports.left_out_at is
  'If the newest report does not name this path: when the last report that named it came. Null: '
  'the newest report names it.';
comment on column mesh.path_reports.confirmed_at is
  'When the path was last reported, accurate to a day. The sweep finds old rows by it.';

-- Finds what others report about an agent.
create index path_reports_by_other_agent on mesh.path_reports (other_agent);
-- For the deletion of pairs, which cascades.
create index path_reports_by_pair on mesh.path_reports (low_agent, high_agent);
create index path_reports_by_confirmation on mesh.path_reports (confirmed_at);

create function mesh.way_at(via text, handshake_at timestamptz, reported_at timestamptz) returns text
language sql
stable
return case
  -- WireGuard renews a session in use after 120 seconds, and ends a session after 180.
  when way_at.handshake_at >= way_at.reported_at - interval '180 seconds' then way_at.via
  else 'none'
end;
comment on function mesh.way_at(text, timestamptz, timestamptz) is
  'How a path worked when it was reported: direct, relay, or none (it did not work).';

create function mesh.paths_hold(liveness mesh.liveness, online_seconds integer) returns boolean
language sql
stable
return coalesce(
  (paths_hold.liveness).paths_reported_at > now() - make_interval(secs => paths_hold.online_seconds)
    -- Or the request that reported them is still waiting.
    or (paths_hold.liveness).paths_reported_at = (paths_hold.liveness).last_seen
      and (paths_hold.liveness).waits_until > now() - make_interval(secs => paths_hold.online_seconds),
  false
);
comment on function mesh.paths_hold(mesh.liveness, integer) is
  'Whether what a host last reported about its paths is still valid.';

create function mesh.time_of_report(
  left_out_at timestamptz, liveness mesh.liveness, online_seconds integer
) returns timestamptz
language sql
stable
return case
  when time_of_report.left_out_at is null then case
    when mesh.paths_hold(time_of_report.liveness, time_of_report.online_seconds)
      then (time_of_report.liveness).paths_reported_at
  end
  when time_of_report.left_out_at > now() - make_interval(secs => time_of_report.online_seconds)
    then time_of_report.left_out_at
end;
comment on function mesh.time_of_report(timestamptz, mesh.liveness, integer) is
  'When the host with this liveness last reported a path; null: not recently.';

create function mesh.note_paths(agent_id text, paths jsonb) returns timestamptz
language plpgsql
volatile
set search_path = ''
as $$
declare
  reported_at constant timestamptz := clock_timestamp();
  -- Null before the first report.
  last_reported_at constant timestamptz := (
    select l.paths_reported_at from mesh.liveness l where l.agent_id = note_paths.agent_id
  );
  neighbours constant text[] := array(
    select p.agent_id
    from jsonb_to_recordset(note_paths.paths) as p (agent_id text)
    where mesh.see_each_other(note_paths.agent_id, p.agent_id)
  );
  left_out tid[];
begin
  -- Found by ctid, which cannot change while the row is locked.
  left_out := array(
    select r.ctid
    from mesh.path_reports r
    where r.agent_id = note_paths.agent_id
      and r.left_out_at is null
      and r.other_agent <> all (neighbours)
    for update skip locked
  );
  delete from mesh.path_reports r
  where r.ctid = any (left_out) and not mesh.see_each_other(r.agent_id, r.other_agent);
  update mesh.path_reports r
  set left_out_at = coalesce(last_reported_at, reported_at)
  where r.ctid = any (left_out);

  with reported as (
    select p.agent_id as other_agent, p.via, p.endpoint, p.endpoint_ip,
      reported_at - make_interval(secs => p.handshake_age_seconds) as handshake_at,
      mesh.way_at(
        p.via, reported_at - make_interval(secs => p.handshake_age_seconds), reported_at
      ) as way
    from jsonb_to_recordset(note_paths.paths)
      as p (agent_id text, via text, endpoint text, endpoint_ip inet, handshake_age_seconds integer)
    where p.agent_id = any (neighbours)
  ), compared as (
    select n.other_agent, n.via, n.handshake_at,
      case
        when n.endpoint = r.endpoint then n.endpoint
        when not mesh.is_inside_the_mesh(n.endpoint_ip) then n.endpoint
      end as endpoint,
      case
        -- A session without a renewal ends after 180 seconds, so nothing is known about a longer
        -- gap.
        when n.way = r.way and r.told_at > reported_at - interval '180 seconds' then r.since
        when n.way <> 'none' then n.handshake_at
        else reported_at
      end as since,
      case
        when r.confirmed_at > reported_at - interval '1 day' then r.confirmed_at
        else reported_at
      end as confirmed_at,
      -- Two reports of one handshake differ by the network delay and by rounding to a second.
      coalesce(
        abs(extract(epoch from n.handshake_at - r.handshake_at)) < 15,
        n.handshake_at is null and r.handshake_at is null
      ) and n.way = r.way and n.via = r.via and r.left_out_at is null as is_same,
      r.endpoint as last_endpoint,
      r.since as last_since,
      r.confirmed_at as last_confirmed_at
    from reported n
    left join (
      select l.*, t.told_at, mesh.way_at(l.via, l.handshake_at, t.told_at) as way
      from mesh.path_reports l
      cross join lateral (select coalesce(l.left_out_at, last_reported_at) as told_at) t
      where l.agent_id = note_paths.agent_id and l.other_agent = any (neighbours)
    ) r on r.other_agent = n.other_agent
  ), changed as materialized (
    select c.*
    from compared c
    where c.is_same is not true
      or (c.endpoint, c.since, c.confirmed_at)
        is distinct from (c.last_endpoint, c.last_since, c.last_confirmed_at)
  )
  insert into mesh.path_reports as r (
    agent_id, other_agent, via, endpoint, handshake_at, since, confirmed_at
  )
  select note_paths.agent_id, c.other_agent, c.via, c.endpoint, c.handshake_at, c.since, c.confirmed_at
  from changed c
  -- This lock also checks whether the pair exists: the neighbour may not be registered.
  cross join lateral (
    select
    from mesh.pairs p
    where p.low_agent = least(c.other_agent collate "C", note_paths.agent_id collate "C")
      and p.high_agent = greatest(c.other_agent collate "C", note_paths.agent_id collate "C")
    limit 1
    for key share skip locked
  ) p
  order by c.other_agent
  on conflict on constraint a_side_reports_a_path_once do update
  set via = excluded.via,
      endpoint = excluded.endpoint,
      handshake_at = excluded.handshake_at,
      since = excluded.since,
      left_out_at = null,
      confirmed_at = excluded.confirmed_at;
  return reported_at;
end
$$;
comment on function mesh.note_paths(text, jsonb) is
  'Records what an agent reports about its paths: paths is [{agent_id, via, endpoint | null, '
  'endpoint_ip | null, handshake_age_seconds | null}], each agent once. Ignores agents that share '
  'no active rule with it. Returns the time of the report, for note_sign_of_life.';

create function mesh.path_json(report mesh.path_reports, reported_at timestamptz) returns json
-- PL/pgSQL, because every statement that calls an SQL function plans it if it cannot be inlined.
language plpgsql
stable
set search_path = ''
as $$
begin
  if path_json.reported_at is null or report.agent_id is null then
    return null;
  end if;
  return json_build_object(
    'works', mesh.way_at(report.via, report.handshake_at, path_json.reported_at) <> 'none',
    'via', report.via,
    'since', agents.iso_timestamp(report.since),
    'handshake_age_seconds', greatest(
      floor(extract(epoch from path_json.reported_at - report.handshake_at))::integer, 0
    ),
    'endpoint', report.endpoint,
    'reported_at', agents.iso_timestamp(path_json.reported_at)
  );
end
$$;
comment on function mesh.path_json(mesh.path_reports, timestamptz) is
  'A path as one side reported it at that time; null without a report or a time.';

create function public.agent_api_forget_paths(caller jsonb, max_entries integer) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  -- A path that is still reported is confirmed once a day.
  kept_since constant timestamptz := now() - interval '2 days';
  remaining integer;
begin
  perform agents.authenticate_operator(agent_api_forget_paths.caller);
  delete from mesh.path_reports r
  where r.ctid = any (array(
    select d.ctid
    from mesh.path_reports d
    where d.confirmed_at < kept_since
    order by d.confirmed_at
    limit agent_api_forget_paths.max_entries
    for update skip locked
  ));
  select count(*) into remaining
  from (
    select from mesh.path_reports r
    where r.confirmed_at < kept_since
    order by r.confirmed_at
    limit 1000
  ) later;
  return json_build_object('remaining', remaining);
end
$$;
comment on function public.agent_api_forget_paths(jsonb, integer) is
  'Deletes up to max_entries reports of paths that were not repeated for two days, because they '
  'contain addresses. Returns {remaining}, which counts at most a thousand. Raises forbidden for '
  'an agent.';

-- schemas/mesh/paths/observed_endpoints.sql

-- Where reachable neighbours last saw an agent: a hint for other neighbours, which can use it to
-- reach an agent behind NAT. It is not part of a configuration's text, so it raises no version.

create function mesh.ip_of(endpoint text) returns inet
language sql
immutable
return case
  when ip_of.endpoint like '[%' then substring(ip_of.endpoint from '^\[([0-9a-f:]+)\]')::inet
  -- A DNS name does not match, because its last label has a letter.
  when ip_of.endpoint ~ '^[0-9.]+:' then split_part(ip_of.endpoint, ':', 1)::inet
end;
comment on function mesh.ip_of(text) is 'The address of an endpoint; null for a DNS name.';

create function mesh.is_private(ip inet) returns boolean
language sql
immutable
return coalesce(
  is_private.ip <<= '10.0.0.0/8' or is_private.ip <<= '172.16.0.0/12'
    or is_private.ip <<= '192.168.0.0/16' or is_private.ip <<= '100.64.0.0/10'
    or is_private.ip <<= 'fc00::/7',
  false
);
comment on function mesh.is_private(inet) is
  'Whether an address is private, so that it means a different host in every network (RFC 1918, '
  'RFC 6598, RFC 4193).';

create function mesh.observed_endpoints(viewer text, agent_ids text[], online_seconds integer)
returns table (agent_id text, endpoint text)
language plpgsql
stable
set search_path = ''
-- The caller may have switched nested loops off, but here they are right: there are few rows per
-- agent.
set enable_nestloop = on
-- Planning this takes longer than running it for a few agents.
set plan_cache_mode = force_generic_plan
as $$
begin
  if observed_endpoints.online_seconds is null then
    return;
  end if;
  return query
  -- The endpoint that most observers report, so that one that lies is outvoted: each has one vote,
  -- however often it reports. Where they are as many, the one whose path the agent itself has
  -- reported for longest, which no report of an observer changes.
  select distinct on (seen.agent_id) seen.agent_id, seen.endpoint
  from (
    select own.agent_id::text, heard.endpoint::text, count(*) as observers, min(own.since) as known_since
    from unnest(observed_endpoints.agent_ids) as named (agent_id)
    join mesh.path_reports own on own.agent_id = named.agent_id
    join mesh.liveness own_liveness on own_liveness.agent_id = own.agent_id
    join mesh.path_reports heard
      on heard.agent_id = own.other_agent and heard.other_agent = own.agent_id
    join mesh.liveness observer_liveness on observer_liveness.agent_id = own.other_agent
    join mesh.peers observer on observer.agent_id = own.other_agent
    cross join lateral (
      select mesh.time_of_report(
          own.left_out_at, own_liveness, observed_endpoints.online_seconds
        ) as own_at,
        mesh.time_of_report(
          heard.left_out_at, observer_liveness, observed_endpoints.online_seconds
        ) as heard_at
    ) t
    where own.agent_id <> observed_endpoints.viewer
      and own.other_agent <> observed_endpoints.viewer
      and heard.endpoint is not null
      and observer.endpoint is not null
      -- Both sides must report a direct path. So a neighbour cannot send others to a wrong place by
      -- reporting an agent that it has no connection with.
      and mesh.way_at(own.via, own.handshake_at, t.own_at) = 'direct'
      and mesh.way_at(heard.via, heard.handshake_at, t.heard_at) = 'direct'
      -- Same as mesh.see_each_other, written out because that would be called for each row.
      and (
        exists (
          select from mesh.rules r
          where r.active and r.from_agent = own.agent_id and r.to_agent = own.other_agent
        )
        or exists (
          select from mesh.rules r
          where r.active and r.from_agent = own.other_agent and r.to_agent = own.agent_id
        )
      )
      -- A private address is of use only to hosts in the same network, where the observer itself is
      -- reached.
      and (
        not mesh.is_private(mesh.ip_of(heard.endpoint))
        or exists (
          select from unnest(observer.endpoint || observer.further_endpoints) as o (endpoint)
          where mesh.is_private(mesh.ip_of(o.endpoint))
        )
      )
    group by own.agent_id, heard.endpoint
  ) seen
  order by seen.agent_id, seen.observers desc, seen.known_since, seen.endpoint;
end
$$;
comment on function mesh.observed_endpoints(text, text[], integer) is
  'Where each of these agents, except the viewer, was last seen by its reachable neighbours, over '
  'a direct path that both sides report. No row: nobody saw the agent. Without online_seconds, it '
  'returns no rows. Where observers differ, the endpoint that most report counts, then that of the '
  'path that the agent has reported for longest.';

-- schemas/mesh/paths/relay.sql

-- The names by which a relay knows the agents that use it.

create function public.agent_api_read_relay_name(caller jsonb, agent_id text) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(agent_api_read_relay_name.caller);
  subject text;
  relay_name text;
begin
  if caller_agent is null and agent_api_read_relay_name.agent_id is null then
    return json_build_object('relay_name', 'operator');
  end if;
  subject := agents.require_self(caller_agent, agent_api_read_relay_name.agent_id);
  select host(l.ipv4) into relay_name
  from mesh.peers p
  join mesh.address_leases l on l.agent_id = p.agent_id
  where p.agent_id = subject;

  if not found then
    raise sqlstate 'PT404' using message = 'peer_not_found';
  end if;
  return json_build_object('relay_name', relay_name);
end
$$;
comment on function public.agent_api_read_relay_name(jsonb, text) is
  'The name by which a relay and its log know an agent that has a peer: its IPv4 address in the '
  'mesh. The operator can look it up, and after an erasure it leads to nobody. The operator, who '
  'may try a relay without an agent_id, is named operator. Raises forbidden, peer_not_found.';

-- schemas/mesh/paths/refused_connections.sql

-- What hosts report about connections that no rule allows. Only where the operator asks for it.

create function mesh.note_refused(
  caller jsonb,
  caller_agent text,
  agent_id text,
  refused jsonb,
  events_per_hour integer
) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  attempt record;
  began_at timestamptz;
  told integer;
  told_before integer;
begin
  select v.refusals_since, v.refusals_told into began_at, told
  from mesh.config_versions v
  where v.agent_id = note_refused.agent_id
  for no key update;
  if began_at is null or began_at <= clock_timestamp() - interval '1 hour' then
    began_at := clock_timestamp();
    told := 0;
  end if;
  told_before := told;
  for attempt in
    select r.agent_id, r.port, r.proto, r.attempts
    from jsonb_to_recordset(note_refused.refused)
      as r (agent_id text, port integer, proto text, attempts integer)
    -- So an agent can neither name one that it does not know, nor one that does not know it.
    where mesh.see_each_other(note_refused.agent_id, r.agent_id)
    limit greatest(note_refused.events_per_hour - told, 0)
  loop
    perform agents.record_event(
      note_refused.caller, note_refused.caller_agent, 'connection.refused', note_refused.agent_id,
      null,
      jsonb_build_object(
        'port', attempt.port, 'proto', attempt.proto, 'attempts', attempt.attempts
      ),
      attempt.agent_id
    );
    told := told + 1;
  end loop;
  if told > told_before then
    update mesh.config_versions v
    set refusals_since = began_at, refusals_told = told
    where v.agent_id = note_refused.agent_id;
  end if;
end
$$;
comment on function mesh.note_refused(jsonb, text, text, jsonb, integer) is
  'Writes an event for each refused connection that an agent''s host reports: refused is '
  '[{agent_id, port | null, proto, attempts}]. At most events_per_hour of an agent, and only about '
  'agents that share an active rule with it; ignores the others. Call it before note_paths: it '
  'locks the agent''s config_version, which comes before paths.';

-- schemas/mesh/heartbeats.sql

-- Heartbeats say that a peer is online, and which configuration version it runs.

create function mesh.lags(liveness mesh.liveness, version bigint, rendering_revision integer) returns boolean
language sql
immutable
return (lags.liveness).config_version_applied <> lags.version + lags.rendering_revision;
comment on function mesh.lags(mesh.liveness, bigint, integer) is
  'Whether a peer runs another configuration than the current one; null: it never reported one. '
  'version is the one in mesh.config_versions. What hosts receive and report is that version plus '
  'the rendering_revision of the functions.';

create function mesh.note_sign_of_life(
  agent_id text,
  config_version bigint,
  rendering_revision integer,
  wait_seconds integer,
  paths_reported_at timestamptz,
  problem jsonb
) returns json
language plpgsql
volatile
set search_path = ''
as $$
declare
  seen_at timestamptz;
begin
  update mesh.liveness l
  -- Both columns get the same time: this tells mesh.paths_hold that the newest heartbeat reported
  -- the paths.
  set last_seen = coalesce(note_sign_of_life.paths_reported_at, clock_timestamp()),
      paths_reported_at = coalesce(note_sign_of_life.paths_reported_at, l.paths_reported_at),
      config_version_applied = coalesce(note_sign_of_life.config_version, l.config_version_applied),
      config_version_highest = greatest(
        l.config_version_highest,
        -- agent_api_after_restore begins at the time in units of 10 microseconds, and versions rise
        -- more slowly. So a higher one was never handed out.
        case
          when note_sign_of_life.config_version <= extract(epoch from clock_timestamp()) * 100000
            then note_sign_of_life.config_version
        end
      ),
      -- greatest ignores nulls.
      rendering_revision_highest = greatest(
        l.rendering_revision_highest, note_sign_of_life.rendering_revision
      ),
      waits_until = case
        when note_sign_of_life.wait_seconds > 0
          then clock_timestamp() + make_interval(secs => note_sign_of_life.wait_seconds)
      end,
      -- A host that runs a configuration has a tunnel. A process of the agent that only waits for
      -- files knows nothing of the host, and sends neither.
      problem = case
        when note_sign_of_life.problem is not null then note_sign_of_life.problem ->> 'code'
        when note_sign_of_life.config_version is null then l.problem
      end,
      problem_network = case
        when note_sign_of_life.problem is not null
          then network((note_sign_of_life.problem ->> 'network')::inet)
        when note_sign_of_life.config_version is null then l.problem_network
      end
  where l.agent_id = note_sign_of_life.agent_id
  returning l.last_seen into seen_at;
  return (
    select json_build_object(
      'agent_id', v.agent_id,
      'last_seen', agents.iso_timestamp(seen_at),
      'config_version', v.version
    )
    from mesh.config_versions v
    where v.agent_id = note_sign_of_life.agent_id and seen_at is not null
  );
end
$$;
comment on function mesh.note_sign_of_life(text, bigint, integer, integer, timestamptz, jsonb) is
  'Records that an agent is alive, which configuration it runs if it says so, the '
  'rendering_revision of the functions that it asked (null: not known), how long it will '
  'wait for the answer, when it reported its paths if it did, and its problem. Returns what '
  'agent_api_record_heartbeat returns, or null without a peer.';

create function public.agent_api_record_heartbeat(
  caller jsonb,
  agent_id text,
  config_version bigint,
  wait_seconds integer default 0,
  paths jsonb default null,
  rendering_revision integer default null,
  problem jsonb default null,
  refused jsonb default null,
  refused_per_hour integer default 0
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  subject text;
  paths_reported_at timestamptz;
  answer json;
begin
  caller_agent := agents.admit(agent_api_record_heartbeat.caller);
  subject := agents.require_self(caller_agent, agent_api_record_heartbeat.agent_id);
  if agent_api_record_heartbeat.refused is not null then
    perform mesh.note_refused(
      agent_api_record_heartbeat.caller, caller_agent, subject,
      agent_api_record_heartbeat.refused, agent_api_record_heartbeat.refused_per_hour
    );
  end if;
  if agent_api_record_heartbeat.paths is not null then
    paths_reported_at := mesh.note_paths(subject, agent_api_record_heartbeat.paths);
  end if;
  answer := mesh.note_sign_of_life(
    subject, agent_api_record_heartbeat.config_version,
    agent_api_record_heartbeat.rendering_revision, agent_api_record_heartbeat.wait_seconds,
    paths_reported_at, agent_api_record_heartbeat.problem
  );
  if answer is null then
    raise sqlstate 'PT404' using message = 'peer_not_found';
  end if;
  return answer;
end
$$;
comment on function public.agent_api_record_heartbeat(
  jsonb, text, bigint, integer, jsonb, integer, jsonb, jsonb, integer
) is
  'Records that an agent is alive, which configuration it runs if it says so, how long it will '
  'wait for the answer, its paths (as mesh.note_paths takes them; null: not reported), and its '
  'problem, {code, network | null}; a configuration without a problem ends an earlier one. Writes '
  'at most refused_per_hour events about the connections that its host refused (as '
  'mesh.note_refused takes them). Returns the version that it should run. Raises forbidden, invalid_request, peer_not_found.';

create function public.agent_api_read_heartbeat(caller jsonb, agent_id text) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  subject text := agents.subject_of(agent_api_read_heartbeat.caller, agent_api_read_heartbeat.agent_id);
  answer json;
begin
  select json_build_object(
    'agent_id', l.agent_id,
    'last_seen', agents.iso_timestamp(l.last_seen),
    'config_version', v.version
  ) into answer
  from mesh.liveness l
  join mesh.config_versions v on v.agent_id = l.agent_id
  where l.agent_id = subject;

  if not found then
    raise sqlstate 'PT404' using message = 'peer_not_found';
  end if;
  return answer;
end
$$;
comment on function public.agent_api_read_heartbeat(jsonb, text) is
  'What agent_api_record_heartbeat returns, read after a wait: a heartbeat counts when it arrives. '
  'Raises forbidden, invalid_request, peer_not_found.';

-- schemas/mesh/configuration.sql

-- What agents read of the mesh: the network map, and the state that a configuration is rendered
-- from. /wg_config renders exactly one such state, so version and text always belong together. If a
-- PSK does not exist yet, the function calls agent_api_store_psks with a new one and renders what
-- that returns. Whichever side comes first, both get the same PSK.

create function mesh.rules_that_name(agent_id text, active boolean)
returns table (
  from_agent agents.agent_id,
  to_agent agents.agent_id,
  port integer,
  proto text,
  waiting_for text
)
language sql
stable
begin atomic
  -- No rule names the same agent twice, so no rule is returned twice.
  select r.from_agent, r.to_agent, r.port, r.proto, mesh.waiting_for(r)
  from mesh.rules r
  where r.from_agent = rules_that_name.agent_id and r.active = rules_that_name.active
  union all
  select r.from_agent, r.to_agent, r.port, r.proto, mesh.waiting_for(r)
  from mesh.rules r
  where r.to_agent = rules_that_name.agent_id and r.active = rules_that_name.active;
end;
comment on function mesh.rules_that_name(text, boolean) is
  'The active rules that name an agent, or the requests.';

create function mesh.with_neighbours(agent_id text) returns text[]
language plpgsql
stable
set search_path = ''
as $$
begin
  return (
    select array_agg(n.agent_id order by n.agent_id collate "C")
    from unnest(
      mesh.neighbours(with_neighbours.agent_id) || with_neighbours.agent_id
    ) as n (agent_id)
  );
end
$$;
comment on function mesh.with_neighbours(text) is
  'An agent and its neighbours (mesh.neighbours), in byte order: an index lookup of many names '
  'sorts them first, which takes no time if they are sorted already.';

create function public.agent_api_read_netmap(
  caller jsonb, agent_id text, online_seconds integer, rendering_revision integer default 0
) returns json
language plpgsql
stable
security invoker
set search_path = ''
-- This reads the rows of all peers at once from each table, and merges them. The planner does not
-- know how many peers there are, and would otherwise look up each peer in each table.
set enable_nestloop = off
-- Planning for the names of one large map takes longer than reading it.
set plan_cache_mode = force_generic_plan
as $$
declare
  subject text collate "C" := agents.subject_of(agent_api_read_netmap.caller, agent_api_read_netmap.agent_id);
  named text[] := mesh.with_neighbours(subject);
  own_liveness mesh.liveness;
  answer json;
begin
  select l.* into own_liveness from mesh.liveness l where l.agent_id = subject;
  select json_build_object(
    'agent_id', subject,
    'config_version', (
      select v.version + agent_api_read_netmap.rendering_revision
      from mesh.config_versions v
      where v.agent_id = subject
    ),
    'peers', (
      select json_agg(e order by p.agent_id)
      from mesh.peers p
      join mesh.address_leases a on a.agent_id = p.agent_id and a.agent_id = any (named)
      join mesh.liveness l on l.agent_id = p.agent_id and l.agent_id = any (named)
      left join mesh.pairs_of(subject, named) pair on pair.other_agent = p.agent_id
      left join mesh.path_reports own on own.agent_id = subject and own.other_agent = p.agent_id
      left join mesh.path_reports others
        on others.other_agent = subject and others.agent_id = p.agent_id
      cross join lateral mesh.map_entry(
        p, a, l, agent_api_read_netmap.online_seconds, subject,
        case when pair.made_at is not null then pair.psk_version end,
        case
          when p.agent_id = subject then null
          when own.agent_id is null and others.agent_id is null
            then '{"reported_by_self": null, "reported_by_peer": null}'
          else json_build_object(
            'reported_by_self', mesh.path_json(
              own,
              mesh.time_of_report(own.left_out_at, own_liveness, agent_api_read_netmap.online_seconds)
            ),
            'reported_by_peer', mesh.path_json(
              others, mesh.time_of_report(others.left_out_at, l, agent_api_read_netmap.online_seconds)
            )
          )
        end
      ) e
      where p.agent_id = any (named)
    ),
    'acls', (
      select coalesce(
        json_agg(r order by r.from_agent, r.to_agent, r.proto collate "C", r.port), '[]'
      )
      from (
        select i.from_agent, i.to_agent, i.port, i.proto
        from mesh.rules_that_name(subject, active => true) i
      ) r
    ),
    'acl_requests', (
      select coalesce(
        json_agg(r order by r.from_agent, r.to_agent, r.proto collate "C", r.port), '[]'
      )
      from mesh.rules_that_name(subject, active => false) r
    )
  ) into answer
  from mesh.peers own
  where own.agent_id = subject;

  if not found then
    raise sqlstate 'PT404' using message = 'peer_not_found';
  end if;
  return answer;
end
$$;
comment on function public.agent_api_read_netmap(jsonb, text, integer, integer) is
  'What an agent sees: itself and the peers that share an active rule with it, the active rules '
  'that name it, and the requests that name it. rendering_revision is added to its '
  'config_version: the functions pass their own, and return the answer unchanged. Raises '
  'forbidden, invalid_request, peer_not_found.';

create function mesh.configuration_state(agent_id text, online_seconds integer) returns json
language plpgsql
stable
set search_path = ''
-- For the same reasons as in agent_api_read_netmap.
set enable_nestloop = off
set plan_cache_mode = force_generic_plan
as $$
declare
  named text[] := mesh.with_neighbours(configuration_state.agent_id);
  state json;
begin
  select json_build_object(
    'agent_id', own.agent_id,
    'config_version', (
      select v.version from mesh.config_versions v where v.agent_id = own.agent_id
    ),
    'listen_port', own.effective_listen_port,
    'addresses', (
      select json_build_array(host(a.ipv4), host(a.ipv6))
      from mesh.address_leases a
      where a.agent_id = own.agent_id
    ),
    'networks', (select json_build_array(s.ipv4_network, s.ipv6_network) from mesh.settings s),
    'peers', (
      select coalesce(
        json_agg(
          json_build_object(
            'agent_id', p.agent_id,
            'name', p.dns_label,
            'pubkey', p.pubkey,
            'endpoint', p.endpoint,
            'further_endpoints', p.further_endpoints,
            -- Only a hint: it is not part of the text, and raises no version. Outbound rules, too,
            -- are only in JSON.
            'observed_endpoint', seen.endpoint,
            'addresses', json_build_array(host(a.ipv4), host(a.ipv6)),
            'inbound_rules', coalesce(inbound.rules, '[]'),
            'outbound_rules', coalesce(outbound.rules, '[]'),
            'psk_version', pair.psk_version,
            'encrypted_version', coalesce(pair.encrypted_version, pair.psk_version),
            'encrypted_psk', pair.encrypted_psk
          )
          order by p.agent_id
        ),
        '[]'
      )
      from mesh.peers p
      join mesh.address_leases a on a.agent_id = p.agent_id and a.agent_id = any (named)
      -- Every visible peer has a pair. A left join, because a missing pair must make the request
      -- fail: a text without the peer would cut a tunnel.
      left join mesh.pairs_of(configuration_state.agent_id, named) pair
        on pair.other_agent = p.agent_id
      left join (
        select r.from_agent,
          json_agg(json_build_object('proto', r.proto, 'port', r.port) order by r.proto, r.port) as rules
        from mesh.rules r
        where r.active and r.to_agent = configuration_state.agent_id
        group by r.from_agent
      ) inbound on inbound.from_agent = p.agent_id
      left join (
        select r.to_agent,
          json_agg(json_build_object('proto', r.proto, 'port', r.port) order by r.proto, r.port) as rules
        from mesh.rules r
        where r.active and r.from_agent = configuration_state.agent_id
          and configuration_state.online_seconds is not null
        group by r.to_agent
      ) outbound on outbound.to_agent = p.agent_id
      left join mesh.observed_endpoints(
        configuration_state.agent_id, named, configuration_state.online_seconds
      ) seen on seen.agent_id = p.agent_id
      where p.agent_id = any (named) and p.agent_id <> configuration_state.agent_id
    )
  ) into state
  from mesh.peers own
  where own.agent_id = configuration_state.agent_id;
  return state;
end
$$;
comment on function mesh.configuration_state(text, integer) is
  'Everything that an agent''s configuration depends on, and its config_version, in one snapshot. '
  'PSKs are encrypted, and null if not made yet. Without online_seconds, it leaves out what is '
  'only in JSON: outbound rules and observed endpoints. Null for an agent without a peer.';

create function public.agent_api_read_wg_config(
  caller jsonb, agent_id text, online_seconds integer default 90
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  state json := mesh.configuration_state(
    agents.subject_of(agent_api_read_wg_config.caller, agent_api_read_wg_config.agent_id),
    agent_api_read_wg_config.online_seconds
  );
begin
  if state is null then
    raise sqlstate 'PT404' using message = 'peer_not_found';
  end if;
  return state;
end
$$;
comment on function public.agent_api_read_wg_config(jsonb, text, integer) is
  'What an agent''s configuration is rendered from. With online_seconds, also what is not part of '
  'the text: outbound rules, and where reachable neighbours see each peer (observed_endpoint | '
  'null). Raises forbidden, invalid_request, peer_not_found.';

-- schemas/mesh/psks.sql

-- Storing and rotating the PSKs of pairs.

create function public.agent_api_store_psks(
  caller jsonb, agent_id text, psks jsonb, online_seconds integer default 90
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  subject text;
begin
  subject := agents.require_self(agents.admit(agent_api_store_psks.caller), agent_api_store_psks.agent_id);
  perform mesh.lock_pairs(
    subject,
    array(select m.agent_id from jsonb_to_recordset(agent_api_store_psks.psks) as m (agent_id text))
  );

  with missing as materialized (
    select p.ctid as row_id, m.psk_version, m.encrypted_psk
    from jsonb_to_recordset(agent_api_store_psks.psks)
      as m (agent_id text, psk_version integer, encrypted_psk text)
    -- `limit 1` forces one index lookup per PSK. Otherwise the planner, which does not know the
    -- list's length, might compare all with all.
    cross join lateral (
      select p.ctid
      from mesh.pairs p
      where p.low_agent = least(m.agent_id collate "C", subject collate "C")
        and p.high_agent = greatest(m.agent_id collate "C", subject collate "C")
        and p.encrypted_psk is null
      limit 1
      -- A pair that was made after the lock above is not locked yet. To wait for it here would be
      -- against the lock order, so it gets its PSK with the next call.
      for update skip locked
    ) p
  )
  update mesh.pairs p
  set encrypted_psk = m.encrypted_psk,
      encrypted_version = nullif(m.psk_version, p.psk_version),
      made_at = clock_timestamp()
  from missing m
  -- The pairs are locked, so their ctid has not changed.
  where p.ctid = m.row_id;

  return public.agent_api_read_wg_config(agent_api_store_psks.caller, agent_api_store_psks.agent_id, agent_api_store_psks.online_seconds);
end
$$;
comment on function public.agent_api_store_psks(jsonb, text, jsonb, integer) is
  'Stores PSKs that an agent''s pairs lack: psks is [{agent_id, psk_version, encrypted_psk}]. Each '
  'is stored if its pair has none, even if the pair''s version has risen meanwhile: nobody was '
  'given that PSK before. Otherwise the other side could keep an agent waiting by making and '
  'replacing PSKs all the time. Then returns what agent_api_read_wg_config returns, and raises the '
  'same errors.';

create function public.agent_api_rotate_psk(caller jsonb, a text, b text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  caller_agent text;
  pair mesh.pairs;
  asked_at timestamptz;
begin
  caller_agent := agents.require_one_of(agents.admit(agent_api_rotate_psk.caller), agent_api_rotate_psk.a, agent_api_rotate_psk.b);
  perform mesh.take_turn(caller_agent);
  perform mesh.lock_agents(array[agent_api_rotate_psk.a, agent_api_rotate_psk.b]);
  perform mesh.lock_config_versions(array[agent_api_rotate_psk.a, agent_api_rotate_psk.b]);

  -- A pair has a row only while both are registered.
  select p.* into pair
  from mesh.pairs p
  where p.low_agent = least(agent_api_rotate_psk.a collate "C", agent_api_rotate_psk.b collate "C")
    and p.high_agent = greatest(agent_api_rotate_psk.a collate "C", agent_api_rotate_psk.b collate "C")
    and mesh.see_each_other(agent_api_rotate_psk.a, agent_api_rotate_psk.b)
  for update;
  if not found then
    if caller_agent is null then
      raise sqlstate 'PT404' using
        message = 'peer_not_found',
        hint = mesh.missing_for_psk(agent_api_rotate_psk.a, agent_api_rotate_psk.b);
    end if;
    -- An agent gets no reason, because it must not learn whether the other one is registered.
    raise sqlstate 'PT404' using message = 'peer_not_found';
  end if;

  asked_at := clock_timestamp();
  -- If the newest PSK is not made yet, nobody was given it, and nobody gets the previous one any
  -- more. So there is nothing to replace. If the version rose anyway, an agent that keeps rotating
  -- could keep the other from ever getting a PSK.
  if pair.encrypted_psk is not null then
    update mesh.pairs p
    set psk_version = p.psk_version + 1, encrypted_psk = null, rotated_at = asked_at
    where p.low_agent = pair.low_agent and p.high_agent = pair.high_agent
    returning p.* into pair;
    perform mesh.raise_config_versions(array[pair.low_agent, pair.high_agent]);
    perform agents.record_change(
      agent_api_rotate_psk.caller, caller_agent, 'psk.rotated', pair.low_agent,
      jsonb_build_object('high_agent', pair.high_agent, 'psk_version', pair.psk_version),
      pair.high_agent
    );
  end if;
  return json_build_object(
    'a', agent_api_rotate_psk.a,
    'b', agent_api_rotate_psk.b,
    'psk_version', pair.psk_version,
    'rotated_at', agents.iso_timestamp(asked_at)
  );
end
$$;
comment on function public.agent_api_rotate_psk(jsonb, text, text) is
  'Replaces the PSK of a pair. The next configuration of either side makes the new one. If the '
  'newest is not made yet, nothing changes, and the answer names it. In either case rotated_at is '
  'the time of this call: no PSK that anybody was given before it stays valid. Raises forbidden, '
  'and peer_not_found if the two do not see each other, whatever the reason.';

-- schemas/mesh/metrics.sql

-- What GET /metrics of agent-mesh returns. Rules and PSKs are counted as they change. Who is online
-- changes with time alone, and a heartbeat must stay as cheap as possible. So peers are counted
-- when /metrics is called, at most once a minute and in bounded steps. In between, the answer is
-- the last count.

create table mesh.censuses (
  census text collate "C" primary key,
  online bigint not null default 0,
  offline bigint not null default 0,
  never_seen bigint not null default 0,
  behind bigint not null default 0,
  after_agent agents.agent_id,
  counted_at timestamptz not null default now(),

  constraint there_are_two_censuses check (census in ('last', 'under way'))
);
comment on table mesh.censuses is
  'Peers by state: the last complete count, and the count under way.';
comment on column mesh.censuses.behind is
  'Online peers that reported another configuration than the current one.';
comment on column mesh.censuses.after_agent is 'Where the count under way continues.';

create function mesh.continue_census(
  online_seconds integer,
  max_peers integer,
  rendering_revision integer default 0
) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  under_way mesh.censuses;
  counted mesh.censuses;
  peers integer;
begin
  if exists (
      select from mesh.censuses c where c.census = 'last' and c.counted_at > now() - interval '1 minute'
    )
    -- Another call is counting.
    or not pg_try_advisory_xact_lock(hashtextextended('mesh census', 0))
  then
    return;
  end if;
  select c.* into under_way from mesh.censuses c where c.census = 'under way';

  select count(*), max(s.agent_id),
    coalesce(under_way.online, 0) + count(*) filter (where s.online),
    coalesce(under_way.offline, 0) + count(*) filter (where not s.online and s.was_seen),
    coalesce(under_way.never_seen, 0) + count(*) filter (where not s.was_seen),
    coalesce(under_way.behind, 0) + count(*) filter (where s.online and s.lags)
  into peers, counted.after_agent, counted.online, counted.offline, counted.never_seen, counted.behind
  from (
    select l.agent_id,
      l.last_seen is not null as was_seen,
      mesh.is_online(l, continue_census.online_seconds) as online,
      mesh.lags(l, v.version, continue_census.rendering_revision) as lags
    from mesh.liveness l
    join mesh.config_versions v on v.agent_id = l.agent_id
    where l.agent_id > coalesce(under_way.after_agent, '')
    order by l.agent_id
    limit continue_census.max_peers
  ) s;

  if peers < continue_census.max_peers then
    counted.census := 'last';
    counted.after_agent := null;
    delete from mesh.censuses c where c.census = 'under way';
  else
    counted.census := 'under way';
  end if;
  counted.counted_at := now();
  insert into mesh.censuses values (counted.*)
  on conflict on constraint censuses_pkey do update
  set online = excluded.online,
      offline = excluded.offline,
      never_seen = excluded.never_seen,
      behind = excluded.behind,
      after_agent = excluded.after_agent,
      counted_at = excluded.counted_at;
end
$$;
comment on function mesh.continue_census(integer, integer, integer) is
  'Counts the next max_peers peers, if the last count is older than a minute.';

create function mesh.psk_counts()
returns table (encryption_key_id text, count bigint, oldest_made_at timestamptz)
language sql
stable
set search_path = ''
as $$
  select c.key_id, c.value, (
    select p.made_at
    from mesh.pairs p
    where p.encrypted_psk is not null and p.encryption_key_id = c.key_id collate "C"
    order by p.encryption_key_id, p.made_at
    limit 1
  )
  from (
    select substr(k.counter, length('psks.') + 1) as key_id, sum(k.value)::bigint as value
    from mesh.counters k
    where k.counter >= 'psks.' and k.counter < 'psks/'
    group by k.counter
  ) c
  where c.value > 0
$$;
comment on function mesh.psk_counts() is
  'How many PSKs each encryption key encrypts, and when the oldest of them was made.';

create function public.agent_api_read_mesh_metrics(
  caller jsonb,
  online_seconds integer,
  rendering_revision integer default 0
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  peers_per_call constant integer := 2000;
  answer json;
begin
  perform agents.authenticate_operator(agent_api_read_mesh_metrics.caller);
  perform mesh.continue_census(
    agent_api_read_mesh_metrics.online_seconds, peers_per_call,
    agent_api_read_mesh_metrics.rendering_revision
  );

  select json_build_object(
    'peers', json_build_object(
      'online', coalesce(max(c.online), 0),
      'offline', coalesce(max(c.offline), 0),
      'never_seen', coalesce(max(c.never_seen), 0)
    ),
    'activity', agents.activity_of('agent-mesh'),
    'peers_behind', coalesce(max(c.behind), 0),
    'peers_counted_at', extract(epoch from max(c.counted_at)),
    'rules', json_build_object(
      'active', (
        select coalesce(sum(k.value), 0) from mesh.counters k where k.counter = 'rules.active'
      ),
      'requested', (
        select coalesce(sum(k.value), 0) from mesh.counters k where k.counter = 'rules.requested'
      )
    ),
    'psks', (
      select coalesce(
        json_agg(
          json_build_object(
            'encryption_key_id', p.encryption_key_id,
            'count', p.count,
            'oldest_made_at', extract(epoch from p.oldest_made_at)
          )
          order by p.encryption_key_id
        ),
        '[]'
      )
      from mesh.psk_counts() p
    )
  ) into answer
  from mesh.censuses c
  where c.census = 'last';
  return answer;
end
$$;
comment on function public.agent_api_read_mesh_metrics(jsonb, integer, integer) is
  'What agent-mesh returns at /metrics: {peers, activity, peers_behind, peers_counted_at, rules, '
  'psks}; times are seconds since 1970, or null. peers_behind counts the peers that '
  'agent_api_check_mesh reports as version_lags with the same online_seconds and '
  'rendering_revision. Raises unauthenticated, forbidden.';

-- schemas/changes/feeds.sql

-- What an agent reads of the event log: what it did, and what was done to things of its own.
-- The order is (transaction_id, event_id), and only events below the horizon are read. The horizon
-- is the oldest transaction that is still writing. No transaction below it can still commit, so no
-- event appears before a position that was already given out. A place in the log is
-- '<transaction_id>.<event_id>' of the last event that was read; the position that a caller gets
-- for it also contains the epoch.

create function agents.events_after(
  agent_id text,
  after_transaction xid8,
  after_event bigint,
  max_entries integer,
  ends_before xid8 default null
) returns setof agents.events
language plpgsql
stable
set search_path = ''
as $$
declare
  horizon constant xid8 := coalesce(events_after.ends_before, agents.horizon());
begin
  if events_after.agent_id is null then
    return query
      select e.*
      from agents.events e
      where (e.transaction_id, e.event_id) > (events_after.after_transaction, events_after.after_event)
        and e.transaction_id < horizon
      order by e.transaction_id, e.event_id
      limit events_after.max_entries;
    return;
  end if;
  return query
    -- An event may concern an agent in two ways, but is returned once.
    select distinct on (e.transaction_id, e.event_id) e.*
    from (
      (
        select e.*
        from agents.events e
        where e.subject_agent_id = events_after.agent_id
          and (e.transaction_id, e.event_id) > (events_after.after_transaction, events_after.after_event)
          and e.transaction_id < horizon
        order by e.subject_agent_id, e.transaction_id, e.event_id
        limit events_after.max_entries
      )
      union all (
        select e.*
        from agents.events e
        where e.other_agent_id = events_after.agent_id
          and (e.transaction_id, e.event_id) > (events_after.after_transaction, events_after.after_event)
          and e.transaction_id < horizon
        order by e.other_agent_id, e.transaction_id, e.event_id
        limit events_after.max_entries
      )
      union all (
        select e.*
        from agents.events e
        where e.actor_agent_id = events_after.agent_id
          and e.actor_agent_id <> e.subject_agent_id
          and (e.transaction_id, e.event_id) > (events_after.after_transaction, events_after.after_event)
          and e.transaction_id < horizon
        order by e.actor_agent_id, e.transaction_id, e.event_id
        limit events_after.max_entries
      )
    ) e
    order by e.transaction_id, e.event_id
    limit events_after.max_entries;
end
$$;
comment on function agents.events_after(text, xid8, bigint, integer, xid8) is
  'The next events that concern an agent (null: all events) after a position, of every type. Null '
  'as ends_before: below the horizon. Only the operator is shown later ones.';

create function agents.newest_events(
  agent_id text,
  before_transaction xid8,
  before_event bigint,
  max_entries integer,
  ends_before xid8 default null
) returns setof agents.events
language plpgsql
stable
set search_path = ''
as $$
declare
  horizon constant xid8 := coalesce(newest_events.ends_before, agents.horizon());
begin
  if newest_events.agent_id is null then
    return query
      select e.*
      from agents.events e
      where (e.transaction_id, e.event_id) < (newest_events.before_transaction, newest_events.before_event)
        and e.transaction_id < horizon
      order by e.transaction_id desc, e.event_id desc
      limit newest_events.max_entries;
    return;
  end if;
  return query
    select distinct on (e.transaction_id, e.event_id) e.*
    from (
      (
        select e.*
        from agents.events e
        where e.subject_agent_id = newest_events.agent_id
          and (e.transaction_id, e.event_id) < (newest_events.before_transaction, newest_events.before_event)
          and e.transaction_id < horizon
        order by e.subject_agent_id desc, e.transaction_id desc, e.event_id desc
        limit newest_events.max_entries
      )
      union all (
        select e.*
        from agents.events e
        where e.other_agent_id = newest_events.agent_id
          and (e.transaction_id, e.event_id) < (newest_events.before_transaction, newest_events.before_event)
          and e.transaction_id < horizon
        order by e.other_agent_id desc, e.transaction_id desc, e.event_id desc
        limit newest_events.max_entries
      )
      union all (
        select e.*
        from agents.events e
        where e.actor_agent_id = newest_events.agent_id
          and e.actor_agent_id <> e.subject_agent_id
          and (e.transaction_id, e.event_id) < (newest_events.before_transaction, newest_events.before_event)
          and e.transaction_id < horizon
        order by e.actor_agent_id desc, e.transaction_id desc, e.event_id desc
        limit newest_events.max_entries
      )
    ) e
    order by e.transaction_id desc, e.event_id desc
    limit newest_events.max_entries;
end
$$;
comment on function agents.newest_events(text, xid8, bigint, integer, xid8) is
  'The newest events that concern an agent (null: all events) before a position, of every type. '
  'ends_before: as in events_after.';

create function agents.is_shown(event agents.events, agent_id text) returns boolean
language sql
stable
return agent_id is null
  or event.action not in ('grant.created', 'grant.revoked', 'standing.created', 'standing.ended')
  or event.subject_agent_id is distinct from agent_id
  or event.other_agent_id is null
  or not artifacts.is_blocked(agent_id, event.other_agent_id);
comment on function agents.is_shown(agents.events, text) is
  'Whether /events shows an event to an agent that it concerns. It does not show grants from a '
  'sender that the agent has blocked.';

create function agents.may_see_name(event agents.events, agent_id text) returns boolean
language sql
immutable
-- Inlined.
return agent_id is null
  -- The owner of the file. For a grant, and for a read with a grant token, that is other_agent_id.
  or agent_id = case
    when starts_with(event.object_id, 'grant_') then event.other_agent_id
    else event.subject_agent_id
  end
  -- The agent that opened the file learned its name then.
  or event.actor_agent_id = agent_id;
comment on function agents.may_see_name(agents.events, text) is
  'Whether an agent (null: the operator) may see the name (`key`) of the file that an event is '
  'about: its owner, and an agent that read it. A grantee sees names in its inbox, while its '
  'grants last.';

create function agents.event_json(event agents.events, agent_id text) returns jsonb
language plpgsql
stable
set search_path = ''
as $$
begin
  return jsonb_build_object(
    'event_id', 'evt_' || event.event_id,
    'type', event.action,
    'at', agents.iso_timestamp(event.occurred_at),
    'actor_kind', event.actor_kind,
    'actor', event.actor_agent_id,
    'agent_id', event.subject_agent_id
  ) || jsonb_strip_nulls(
    -- Only the acting agent and the operator see which of the agent's users and agent keys acted.
    jsonb_build_object(
      'user_id',
      case
        when event.actor_agent_id = coalesce(event_json.agent_id, event.actor_agent_id)
        then event.actor_user_id
      end,
      'key_id',
      case
        when event.actor_agent_id = coalesce(event_json.agent_id, event.actor_agent_id)
        then event.actor_key_id
      end,
      'key',
      case
        when agents.may_see_name(event, event_json.agent_id) then event.details -> 'key'
      end
    ) || case split_part(event.action, '.', 1)
      when 'grant' then jsonb_build_object(
        'grant_id', event.object_id,
        'artifact_id', event.details -> 'artifact_id',
        'from_agent', event.other_agent_id,
        'to_agent', event.subject_agent_id,
        'to_tag', event.details -> 'to_tag',
        'expires_at', event.details -> 'expires_at',
        'max_downloads', event.details -> 'max_downloads',
        'standing_id', event.details -> 'standing_id'
      )
      when 'standing' then jsonb_build_object(
        'standing_id', event.object_id,
        'from_agent', event.other_agent_id,
        'to_agent', event.subject_agent_id,
        'to_tag', event.details -> 'to_tag',
        'expires_at', event.details -> 'expires_at'
      )
      when 'task' then jsonb_build_object(
        'grant_id', event.object_id,
        'artifact_id', event.details -> 'artifact_id',
        'from_agent', event.other_agent_id,
        'to_tag', event.details -> 'to_tag',
        'attempt', event.details -> 'attempt',
        'next_at', event.details -> 'next_at',
        'reply_grant_id', event.details -> 'reply_grant_id'
      )
      when 'artifact' then jsonb_build_object(
        'artifact_id',
        agents.artifact_of_event(event.object_id, event.details),
        'grant_id', case when starts_with(event.object_id, 'grant_') then event.object_id end,
        'sha256', event.details -> 'sha256',
        'version', event.details -> 'version',
        'superseded', event.details -> 'superseded',
        'superseded_by', event.details -> 'superseded_by',
        'reads', event.details -> 'reads',
        'last_read_at', event.details -> 'last_read_at'
      )
      when 'rule' then jsonb_build_object(
        'from_agent', event.subject_agent_id,
        'to_agent', event.details -> 'to_agent',
        'port', event.details -> 'port',
        'proto', event.details -> 'proto'
      )
      when 'connection' then jsonb_build_object(
        'from_agent', event.other_agent_id,
        'to_agent', event.subject_agent_id,
        'port', event.details -> 'port',
        'proto', event.details -> 'proto',
        'attempts', event.details -> 'attempts'
      )
      when 'psk' then jsonb_build_object(
        'a', event.subject_agent_id,
        'b', event.other_agent_id,
        'psk_version', event.details -> 'psk_version'
      )
      when 'peer' then jsonb_build_object(
        'peer', case
          when event.other_agent_id = event_json.agent_id then event.subject_agent_id
          else event.other_agent_id
        end,
        'pubkey', event.details -> 'pubkey',
        'endpoint', event.details -> 'endpoint'
      )
      else '{}'
    end || jsonb_build_object(
      'times', event.details -> 'times',
      'last_at', event.details -> 'last_at'
    )
  );
end
$$;
comment on function agents.event_json(agents.events, text) is
  'An event as /events shows it to an agent; null: to the operator.';

-- schemas/changes/event_times.sql

-- Finds the place of a time in the event log.

create function agents.last_event_before(instant timestamptz) returns agents.events
language plpgsql
stable
strict
set search_path = ''
as $$
declare
  older agents.events;
  looked_at agents.events;
  last_id bigint;
  middle_id bigint;
begin
  select e.* into older from agents.events e order by e.event_id limit 1;
  if not found or older.occurred_at >= last_event_before.instant then
    return null;
  end if;
  select max(e.event_id) into last_id from agents.events e;
  -- A binary search, because event_id rises with time. It takes about thirty index lookups.
  while older.event_id < last_id loop
    middle_id := older.event_id + (last_id - older.event_id + 1) / 2;
    select e.* into looked_at from agents.events e where e.event_id >= middle_id order by e.event_id limit 1;
    if looked_at.occurred_at < last_event_before.instant then
      older := looked_at;
    else
      last_id := middle_id - 1;
    end if;
  end loop;
  return older;
end
$$;
comment on function agents.last_event_before(timestamptz) is
  'The last event, by its number, that is older than this time; null: none is.';

-- The log is in the order of transactions, and a transaction begins before it writes its events. A
-- call lasts 8 seconds at most, so a margin of a minute on either side is enough.

create function agents.position_before(instant timestamptz) returns text
language plpgsql
stable
strict
set search_path = ''
as $$
declare
  older agents.events := agents.last_event_before(position_before.instant - interval '1 minute');
begin
  return coalesce(older.transaction_id::text, '0') || '.0';
end
$$;
comment on function agents.position_before(timestamptz) is
  'A position in the log before which there is no event of this time or later.';

create function agents.position_after(instant timestamptz) returns text
language plpgsql
stable
strict
set search_path = ''
as $$
declare
  older agents.events := agents.last_event_before(position_after.instant + interval '1 minute');
  newer agents.events;
begin
  select e.* into newer
  from agents.events e
  where e.event_id > coalesce(older.event_id, 0)
  order by e.event_id
  limit 1;
  return newer.transaction_id || '.0';
end
$$;
comment on function agents.position_after(timestamptz) is
  'A position in the log from which on there is no event of this time or earlier; null: the end.';

-- schemas/changes/event_pages.sql

-- Pages of the event log: what /events returns, and what the operator's commands read.

create function agents.artifact_events_after(
  artifact_id text,
  after_transaction xid8,
  after_event bigint,
  max_entries integer,
  ends_before xid8
) returns setof agents.events
language sql
stable
set search_path = ''
as $$
  select e.*
  from agents.events e
  where agents.artifact_of_event(e.object_id, e.details) = artifact_events_after.artifact_id
    and (e.transaction_id, e.event_id)
      > (artifact_events_after.after_transaction, artifact_events_after.after_event)
    and e.transaction_id < artifact_events_after.ends_before
  order by agents.artifact_of_event(e.object_id, e.details), e.transaction_id, e.event_id
  limit artifact_events_after.max_entries
$$;
comment on function agents.artifact_events_after(text, xid8, bigint, integer, xid8) is
  'Like events_after, for the events about one artifact.';

create function agents.newest_artifact_events(
  artifact_id text,
  before_transaction xid8,
  before_event bigint,
  max_entries integer,
  ends_before xid8
) returns setof agents.events
language sql
stable
set search_path = ''
as $$
  select e.*
  from agents.events e
  where agents.artifact_of_event(e.object_id, e.details) = newest_artifact_events.artifact_id
    and (e.transaction_id, e.event_id)
      < (newest_artifact_events.before_transaction, newest_artifact_events.before_event)
    and e.transaction_id < newest_artifact_events.ends_before
  order by agents.artifact_of_event(e.object_id, e.details) desc, e.transaction_id desc, e.event_id desc
  limit newest_artifact_events.max_entries
$$;
comment on function agents.newest_artifact_events(text, xid8, bigint, integer, xid8) is
  'Like newest_events, for the events about one artifact.';

create function agents.facts_for_operator(event agents.events) returns jsonb
language sql
stable
return jsonb_strip_nulls(jsonb_build_object(
  'other_agent_id', event.other_agent_id,
  'key_id', case when starts_with(event.object_id, 'key_') then event.object_id end,
  'request_id', event.request_id,
  'enrolment_id', case
    when starts_with(event.object_id, 'enr_') then to_jsonb(event.object_id)
    else event.details -> 'enrolment_id'
  end,
  'webhook_id', case when starts_with(event.object_id, 'whk_') then event.object_id end,
  'reason', event.details -> 'reason',
  'way', event.details -> 'way',
  'claim', event.details -> 'claim',
  'untold', event.details -> 'untold',
  'generation', event.details -> 'generation',
  'instance', event.details -> 'instance',
  'tags', event.details -> 'tags',
  'added', event.details -> 'added',
  'removed', event.details -> 'removed',
  'keep_artifacts', event.details -> 'keep_artifacts',
  'fingerprint', event.details -> 'fingerprint',
  'max_agents', event.details -> 'max_agents',
  'origin', event.details -> 'origin',
  'name_hash', event.details -> 'name_hash',
  'replayed', case when event.action = 'ending.replayed' then event.object_id end,
  'recorded_at', event.details -> 'recorded_at'
))
  -- Null is a value here: the project's quota, or the default of enrolments, applies.
  || case
    when event.action in ('agent.limited', 'enrolment.limited')
    then jsonb_build_object('quota_bytes', event.details -> 'quota_bytes')
    else '{}'
  end;
comment on function agents.facts_for_operator(agents.events) is
  'The fields of an event that only the operator sees. request_id is the request''s name in the '
  'request log.';

create function agents.events_page(
  agent_id text,
  artifact_id text,
  types text[],
  since timestamptz,
  max_entries integer,
  after text,
  before text,
  is_for_operator boolean,
  until timestamptz default null
) returns json
language plpgsql
stable
set search_path = ''
as $$
declare
  -- An upper limit on the events, of any type, that one page reads. It is little more than
  -- max_entries if the page shows every event from a position or a time on.
  entries_per_page constant integer := events_page.max_entries + case
    when not events_page.is_for_operator
      or events_page.types is not null
      or events_page.agent_id is not null and events_page.artifact_id is not null then 1000
    when events_page.since is not null then 200
    else 1
  end;
  first_position constant text := coalesce(
    agents.place_of(events_page.after, 'after'), agents.position_before(events_page.since)
  );
  after_transaction constant xid8 := split_part(first_position, '.', 1)::xid8;
  after_event constant bigint := split_part(first_position, '.', 2)::bigint;
  end_position constant text := agents.position_after(events_page.until);
  goes_backwards constant boolean := first_position is null;
  -- An agent that took its name over from another one does not see the other one's events.
  held_since constant xid8 := case
    when not events_page.is_for_operator then (
      select n.held_since from agents.names n where n.agent_id = events_page.agent_id
    )
  end;
  horizon constant xid8 := agents.horizon();
  -- The operator also sees what is committed beyond the horizon. It is not final: older
  -- transactions may still add events before it.
  ends_before constant xid8 := case
    when events_page.is_for_operator then '18446744073709551615'::xid8
    else horizon
  end;
  last_position constant text := coalesce(
    agents.place_of(events_page.before, 'before'), end_position, ends_before || '.0'
  );
  before_transaction constant xid8 := split_part(last_position, '.', 1)::xid8;
  before_event constant bigint := split_part(last_position, '.', 2)::bigint;
  shown json;
  ended_at text;
  latest text;
  is_final boolean;
  more boolean;
  looked_at bigint;
  looked_back_to timestamptz;
begin
  if events_page.before is not null and not goes_backwards then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "before", "message": "Goes with neither after nor since."}]}';
  end if;
  -- This position is from the future: the database was restored, and the operator has not begun a
  -- new epoch yet.
  if after_transaction > pg_snapshot_xmax(agents.present_snapshot()) then
    perform agents.expire_position('after');
  end if;

  with walked as (
    select e.event, row_number() over (order by (e.event).transaction_id, (e.event).event_id) as place
    from (
      -- Only one of these four queries is executed.
      select n as event
      from agents.newest_events(
        events_page.agent_id, before_transaction, before_event, entries_per_page, ends_before
      ) n
      where goes_backwards and events_page.artifact_id is null
      union all
      select n
      from agents.newest_artifact_events(
        events_page.artifact_id, before_transaction, before_event, entries_per_page, ends_before
      ) n
      where goes_backwards and events_page.artifact_id is not null
      union all
      select n
      from agents.events_after(
        events_page.agent_id, after_transaction, after_event, entries_per_page, ends_before
      ) n
      where not goes_backwards and events_page.artifact_id is null
      union all
      select n
      from agents.artifact_events_after(
        events_page.artifact_id, after_transaction, after_event, entries_per_page, ends_before
      ) n
      where not goes_backwards and events_page.artifact_id is not null
    ) e
  ), listed as (
    select w.event, w.place
    from walked w
    where (events_page.types is null or (w.event).action = any (events_page.types))
      and (events_page.since is null or (w.event).occurred_at >= events_page.since)
      and (events_page.until is null or (w.event).occurred_at <= events_page.until)
      and (
        events_page.artifact_id is null or events_page.agent_id is null or events_page.agent_id in (
          (w.event).subject_agent_id, (w.event).other_agent_id, (w.event).actor_agent_id
        )
      )
      and (events_page.is_for_operator or agents.is_shown(w.event, events_page.agent_id))
      and (held_since is null or (w.event).transaction_id > held_since)
    order by case when goes_backwards then -w.place else w.place end
    -- One more than asked for tells whether there is a next page.
    limit events_page.max_entries + 1
  ), page as (
    select l.event, l.place
    from listed l
    order by case when goes_backwards then -l.place else l.place end
    limit events_page.max_entries
  ), ended as (
    -- The last place that this page covers; null if there is nothing beyond it.
    select case
      when (select count(*) from listed) > events_page.max_entries
        then (select case when goes_backwards then min(p.place) else max(p.place) end from page p)
      when (select count(*) from walked) = entries_per_page
        then case when goes_backwards then 1 else entries_per_page end
    end as place
  )
  select
    (
      select coalesce(
        json_agg(
          case
            when events_page.is_for_operator
              then agents.event_json(p.event, null)
                || agents.facts_for_operator(p.event)
                || case when (p.event).transaction_id < horizon then '{}' else '{"final": false}'::jsonb end
            else agents.event_json(p.event, events_page.agent_id)
          end
          order by p.place
        ),
        '[]'
      )
      from page p
    ),
    (
      select (w.event).transaction_id || '.' || (w.event).event_id
      from walked w
      where w.place = ended.place
    ),
    l.count,
    l.oldest,
    coalesce((select bool_and((p.event).transaction_id < horizon) from page p), true)
  into shown, ended_at, looked_at, looked_back_to, is_final
  from ended
  cross join lateral (
    select count(*) as count, min((w.event).occurred_at) as oldest
    from walked w
    where ended.place is null
      or case when goes_backwards then w.place >= ended.place else w.place <= ended.place end
  ) l;

  latest := case
    -- There is nothing final after the newest page yet.
    when goes_backwards or ended_at is null or split_part(ended_at, '.', 1)::xid8 >= horizon then horizon || '.0'
    else ended_at
  end;
  more := not goes_backwards
    and ended_at is not null
    -- There are no more pages after the end that was asked for.
    and (end_position is null or split_part(ended_at, '.', 1)::xid8 < split_part(end_position, '.', 1)::xid8);
  if not events_page.is_for_operator then
    return json_build_object('events', shown, 'latest', agents.position_at(latest), 'more', more);
  end if;
  return json_build_object(
    'events', shown,
    'latest', agents.position_at(latest),
    'more', more,
    'next', case when more then agents.position_at(ended_at) end,
    'held', case when not is_final then agents.held_log() end,
    'earlier', case when goes_backwards then agents.position_at(ended_at) end,
    'looked_at', looked_at,
    'looked_back_to', agents.iso_timestamp(looked_back_to)
  );
end
$$;
comment on function agents.events_page(
  text, text, text[], timestamptz, integer, text, text, boolean, timestamptz
) is
  'The events that concern an agent (null: all) or are about an artifact (null: any), of these '
  'types (null: all), neither older than `since` nor newer than `until`: the next after the '
  'position `after`; otherwise the first since `since`; otherwise the newest before the position '
  '`before` (null: of all). Oldest first. Raises invalid_request, position_expired.';

-- schemas/changes/events.sql

-- Pages of events, as /events answers them and as the operator's commands read them.

create function public.agent_api_list_events(
  caller jsonb,
  agent_id text,
  types text[],
  max_entries integer,
  after text
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  caller_agent text := agents.authenticate(agent_api_list_events.caller);
  subject text := coalesce(caller_agent, agent_api_list_events.agent_id);
begin
  if caller_agent <> agent_api_list_events.agent_id then
    raise sqlstate 'PT403' using message = 'forbidden';
  end if;
  return agents.events_page(
    subject, null, agent_api_list_events.types, null, agent_api_list_events.max_entries,
    agent_api_list_events.after, null,
    is_for_operator => false
  );
end
$$;
comment on function public.agent_api_list_events(jsonb, text, text[], integer, text) is
  'The events of these types that concern an agent (null, from the operator: all), oldest first, '
  'after the `latest` of an earlier answer; without one, the newest page. A page may be short or '
  'empty even if there are more events. Raises forbidden, invalid_request, position_expired.';

create function public.agent_api_find_events(
  max_entries integer,
  after text default null,
  since timestamptz default null,
  agent_id text default null,
  artifact_id text default null,
  types text[] default null,
  before text default null,
  until timestamptz default null
) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select agents.events_page(
    agent_api_find_events.agent_id, agent_api_find_events.artifact_id, agent_api_find_events.types,
    agent_api_find_events.since,
    agent_api_find_events.max_entries, agent_api_find_events.after, agent_api_find_events.before,
    is_for_operator => true,
    until => agent_api_find_events.until
  )
$$;
comment on function public.agent_api_find_events(
  integer, text, timestamptz, text, text, text[], text, timestamptz
) is
  'The event log for the operator: {events: [{event_id, type, at, actor_kind, actor | null, '
  'agent_id | null, …, other_agent_id, key_id, request_id, final}], latest, more, next | null, '
  'held | null, earlier | null, looked_at, looked_back_to | null}, oldest first. Fields after '
  'agent_id are present only if the event has them. agent_id: only events that concern this agent; '
  'artifact_id: only those about this artifact; types: only these, such as artifact.opened; since: '
  'none older; until: none newer. Without `after` and `since` it returns the newest page, and '
  '`earlier` is the `before` of the page of older events, null if there are no older ones. `next` '
  'is the `after` of the next page, null if no next page exists (`more` is false). An event with '
  '`final` false is beyond the horizon: older transactions may still add events before it, and no '
  'feed shows it yet; `held` is then what held_log returns. `latest` never lies beyond the '
  'horizon: continuing from there misses nothing, and repeats what was not final. A page may be '
  'short or empty before the next or the earlier one: it has looked at `looked_at` events of every '
  'type, the oldest from looked_back_to. Raises invalid_request, position_expired.';

-- schemas/changes/waits.sql

-- Requests that wait for something to happen. Once a second, a function's process asks which of its
-- waiting requests have news. Those requests then query their answer normally.

create function artifacts.has_new_grant(agent_id text, from_agent text, since pg_snapshot) returns boolean
language plpgsql
stable
set search_path = ''
-- For the same reason as in grant_ids_since.
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  return (
    with later as (
      select l.*
      from artifacts.grantees_of(has_new_grant.agent_id, has_new_grant.since) h
      cross join lateral (
        select g.from_agent, g.artifact_id, g.live_until,
          not pg_visible_in_snapshot(g.transaction_id, has_new_grant.since) as is_new
        from unnest(h.grantees) as e (grantee)
        cross join lateral (
          select g.from_agent, g.artifact_id, g.live_until, g.transaction_id
          from artifacts.grants g
          where g.grantee = e.grantee
            and g.transaction_id >= pg_snapshot_xmin(has_new_grant.since)
          order by g.grantee, g.transaction_id
          limit 1000
        ) g
        union all
        -- A tag that the agent got since then makes all live grants to that tag new.
        select g.from_agent, g.artifact_id, g.live_until, true
        from unnest(h.gained) as e (grantee)
        cross join lateral (
          select g.from_agent, g.artifact_id, g.live_until
          from artifacts.grants g
          where g.grantee = e.grantee and g.live_until > now()
          order by g.grantee, g.live_until
          limit 1000
        ) g
        union all
        -- Tasks that wait again.
        select g.from_agent, g.artifact_id, g.live_until,
          not pg_visible_in_snapshot(t.waits_again_since, has_new_grant.since)
        from unnest(artifacts.queues_of(has_new_grant.agent_id)) as q (queue)
        cross join lateral (
          select t.grant_id, t.waits_again_since
          from artifacts.tasks t
          where t.queue = q.queue
            and t.waits_again_since >= pg_snapshot_xmin(has_new_grant.since)
          order by t.queue, t.waits_again_since
          limit 1000
        ) t
        cross join lateral (
          select g.from_agent, g.artifact_id, g.live_until
          from artifacts.grants g
          where g.grant_id = t.grant_id
          limit 1
        ) g
      ) l
      limit 1000
    )
    select (select count(*) from later) = 1000 or exists (
      select
      from later g
      cross join lateral (
        select a.state, a.expires_at from artifacts.artifacts a where a.artifact_id = g.artifact_id limit 1
      ) a
      where g.is_new
        and g.from_agent = coalesce(has_new_grant.from_agent, g.from_agent)
        and g.live_until > now()
        and a.state in ('committed', 'superseded')
        and a.expires_at > now()
        and not artifacts.is_blocked(has_new_grant.agent_id, g.from_agent)
    )
  );
end
$$;
comment on function artifacts.has_new_grant(text, text, pg_snapshot) is
  'Whether an inbox shows a grant that it did not show in a snapshot, or one whose task waits again '
  'since. Also true once this has read 1000 grants, because a new one may follow them.';

create function mesh.has_other_version(agent_id text, version bigint) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return not exists (
    select
    from mesh.config_versions v
    where v.agent_id = has_other_version.agent_id
      and v.version = has_other_version.version
      and exists (select from mesh.peers p where p.agent_id = v.agent_id)
  );
end
$$;
comment on function mesh.has_other_version(text, bigint) is
  'Whether an agent''s configuration no longer has this version, or its peer is gone.';

create function agents.is_in_feeds(action text) returns boolean
language sql
immutable
return split_part(is_in_feeds.action, '.', 1) in ('artifact', 'grant', 'task', 'rule', 'peer', 'psk');
comment on function agents.is_in_feeds(text) is
  'Whether /events of one of the functions shows events of this type.';

create function agents.has_new_event(agent_id text, types text[], after text) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return (
    select
      count(*) = 1000
      or coalesce(
        bool_or(
          case
            when has_new_event.types is null then agents.is_in_feeds(e.action)
            else e.action = any (has_new_event.types)
          end
          and agents.is_shown(e, has_new_event.agent_id)
        ),
        false
      )
    from agents.events_after(
      has_new_event.agent_id,
      split_part(has_new_event.after, '.', 1)::xid8,
      split_part(has_new_event.after, '.', 2)::bigint,
      1000
    ) e
  );
end
$$;
comment on function agents.has_new_event(text, text[], text) is
  'Whether there is an event of these types (null: that a feed shows) for an agent (null: for any '
  'agent) after a position. Also true once this has read 1000 events of any type, because one of '
  'these types may follow them.';

-- Almost every wait has nothing new. The following two find that out in 10 to 60 microseconds. The
-- two above take 300 to 600. They return a table, because PostgreSQL inlines no other function with
-- a subquery.

create function artifacts.may_have_new_grant(agent_id text, since pg_snapshot)
returns table (is_possible boolean)
language sql
stable
begin atomic
  -- A transaction that the snapshot does not contain is at least as new as its oldest one.
  select exists (
      select from artifacts.grants g
      where g.grantee = may_have_new_grant.agent_id
        and g.transaction_id >= pg_snapshot_xmin(may_have_new_grant.since)
    )
    or exists (
      select from agents.agent_tags t
      where t.agent_id = may_have_new_grant.agent_id
        and (
          t.transaction_id >= pg_snapshot_xmin(may_have_new_grant.since)
          or exists (
            select from artifacts.grants g
            where g.grantee = artifacts.grantee(null, t.tag)
              and g.transaction_id >= pg_snapshot_xmin(may_have_new_grant.since)
          )
          or exists (
            select from artifacts.tasks k
            where k.queue = '#' || t.tag
              and k.waits_again_since >= pg_snapshot_xmin(may_have_new_grant.since)
          )
          or exists (
            select from artifacts.tasks k
            where k.queue = may_have_new_grant.agent_id || '#' || t.tag
              and k.waits_again_since >= pg_snapshot_xmin(may_have_new_grant.since)
          )
        )
    )
    or exists (
      select from artifacts.tasks k
      where k.queue = may_have_new_grant.agent_id
        and k.waits_again_since >= pg_snapshot_xmin(may_have_new_grant.since)
    );
end;
comment on function artifacts.may_have_new_grant(text, pg_snapshot) is
  'False only where has_new_grant is false.';

create function agents.may_have_new_event(agent_id text, place text)
returns table (is_possible boolean)
language sql
stable
begin atomic
  select may_have_new_event.agent_id is null
    or exists (
      select from agents.events e
      where e.subject_agent_id = may_have_new_event.agent_id
        and (e.transaction_id, e.event_id) > (a.transaction_id, a.event_id)
    )
    or exists (
      select from agents.events e
      where e.other_agent_id = may_have_new_event.agent_id
        and (e.transaction_id, e.event_id) > (a.transaction_id, a.event_id)
    )
    or exists (
      select from agents.events e
      where e.actor_agent_id = may_have_new_event.agent_id
        and e.actor_agent_id <> e.subject_agent_id
        and (e.transaction_id, e.event_id) > (a.transaction_id, a.event_id)
    )
  from (
    select
      split_part(may_have_new_event.place, '.', 1)::xid8 as transaction_id,
      split_part(may_have_new_event.place, '.', 2)::bigint as event_id
  ) a;
end;
comment on function agents.may_have_new_event(text, text) is
  'False only where has_new_event, of any types, is false.';

create function public.agent_api_find_changes(waits jsonb) returns json
language plpgsql
stable
security invoker
set search_path = ''
-- For each wait, a few index entries are looked for, and usually none is there. The planner would
-- read tables with few rows whole, once for each wait.
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  epoch constant text := agents.present_epoch();
  answer json;
begin
  with waiting as (
    select
      e.number - 1 as place,
      e.wait,
      e.wait ->> 'kind' as kind,
      -- A key or token that has ended counts as news, because the next answer is a refusal. So does
      -- a position of another epoch.
      e.wait -> 'caller' ->> 'kind' in ('agent', 'user') and c.agent_id is null
        or split_part(e.wait ->> 'after', '-', 1) <> epoch
        or split_part(e.wait ->> 'inbox_after', '-', 1) <> epoch
        or split_part(e.wait ->> 'events_after', '-', 1) <> epoch as is_over,
      split_part(
        case e.wait ->> 'kind' when 'inbox' then e.wait ->> 'after' else e.wait ->> 'inbox_after' end,
        '-', 2
      )::pg_snapshot as inbox_place,
      split_part(
        case e.wait ->> 'kind' when 'events' then e.wait ->> 'after' else e.wait ->> 'events_after' end,
        '-', 2
      ) as events_place,
      coalesce(c.agent_id, e.wait ->> 'agent_id') as agent_id
    from jsonb_array_elements(agent_api_find_changes.waits) with ordinality as e (wait, number)
    left join lateral (
      select k.agent_id
      from agents.keys k
      where k.key_hash = e.wait -> 'caller' ->> 'key_hash'
        and k.revoked_at is null
        and (k.expires_at is null or k.expires_at > now())
      limit 1
    ) k on true
    cross join lateral (
      select coalesce(k.agent_id, agents.agent_of_user(e.wait -> 'caller')) as agent_id
    ) c
  )
  select json_build_object(
    'changed', coalesce(json_agg(w.place), '[]'),
    'inbox_position', agents.position_at(agents.present_snapshot()::text),
    'events_position', agents.position_at(agents.horizon() || '.0')
  ) into answer
  from waiting w
  cross join lateral artifacts.may_have_new_grant(w.agent_id, w.inbox_place) g
  cross join lateral agents.may_have_new_event(w.agent_id, w.events_place) n
  where w.is_over
    or w.kind not in ('inbox', 'tasks', 'configuration', 'events', 'all')
    or w.kind = 'tasks' and artifacts.has_task(w.agent_id, w.wait ->> 'from_agent', w.wait ->> 'prefix')
    or w.wait ->> 'version' is not null
      and mesh.has_other_version(w.agent_id, (w.wait ->> 'version')::bigint)
    or w.inbox_place is not null
      and g.is_possible
      and artifacts.has_new_grant(w.agent_id, w.wait ->> 'from_agent', w.inbox_place)
    or w.events_place is not null
      and n.is_possible
      and agents.has_new_event(
        w.agent_id,
        case when w.kind = 'events' then array(select jsonb_array_elements_text(w.wait -> 'types')) end,
        w.events_place
      );
  return answer;
end
$$;
comment on function public.agent_api_find_changes(jsonb) is
  'Which of these waits have news, by their positions in the array, from 0: waits is [{kind: '
  '"inbox", caller, agent_id, from_agent, after}, {kind: "tasks", caller, agent_id, from_agent, '
  'prefix}, {kind: "configuration", caller, agent_id, '
  'version}, {kind: "events", caller, agent_id, types, after}, {kind: "all", caller, agent_id, '
  'version | null, inbox_after | null, events_after | null}]. The others continue from the '
  'positions in the answer. Authenticates nobody: each request with news queries its answer '
  'itself, with its own credential.';

-- schemas/changes/news.sql

-- What /wait answers: everything that an agent waits for, in one query.

create function agents.check_events_position(position_text text) returns void
language plpgsql
stable
strict
set search_path = ''
as $$
begin
  -- This position is from the future: the database was restored, and the operator has not begun a
  -- new epoch yet.
  if
    split_part(agents.place_of(check_events_position.position_text, 'after'), '.', 1)::xid8
      > pg_snapshot_xmax(agents.present_snapshot())
  then
    perform agents.expire_position('after');
  end if;
end
$$;
comment on function agents.check_events_position(text) is
  'Raises position_expired for a position in the events from before a restore.';

create function agents.check_positions(inbox_after text, events_after text) returns void
language plpgsql
stable
set search_path = ''
as $$
declare
  field text;
  refusal text;
begin
  field := 'inbox_after';
  perform artifacts.parse_inbox_position(check_positions.inbox_after);
  field := 'events_after';
  perform agents.check_events_position(check_positions.events_after);
exception when sqlstate 'PT422' then
  -- The checks call each field `after`. The refusal must contain the field's name in /wait.
  get stacked diagnostics refusal = pg_exception_detail;
  raise sqlstate 'PT422' using
    message = sqlerrm,
    detail = replace(refusal, '"after"', format('"%s"', field));
end
$$;
comment on function agents.check_positions(text, text) is
  'Refuses a position that no answer contained, or that has expired, and names its field in /wait. '
  'Raises invalid_request, position_expired.';

create function agents.find_news(agent_id text, inbox_after text, events_after text) returns jsonb
language plpgsql
stable
set search_path = ''
as $$
begin
  -- A position advances only if there is nothing new after it. So reading from it never misses
  -- anything.
  return (
    select jsonb_strip_nulls(jsonb_build_object(
      'inbox', case when find_news.inbox_after is not null then jsonb_build_object(
        'latest', case
          when i.changed then find_news.inbox_after
          else agents.position_at(agents.present_snapshot()::text)
        end,
        'changed', i.changed
      ) end,
      'events', case when find_news.events_after is not null then jsonb_build_object(
        'latest', case
          when e.changed then find_news.events_after
          else agents.position_at(agents.horizon() || '.0')
        end,
        'changed', e.changed
      ) end
    ))
    from (
      select find_news.inbox_after is not null
        and artifacts.has_new_grant(
          find_news.agent_id, null, agents.place_of(find_news.inbox_after, 'inbox_after')::pg_snapshot
        ) as changed
      -- `offset 0` keeps the planner from evaluating `changed` once for each reference to it.
      offset 0
    ) i
    cross join (
      select find_news.events_after is not null
        and agents.has_new_event(
          find_news.agent_id, null, agents.place_of(find_news.events_after, 'events_after')
        ) as changed
      offset 0
    ) e
  );
end
$$;
comment on function agents.find_news(text, text, text) is
  'What is new for an agent after each position that is given: {inbox?: {latest, changed}, '
  'events?: {latest, changed}}. Raises position_expired.';

create function public.agent_api_begin_wait(
  caller jsonb,
  agent_id text,
  config_version bigint,
  inbox_after text,
  events_after text,
  wait_seconds integer,
  paths jsonb default null,
  rendering_revision integer default null
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  subject text;
  paths_reported_at timestamptz;
  heartbeat json;
begin
  subject := agents.require_self(agents.admit(agent_api_begin_wait.caller), agent_api_begin_wait.agent_id);
  perform agents.check_positions(agent_api_begin_wait.inbox_after, agent_api_begin_wait.events_after);
  if agent_api_begin_wait.paths is not null then
    paths_reported_at := mesh.note_paths(subject, agent_api_begin_wait.paths);
  end if;
  heartbeat := mesh.note_sign_of_life(
    subject, agent_api_begin_wait.config_version, agent_api_begin_wait.rendering_revision,
    agent_api_begin_wait.wait_seconds, paths_reported_at, null
  );
  return jsonb_build_object('config_version', heartbeat -> 'config_version')
    || agents.find_news(subject, agent_api_begin_wait.inbox_after, agent_api_begin_wait.events_after);
end
$$;
comment on function public.agent_api_begin_wait(jsonb, text, bigint, text, text, integer, jsonb, integer) is
  'Records the heartbeat of an agent that has a peer, as agent_api_record_heartbeat does, and '
  'returns what is new after each position that is given: {config_version | null, inbox?: {latest, '
  'changed}, events?: {latest, changed}}. Without a peer, config_version is null. Raises '
  'forbidden, invalid_request, position_expired.';

create function public.agent_api_read_news(
  caller jsonb, agent_id text, inbox_after text, events_after text
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  subject text := agents.subject_of(agent_api_read_news.caller, agent_api_read_news.agent_id);
begin
  return jsonb_build_object('config_version', (
    select v.version
    from mesh.config_versions v
    where v.agent_id = subject and exists (select from mesh.peers p where p.agent_id = subject)
  )) || agents.find_news(subject, agent_api_read_news.inbox_after, agent_api_read_news.events_after);
end
$$;
comment on function public.agent_api_read_news(jsonb, text, text, text) is
  'What agent_api_begin_wait returns, read after a wait: a heartbeat counts when it arrives. '
  'Raises forbidden, position_expired.';

-- schemas/changes/settling.sql

-- What the sweep does to the event log: it writes the events of reads and changes that were only
-- counted, and deletes old events.

create function agents.tell_reads(settled agents.reads) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  if settled.untold_reads > 0 then
    perform agents.record_event(
      jsonb_build_object(
        'kind', settled.actor_kind,
        'user_id', nullif(settled.user_id, ''),
        'key_id', nullif(settled.key_id, '')
      ),
      nullif(settled.reader, ''),
      settled.action,
      settled.subject_agent_id,
      settled.object_id,
      settled.details || jsonb_build_object(
        'reads', settled.untold_reads,
        'last_read_at', agents.iso_timestamp(settled.last_read_at)
      ),
      settled.other_agent_id
    );
  end if;
  if settled.action = 'artifact.fetched' then
    perform artifacts.settle_downloads(settled.object_id, settled.reads);
  end if;
end
$$;
comment on function agents.tell_reads(agents.reads) is
  'Writes the event of counted reads that no event has reported. For a row that was just deleted.';

create function public.agent_api_settle_reads(caller jsonb, max_entries integer) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  settled agents.reads;
  remaining integer;
begin
  perform agents.authenticate_operator(agent_api_settle_reads.caller);

  for settled in
    delete from agents.reads r
    -- Found by ctid, which cannot change while the row is locked.
    where r.ctid = any (array(
      select d.ctid
      from agents.reads d
      where d.told_at <= now() - interval '1 minute'
      order by d.told_at
      limit agent_api_settle_reads.max_entries
      for update skip locked
    ))
    returning r.*
  loop
    perform agents.tell_reads(settled);
  end loop;

  select count(*) into remaining
  from (
    select from agents.reads r
    where r.told_at <= now() - interval '1 minute'
    order by r.told_at
    limit 1000
  ) later;
  return json_build_object('remaining', remaining);
end
$$;
comment on function public.agent_api_settle_reads(jsonb, integer) is
  'Writes the events of counted reads that no event has reported, once their minute has passed, '
  'and deletes their rows. Returns {remaining}, which counts at most a thousand. Raises forbidden '
  'for an agent.';

create function public.agent_api_settle_changes(caller jsonb, max_entries integer) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  due agents.repeated_changes;
  remaining integer;
begin
  perform agents.authenticate_operator(agent_api_settle_changes.caller);

  for due in
    select c.*
    from agents.repeated_changes c
    where c.due_at <= now()
    order by c.due_at
    limit agent_api_settle_changes.max_entries
    for update skip locked
  loop
    if due.untold = 0 then
      delete from agents.repeated_changes c where agents.is_same_thing(c, due);
    else
      update agents.repeated_changes c
      set told_at = now(), told_times = c.untold, untold = 0, due_at = now() + interval '1 hour'
      where agents.is_same_thing(c, due)
      returning c.* into due;
      perform agents.record_repeated(
        due, null, jsonb_build_object('last_at', agents.iso_timestamp(due.last_at))
      );
    end if;
  end loop;

  select count(*) into remaining
  from (
    select from agents.repeated_changes c where c.due_at <= now() order by c.due_at limit 1000
  ) later;
  return json_build_object('remaining', remaining);
end
$$;
comment on function public.agent_api_settle_changes(jsonb, integer) is
  'Writes the events of counted changes that no event has reported, once their minute has passed, '
  'with the time of the last change as last_at. Deletes rows of things that were not changed '
  'again within an hour. Returns {remaining}, which counts at most a thousand. Raises forbidden '
  'for an agent.';

create function public.agent_api_forget_events(
  caller jsonb,
  retention_days integer,
  max_entries integer
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  kept_since timestamptz := now() - make_interval(days => agent_api_forget_events.retention_days);
  last_looked_at bigint;
  forgotten integer;
  first_id bigint;
  last_id bigint;
  remaining integer := 0;
begin
  perform agents.authenticate_operator(agent_api_forget_events.caller);
  if agent_api_forget_events.retention_days < 30 then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "retention_days", "message": "Must be at least 30."}]}';
  end if;
  -- Two concurrent calls would count the same rows.
  perform pg_advisory_xact_lock(hashtextextended('forget events', 0));

  select max(e.event_id), count(*) filter (where e.is_over), min(e.event_id) filter (where e.is_over),
    max(e.event_id) filter (where e.is_over)
  into last_looked_at, forgotten, first_id, last_id
  from (
    select o.event_id, o.occurred_at < kept_since as is_over
    from agents.events o
    order by o.event_id
    limit agent_api_forget_events.max_entries
  ) e;

  if forgotten > 0 then
    perform agents.record_event(
      agent_api_forget_events.caller, null, 'events.forgotten', null, null,
      jsonb_build_object(
        'removed', forgotten,
        'first_event_id', first_id,
        'last_event_id', last_id,
        'kept_since', agents.iso_timestamp(kept_since)
      )
    );
    delete from agents.events e
    where e.event_id between first_id and last_id and e.occurred_at < kept_since;
  end if;

  -- Old events behind younger ones, as after a clock that was wrong, wait until these are old, too:
  -- another call would look at the same entries again.
  if forgotten > 0 then
    select count(*) into remaining
    from (
      select e.occurred_at from agents.events e where e.event_id > last_looked_at order by e.event_id limit 1000
    ) later
    where later.occurred_at < kept_since;
  end if;
  return json_build_object('forgotten', forgotten, 'remaining', remaining);
end
$$;
comment on function public.agent_api_forget_events(jsonb, integer, integer) is
  'Deletes events older than the given number of days, at least 30, among the max_entries oldest, '
  'and writes one event that says which. Returns {forgotten, remaining}, where remaining counts '
  'at most a thousand. Raises forbidden for an agent, invalid_request.';

-- schemas/operator/agent_limits.sql

-- The operator sets limits of single agents.

create function public.agent_api_set_agent_quota(agent_id text, quota_bytes bigint) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
  if not agents.is_agent_id(agent_api_set_agent_quota.agent_id) or agent_api_set_agent_quota.quota_bytes < 0 then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "quota_bytes", "message": "Must be an agent and a number of bytes, at least 0."}]}';
  end if;
  if agent_api_set_agent_quota.quota_bytes is null then
    delete from artifacts.agent_limits l where l.agent_id = agent_api_set_agent_quota.agent_id;
  else
    insert into artifacts.agent_limits as l (agent_id, quota_bytes)
    values (agent_api_set_agent_quota.agent_id, agent_api_set_agent_quota.quota_bytes)
    on conflict on constraint agent_limits_pkey do update set quota_bytes = excluded.quota_bytes;
  end if;
  perform agents.record_event(
    '{"kind": "operator"}', null, 'agent.limited', agent_api_set_agent_quota.agent_id, null,
    jsonb_build_object('quota_bytes', agent_api_set_agent_quota.quota_bytes)
  );
  return json_build_object('agent_id', agent_api_set_agent_quota.agent_id, 'quota_bytes', agent_api_set_agent_quota.quota_bytes);
end
$$;
comment on function public.agent_api_set_agent_quota(text, bigint) is
  'Sets how many bytes an agent''s files may have together (0: any number; null: the project''s '
  'setting applies). Existing files stay. Raises invalid_request.';

-- schemas/operator/tags.sql

-- Changing the tags of agents.

create function agents.replace_tags(
  caller jsonb,
  agent_id text,
  tags text[],
  enrolment_id text default null
) returns text[]
language plpgsql
volatile
set search_path = ''
as $$
declare
  max_tags constant integer := 32;
  tags_before constant text[] := agents.tags_of(replace_tags.agent_id);
  tags_after text[];
  added text[];
  removed text[];
begin
  delete from agents.agent_tags t
  where t.agent_id = replace_tags.agent_id
    and t.tag <> all (replace_tags.tags)
    -- An enrolment removes only tags that it gave; the operator removes any.
    and (replace_tags.enrolment_id is null or t.enrolment_id = replace_tags.enrolment_id);
  insert into agents.agent_tags (agent_id, tag, enrolment_id)
  select distinct replace_tags.agent_id, g.tag, replace_tags.enrolment_id
  from unnest(replace_tags.tags) as g (tag)
  on conflict do nothing;

  tags_after := agents.tags_of(replace_tags.agent_id);
  if cardinality(tags_after) > max_tags then
    raise sqlstate 'PT409' using
      message = 'limit_exceeded',
      detail = json_build_object('limit', 'tags', 'maximum', max_tags);
  end if;
  added := array(
    select a from unnest(tags_after) a where a <> all (tags_before) order by a collate "C"
  );
  removed := array(
    select b from unnest(tags_before) b where b <> all (tags_after) order by b collate "C"
  );
  if cardinality(added || removed) > 0 then
    perform agents.record_event(
      replace_tags.caller, null, 'agent.tagged', replace_tags.agent_id, null,
      jsonb_build_object('tags', tags_after, 'added', added, 'removed', removed)
    );
    perform mesh.follow_tags(replace_tags.caller, replace_tags.agent_id, added || removed);
  end if;
  return tags_after;
end
$$;
comment on function agents.replace_tags(jsonb, text, text[], text) is
  'Makes these the tags of an agent, and returns the tags that it has now. With enrolment_id, '
  'replaces only the tags that came from that enrolment. The agent''s rules of the policy change '
  'accordingly. Call it under end_access(agent_id). If the mesh is locked before, also call '
  'enter_policy before that. Raises limit_exceeded.';

create function agents.refuse_wrong_tags(agent_id text, tags text[]) returns void
language plpgsql
stable
set search_path = ''
as $$
begin
  if agents.is_agent_id(refuse_wrong_tags.agent_id) is not true then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_id", "message": "Must be 1 to 128 of A-Z a-z 0-9 . _ : @ - and begin with a letter or digit."}]}';
  end if;
  if refuse_wrong_tags.tags is null or exists (
    select
    from unnest(refuse_wrong_tags.tags) as g (tag)
    where agents.is_tag(g.tag) is not true
  ) then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "tags", "message": "Each must be tag: and 1 to 63 of a-z 0-9 - that begin with a letter or digit."}]}';
  end if;
end
$$;
comment on function agents.refuse_wrong_tags(text, text[]) is
  'Raises invalid_request unless these are an agent''s name and tags.';

create function public.agent_api_count_tag_losses(agent_id text, tags text[]) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  max_counted constant integer := 10000;
  tags_before constant text[] := agents.tags_of(agent_api_count_tag_losses.agent_id);
  changed text[];
  removed text[];
begin
  perform agents.refuse_wrong_tags(agent_api_count_tag_losses.agent_id, agent_api_count_tag_losses.tags);
  removed := array(
    select b from unnest(tags_before) b where b <> all (agent_api_count_tag_losses.tags) order by b collate "C"
  );
  changed := removed || array(select a from unnest(agent_api_count_tag_losses.tags) a where a <> all (tags_before));
  return json_build_object(
    'tags', removed,
    'rules', (
      select count(*)
      from unnest(
        case
          when mesh.policy_names(changed)
          then mesh.policy_changes_of(agent_api_count_tag_losses.agent_id, agent_api_count_tag_losses.tags)
        end
      ) as c
      where not c.is_added
    ),
    'grants', (
      select count(*)
      from (
        select
        from unnest(removed) as r (tag)
        join artifacts.grants g on g.grantee = artifacts.grantee(null, r.tag)
        where g.live_until > now()
        limit max_counted
      ) g
    )
  );
end
$$;
comment on function public.agent_api_count_tag_losses(text, text[]) is
  'What an agent loses if these become its tags: {tags, rules, grants}. tags: the tags that it '
  'loses; rules: how many rules of the policy it loses; grants: how many live grants are to a tag '
  'that it loses, at most 10,000. Raises invalid_request.';

create function public.agent_api_set_agent_tags(agent_id text, tags text[]) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
  perform agents.refuse_wrong_tags(agent_api_set_agent_tags.agent_id, agent_api_set_agent_tags.tags);
  perform agents.end_access(agent_api_set_agent_tags.agent_id);
  return json_build_object(
    'agent_id', agent_api_set_agent_tags.agent_id,
    'tags', agents.replace_tags(
      '{"kind": "operator"}', agent_api_set_agent_tags.agent_id, agent_api_set_agent_tags.tags
    )
  );
end
$$;
comment on function public.agent_api_set_agent_tags(text, text[]) is
  'Replaces the tags of an agent: {agent_id, tags}. Its next enrolment gives it the enrolment''s '
  'tags again. Raises invalid_request, limit_exceeded.';

-- schemas/operator/removals.sql

-- Removing an agent: ends everything that gives it access, or by which it gives access.

create function agents.end_grants_named(live_ids text[]) returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
  revoked_count integer;
begin
  -- Lock artifacts first, as in every function that ends several grants of one artifact.
  perform from artifacts.artifacts a
  where a.artifact_id in (select g.artifact_id from artifacts.grants g where g.grant_id = any (live_ids))
  order by a.artifact_id
  for update;

  with revoked as (
    update artifacts.grants g
    set revoked_at = clock_timestamp()
    where g.grant_id = any (live_ids) and g.live_until > clock_timestamp()
    returning g.*
  ), recorded as (
    select agents.record_event(
      '{"kind": "operator"}', null, 'grant.revoked', r.to_agent, r.grant_id,
      jsonb_build_object(
        'artifact_id', r.artifact_id,
        'key', (select a.key from artifacts.artifacts a where a.artifact_id = r.artifact_id)
      ) || artifacts.tag_of_grant(r),
      r.from_agent
    )
    from revoked r
  )
  select count(*) into revoked_count from recorded;
  return revoked_count;
end
$$;
comment on function agents.end_grants_named(text[]) is
  'Ends these grants; returns how many were live.';

create function agents.end_grants(agent_id text, max_entries integer) returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
  checked_at timestamptz := clock_timestamp();
  live_ids text[];
begin
  -- In the order of an index, so that this reads only the grants that it ends.
  live_ids := array(
    (
      select g.grant_id
      from artifacts.grants g
      where g.grantee = end_grants.agent_id and g.live_until > checked_at
      order by g.grantee, g.live_until
      limit end_grants.max_entries
    )
    union
    (
      select g.grant_id
      from artifacts.grants g
      where g.from_agent = end_grants.agent_id and g.live_until > checked_at
      order by g.from_agent, g.live_until
      limit end_grants.max_entries
    )
    limit end_grants.max_entries
  );
  return agents.end_grants_named(live_ids);
end
$$;
comment on function agents.end_grants(text, integer) is
  'Ends up to max_entries live grants from and to an agent; returns how many.';

create function agents.end_artifacts(agent_id text, only_pending boolean, max_entries integer) returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
  held_ids text[];
  deleted_ids text[];
  deleted_id text;
begin
  -- Artifacts without expires_at are pending. In the order of an index, so that this reads only the
  -- artifacts that it ends.
  if end_artifacts.only_pending then
    held_ids := array(
      select a.artifact_id
      from artifacts.artifacts a
      where a.agent_id = end_artifacts.agent_id
        and a.expires_at is null
        and a.state <> 'deleted'
        and a.ended_at is null
      order by a.agent_id, a.expires_at
      limit end_artifacts.max_entries
    );
  else
    held_ids := array(
      select a.artifact_id
      from artifacts.artifacts a
      where a.agent_id = end_artifacts.agent_id and a.state <> 'deleted' and a.ended_at is null
      order by a.agent_id, a.expires_at
      limit end_artifacts.max_entries
    );
  end if;
  perform from artifacts.artifacts a
  where a.artifact_id = any (held_ids)
  order by a.artifact_id
  for update;

  with deleted as (
    update artifacts.artifacts a
    set state = 'deleted', deleted_at = clock_timestamp()
    where a.artifact_id = any (held_ids)
      and a.state <> 'deleted'
      and a.ended_at is null
      and (a.state = 'pending' or not end_artifacts.only_pending)
    returning a.*
  ), recorded as (
    select d.artifact_id, agents.record_event(
      '{"kind": "operator"}', null, 'artifact.deleted', d.agent_id, d.artifact_id,
      jsonb_build_object('key', d.key)
    )
    from deleted d
  )
  select coalesce(array_agg(r.artifact_id), '{}') into deleted_ids from recorded r;
  -- A running commit loses its lease, so it can give no verdict. One index lookup per artifact.
  foreach deleted_id in array deleted_ids loop
    delete from artifacts.verifications v where v.artifact_id = deleted_id;
  end loop;
  return cardinality(deleted_ids);
end
$$;
comment on function agents.end_artifacts(text, boolean, integer) is
  'Deletes up to max_entries artifacts of an agent, as /delete does, or only the pending ones; '
  'returns how many.';

create function public.agent_api_remove_agent(
  agent_id text,
  keep_artifacts boolean default false,
  max_entries integer default 2000
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  operator constant jsonb := jsonb_build_object('kind', 'operator');
  is_newly_removed boolean;
  revoked_keys integer;
  peer_removed boolean;
  revoked_grants integer;
  deleted_artifacts integer;
  released_tasks integer;
  ended_standing integer;
begin
  perform agents.end_access(agent_api_remove_agent.agent_id);
  perform mesh.enter_policy(agents.tags_of(agent_api_remove_agent.agent_id));
  insert into agents.removed_agents (agent_id) values (agent_api_remove_agent.agent_id) on conflict do nothing;
  is_newly_removed := found;
  revoked_keys := (public.agent_api_revoke_agent_keys(agent_api_remove_agent.agent_id) ->> 'revoked')::integer;
  update agents.enrolled_agents a
  set ended_at = clock_timestamp()
  where a.agent_id = agent_api_remove_agent.agent_id and a.ended_at is null;
  peer_removed := (public.agent_api_remove_peer(operator, agent_api_remove_agent.agent_id) ->> 'removed')::boolean;
  -- The grants may belong to artifacts of many agents.
  perform artifacts.lock_sweep();
  ended_standing := artifacts.end_standing_of(
    agent_api_remove_agent.agent_id, agent_api_remove_agent.max_entries
  );
  revoked_grants := agents.end_grants(agent_api_remove_agent.agent_id, agent_api_remove_agent.max_entries);
  deleted_artifacts := agents.end_artifacts(
    agent_api_remove_agent.agent_id, agent_api_remove_agent.keep_artifacts,
    agent_api_remove_agent.max_entries
  );
  released_tasks := artifacts.release_tasks(agent_api_remove_agent.agent_id, agent_api_remove_agent.max_entries);
  delete from artifacts.blocked_senders b where b.agent_id = agent_api_remove_agent.agent_id;
  perform agents.replace_tags(operator, agent_api_remove_agent.agent_id, '{}');
  delete from artifacts.agent_limits l where l.agent_id = agent_api_remove_agent.agent_id;
  delete from agents.changed_things t where t.actor = agent_api_remove_agent.agent_id;

  if is_newly_removed or peer_removed or revoked_keys + revoked_grants + deleted_artifacts + ended_standing > 0 then
    perform agents.record_event(
      operator, null, 'agent.removed', agent_api_remove_agent.agent_id, null,
      jsonb_build_object('keep_artifacts', agent_api_remove_agent.keep_artifacts)
    );
  end if;
  return json_build_object(
    'agent_id', agent_api_remove_agent.agent_id,
    'keys', revoked_keys,
    'peer', peer_removed,
    'grants', revoked_grants,
    'artifacts', deleted_artifacts,
    'remaining',
    greatest(revoked_grants, deleted_artifacts, released_tasks, ended_standing)
      >= agent_api_remove_agent.max_entries
  );
end
$$;
comment on function public.agent_api_remove_agent(text, boolean, integer) is
  'Ends, in one transaction, an agent''s keys, its peer with rules, requests and PSKs, the grants '
  'from and to it, its pending uploads and, unless they are kept, its artifacts. What it has taken '
  'waits for other agents again. Users who are '
  'that agent are refused from then on, until agent_api_readmit_agent. Ends at most max_entries '
  'grants, as many artifacts and as many tasks, so that no agent holds too much for one call: '
  'while remaining is true, call it again. Returns how many of each it ended. Idempotent.';

-- schemas/operator/traces.sql

-- What the operator traces: which artifacts a name (`key`) stood for, and what is left of each.

create function agents.artifact_of_name(event agents.events) returns jsonb
language sql
stable
set search_path = ''
as $$
  select jsonb_build_object(
    'artifact_id', (artifact_of_name.event).object_id,
    'agent_id', (artifact_of_name.event).subject_agent_id,
    'key', (artifact_of_name.event).details ->> 'key',
    'registered_at', agents.iso_timestamp((artifact_of_name.event).occurred_at)
  )
$$;
comment on function agents.artifact_of_name(agents.events) is
  'Which artifact was registered by an event.';

create function public.agent_api_find_artifacts_named(name text, max_entries integer, agent_id text default null)
returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select json_build_object(
    'found', coalesce(json_agg(agents.artifact_of_name(n.event) order by (n.event).event_id), '[]')
  )
  from (
    select e as event
    from agents.events e
    where e.action = 'artifact.registered'
      and (e.details ->> 'key') collate "C" = agent_api_find_artifacts_named.name
      and e.subject_agent_id = coalesce(agent_api_find_artifacts_named.agent_id, e.subject_agent_id)
    order by (e.details ->> 'key') collate "C" desc, e.event_id desc
    limit agent_api_find_artifacts_named.max_entries
  ) n
$$;
comment on function public.agent_api_find_artifacts_named(text, integer, text) is
  'The newest artifacts that were registered under a name (`key`), by any agent (null) or by this '
  'one, as the log of events has it, oldest first: {found: [{artifact_id, agent_id, key, '
  'registered_at}]}.';

create function public.agent_api_read_artifact(artifact_id text) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select artifacts.artifact_json(a)::jsonb || jsonb_build_object(
    'state', case
      when a.state = 'deleted' then 'deleted'
      when a.ended_at is not null and a.state = 'pending' then 'abandoned'
      when a.ended_at is not null or a.expires_at <= now() then 'expired'
      else a.state
    end,
    'deleted_at', agents.iso_timestamp(a.deleted_at),
    'ended_at', agents.iso_timestamp(a.ended_at),
    'removed_at', agents.iso_timestamp(a.removed_at),
    'live_grants', (select count(*) from artifacts.live_grants(a.artifact_id, now()))
  )
  from artifacts.artifacts a
  where a.artifact_id = agent_api_read_artifact.artifact_id
$$;
comment on function public.agent_api_read_artifact(text) is
  'An artifact, or its tombstone, as the operator sees it: the artifact object, where `state` may '
  'also be expired or abandoned, and {deleted_at | null, ended_at | null, removed_at | null, '
  'live_grants}; null: there is no row. removed_at is when its bytes were found to be gone.';

create function public.agent_api_find_artifact_of_grant(grant_id text) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select to_json(g.artifact_id) from artifacts.grants g where g.grant_id = agent_api_find_artifact_of_grant.grant_id
$$;
comment on function public.agent_api_find_artifact_of_grant(text) is
  'The artifact_id of a grant, live or ended; null: it has no row.';

create function public.agent_api_find_agent_of_key(key_id text) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select to_json(k.agent_id) from agents.keys k where k.key_id = agent_api_find_agent_of_key.key_id
$$;
comment on function public.agent_api_find_agent_of_key(text) is
  'The agent_id of an agent key, live or revoked; null: there is no such agent key.';

-- schemas/operator/mesh.sql

-- The mesh as the operator sees it: every peer and every rule.

create function mesh.rule_counts_of(agent_id text, out active_rules bigint, out requests bigint)
language sql
stable
set search_path = ''
-- The planner expects few rules per agent, and would otherwise read and sort all of them.
set enable_bitmapscan = off
set enable_sort = off
as $$
  select count(*) filter (where r.active), count(*) filter (where not r.active)
  from (
    (
      select r.active from mesh.rules r
      where r.from_agent = rule_counts_of.agent_id
      order by r.from_agent, r.to_agent, r.proto, r.port
      limit 1000
    )
    union all
    (
      select r.active from mesh.rules r
      where r.to_agent = rule_counts_of.agent_id
      order by r.to_agent, r.from_agent, r.proto, r.port
      limit 1000
    )
  ) r
$$;
comment on function mesh.rule_counts_of(text) is
  'How many active rules name an agent, and how many requests do. Counts the first thousand from '
  'the agent and the first thousand to it.';

create function mesh.describe_peers(agent_ids text[], online_seconds integer, rendering_revision integer)
returns table (agent_id text, described jsonb)
language sql
stable
set search_path = ''
as $$
  select p.agent_id, jsonb_build_object(
    'agent_id', p.agent_id,
    'pubkey', p.pubkey,
    'endpoint', p.endpoint,
    'addresses', jsonb_build_array(host(a.ipv4), host(a.ipv6)),
    'registered_at', agents.iso_timestamp(p.registered_at),
    'last_seen', agents.iso_timestamp(l.last_seen),
    'online', mesh.is_online(l, describe_peers.online_seconds),
    'config_version', v.version + describe_peers.rendering_revision,
    'config_version_applied', l.config_version_applied,
    'lags', mesh.lags(l, v.version, describe_peers.rendering_revision),
    'active_rules', c.active_rules,
    'requests', c.requests
  )
  from unnest(describe_peers.agent_ids) as named (agent_id)
  -- One lookup in each index per peer.
  cross join lateral (select * from mesh.peers p where p.agent_id = named.agent_id limit 1) p
  cross join lateral (
    select a.ipv4, a.ipv6 from mesh.address_leases a where a.agent_id = p.agent_id limit 1
  ) a
  cross join lateral (select * from mesh.liveness l where l.agent_id = p.agent_id limit 1) l
  cross join lateral (
    select v.version from mesh.config_versions v where v.agent_id = p.agent_id limit 1
  ) v
  cross join lateral mesh.rule_counts_of(p.agent_id) c
$$;
comment on function mesh.describe_peers(text[], integer, integer) is
  'The peers of those agents that have one, in the form of agent_api_list_peers.';

create function public.agent_api_list_peers(
  max_entries integer,
  after text default '',
  agent_id text default null,
  online_seconds integer default 90,
  rendering_revision integer default 0,
  tag text default null
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  names text[];
begin
  if agent_api_list_peers.tag is not null then
    -- A page of agents with the tag. Perhaps few of them have a peer, so the page may be short.
    names := array(
      select t.agent_id
      from agents.agent_tags t
      where t.tag = agent_api_list_peers.tag and t.agent_id > agent_api_list_peers.after
      order by t.agent_id
      limit agent_api_list_peers.max_entries
    );
  elsif agent_api_list_peers.agent_id is null then
    names := array(
      select p.agent_id
      from mesh.peers p
      where p.agent_id > agent_api_list_peers.after
      order by p.agent_id
      limit agent_api_list_peers.max_entries
    );
  else
    -- A neighbour may have no peer.
    names := array(
      select n.agent_id
      from unnest(mesh.with_neighbours(agent_api_list_peers.agent_id)) as n (agent_id)
      where n.agent_id collate "C" > agent_api_list_peers.after
      order by n.agent_id collate "C"
      limit agent_api_list_peers.max_entries
    );
  end if;
  return json_build_object(
    'found', (
      select coalesce(json_agg(d.described order by d.agent_id collate "C"), '[]')
      from mesh.describe_peers(names, agent_api_list_peers.online_seconds, agent_api_list_peers.rendering_revision) d
    ),
    'next',
    case when cardinality(names) = agent_api_list_peers.max_entries then names[cardinality(names)] end
  );
end
$$;
comment on function public.agent_api_list_peers(integer, text, text, integer, integer, text) is
  'The peers after the given agent, in byte order: {found: [{agent_id, pubkey, endpoint | null, '
  'addresses, registered_at, last_seen | null, online, config_version, config_version_applied | '
  'null, lags | null, active_rules, requests}], next: where the next page begins | null}. '
  'config_version is the current one; lags is null if the peer never reported what it runs. '
  'agent_id: this agent and those that share an active rule with it. tag: only peers whose agents '
  'have it; a page may be short or empty before the last. rendering_revision is that of the '
  'functions, as in agent_api_read_netmap. Rules are counted up to a thousand per side.';

create function mesh.rule_position(rule mesh.rules) returns text
language sql
stable
return rule.from_agent || ' ' || rule.to_agent || ' ' || rule.proto || ' ' || rule.port;
comment on function mesh.rule_position(mesh.rules) is 'Where the page after this rule begins.';

create function public.agent_api_list_mesh_rules(
  max_entries integer,
  after text default '',
  agent_id text default null
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  after_from constant text collate "C" := split_part(agent_api_list_mesh_rules.after, ' ', 1);
  after_to constant text collate "C" := split_part(agent_api_list_mesh_rules.after, ' ', 2);
  after_proto constant text collate "C" := split_part(agent_api_list_mesh_rules.after, ' ', 3);
  after_port constant integer := coalesce(nullif(split_part(agent_api_list_mesh_rules.after, ' ', 4), ''), '0')::integer;
  subject constant text collate "C" := agent_api_list_mesh_rules.agent_id;
  page mesh.rules[];
begin
  if subject is null then
    page := array(
      select r
      from mesh.rules r
      where (r.from_agent, r.to_agent, r.proto, r.port) > (after_from, after_to, after_proto, after_port)
      order by r.from_agent, r.to_agent, r.proto, r.port
      limit agent_api_list_mesh_rules.max_entries
    );
  else
    page := array(
      select r
      from (
        (
          select r
          from mesh.rules r
          where r.from_agent = subject
            and (r.from_agent, r.to_agent, r.proto, r.port) > (after_from, after_to, after_proto, after_port)
          order by r.from_agent, r.to_agent, r.proto, r.port
          limit agent_api_list_mesh_rules.max_entries
        )
        union all
        (
          select r
          from mesh.rules r
          where r.to_agent = subject
            -- The same condition, for the index by to_agent. The rules from after_from to subject
            -- are before the position if subject < after_to, and after it if subject > after_to. If
            -- these are equal, proto and port decide.
            and (r.from_agent, r.proto, r.port) > (
              after_from,
              case when subject < after_to then '~' when subject = after_to then after_proto else '' end,
              after_port
            )
          order by r.to_agent, r.from_agent, r.proto, r.port
          limit agent_api_list_mesh_rules.max_entries
        )
      ) as of_subject (r)
      order by (r).from_agent, (r).to_agent, (r).proto, (r).port
      limit agent_api_list_mesh_rules.max_entries
    );
  end if;
  return json_build_object(
    'found', (
      select coalesce(
        json_agg(
          json_build_object(
            'from_agent', r.from_agent, 'to_agent', r.to_agent, 'port', r.port, 'proto', r.proto,
            'active', r.active, 'waiting_for', mesh.waiting_for(r), 'origin', r.origin
          )
          order by r.from_agent, r.to_agent, r.proto, r.port
        ),
        '[]'
      )
      from unnest(page) r
    ),
    'next', case
      when cardinality(page) = agent_api_list_mesh_rules.max_entries
        then mesh.rule_position(page[cardinality(page)])
    end
  );
end
$$;
comment on function public.agent_api_list_mesh_rules(integer, text, text) is
  'The rules and requests of the mesh, or those that name one agent, in byte order of from_agent, '
  'to_agent and proto, then by port: {found: [{from_agent, to_agent, port, proto, active, '
  'waiting_for | null, origin: policy | agents}], next: where the next page begins | null}.';

-- schemas/operator/mesh_check.sql

-- Faults in the mesh, which `agentops mesh check` prints.

create function mesh.find_faults(
  agent_id text,
  version bigint,
  online_seconds integer,
  rendering_revision integer
) returns setof jsonb
language plpgsql
stable
set search_path = ''
as $$
declare
  peer mesh.peers;
  liveness mesh.liveness;
  other text;
  origin text;
begin
  select p.* into peer from mesh.peers p where p.agent_id = find_faults.agent_id;
  if not found then
    -- One active rule is enough to show that another agent waits for this peer.
    select r.other, r.origin into other, origin
    from (
      (
        select r.to_agent, r.origin from mesh.rules r
        where r.active and r.from_agent = find_faults.agent_id
        order by r.from_agent, r.to_agent
        limit 1
      )
      union all
      (
        select r.from_agent, r.origin from mesh.rules r
        where r.active and r.to_agent = find_faults.agent_id
        order by r.to_agent, r.from_agent
        limit 1
      )
    ) r (other, origin)
    limit 1;
    if found then
      return next jsonb_build_object(
        'fault', 'rule_without_peer', 'other_agent_id', other, 'origin', origin
      );
    end if;
    return;
  end if;

  select l.* into liveness from mesh.liveness l where l.agent_id = find_faults.agent_id;
  if liveness.last_seen is null then
    return next jsonb_build_object(
      'fault', 'never_seen', 'registered_at', agents.iso_timestamp(peer.registered_at)
    );
  elsif liveness.problem is not null then
    -- Whatever else such a host lacks, the problem is the reason.
    return next jsonb_build_object(
      'fault', liveness.problem,
      'network', liveness.problem_network,
      'last_seen', agents.iso_timestamp(liveness.last_seen)
    );
  elsif mesh.lags(liveness, find_faults.version, find_faults.rendering_revision) then
    return next jsonb_build_object(
      'fault', case
        when mesh.is_online(liveness, find_faults.online_seconds) then 'version_lags'
        else 'offline_lags'
      end,
      'config_version', find_faults.version + find_faults.rendering_revision,
      'config_version_applied', liveness.config_version_applied,
      'last_seen', agents.iso_timestamp(liveness.last_seen)
    );
  end if;

  select p.agent_id into other
  from mesh.peers p
  where p.endpoint = peer.endpoint and p.agent_id < peer.agent_id
  order by p.endpoint, p.agent_id
  limit 1;
  if found then
    return next jsonb_build_object(
      'fault', 'endpoint_shared', 'endpoint', peer.endpoint, 'other_agent_id', other
    );
  end if;
end
$$;
comment on function mesh.find_faults(text, bigint, integer, integer) is
  'The faults of one agent in the mesh, in the form of agent_api_check_mesh. version is the one in '
  'mesh.config_versions.';

create function public.agent_api_check_mesh(
  max_entries integer,
  after text default '',
  rendering_revision integer default 0,
  online_seconds integer default 90
) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  with examined as (
    select v.agent_id, v.version
    from mesh.config_versions v
    where v.agent_id > agent_api_check_mesh.after
    order by v.agent_id
    limit agent_api_check_mesh.max_entries
  )
  select json_build_object(
    'found', (
      select coalesce(
        json_agg(jsonb_build_object('agent_id', e.agent_id) || f.fault order by e.agent_id, f.number), '[]'
      )
      from examined e
      cross join lateral mesh.find_faults(
        e.agent_id, e.version, agent_api_check_mesh.online_seconds,
        agent_api_check_mesh.rendering_revision
      ) with ordinality as f (fault, number)
    ),
    'next', (
      select case when count(*) = agent_api_check_mesh.max_entries then max(e.agent_id) end from examined e
    )
  )
$$;
comment on function public.agent_api_check_mesh(integer, text, integer, integer) is
  'The faults of the max_entries agents of the mesh after the given one: {found: [{agent_id, '
  'fault, …}], next: where the next page begins | null}. fault is never_seen (registered_at; the '
  'peer never came up), version_lags (config_version, config_version_applied, last_seen; the peer '
  'is online, and agent_api_read_mesh_metrics counts it), offline_lags (the same for an offline '
  'peer), network_taken (network | null, last_seen; the host has no tunnel, because this network of '
  'its own has addresses of the mesh), rule_without_peer (other_agent_id, origin; an active rule, of the agents or of the '
  'policy, names the agent, and it has no peer), or endpoint_shared (endpoint, other_agent_id; '
  'another peer has the same endpoint).';

-- schemas/operator/mesh_paths.sql

-- For the operator: whether the peers that see each other also reach each other.

create function mesh.describe_side(
  agent_id text, other_agent text, online_seconds integer, rendering_revision integer
) returns jsonb
language sql
stable
set search_path = ''
as $$
  select jsonb_build_object(
    'agent_id', p.agent_id,
    'online', mesh.is_online(l, describe_side.online_seconds),
    'lags', mesh.lags(l, v.version, describe_side.rendering_revision),
    'endpoints', to_jsonb(mesh.endpoints_of(p)),
    'problem', mesh.problem_json(l),
    'report', (
      select mesh.path_json(r, mesh.time_of_report(r.left_out_at, l, describe_side.online_seconds))
      from mesh.path_reports r
      where r.agent_id = p.agent_id and r.other_agent = describe_side.other_agent
      limit 1
    )
  )
  -- One lookup in each index.
  from (select p.* from mesh.peers p where p.agent_id = describe_side.agent_id limit 1) p
  cross join lateral (select * from mesh.liveness l where l.agent_id = p.agent_id limit 1) l
  cross join lateral (
    select v.version from mesh.config_versions v where v.agent_id = p.agent_id limit 1
  ) v
$$;
comment on function mesh.describe_side(text, text, integer, integer) is
  'One side of a pair, in the form of agent_api_list_paths; null without a peer.';

create function public.agent_api_list_paths(
  max_entries integer,
  after text default '',
  agent_id text default null,
  online_seconds integer default 90,
  rendering_revision integer default 0
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  after_low constant text collate "C" := split_part(agent_api_list_paths.after, ' ', 1);
  after_high constant text collate "C" := split_part(agent_api_list_paths.after, ' ', 2);
  low_agents text[];
  high_agents text[];
begin
  if agent_api_list_paths.agent_id is null then
    select coalesce(array_agg(n.low_agent::text order by n.low_agent, n.high_agent), '{}'),
      coalesce(array_agg(n.high_agent::text order by n.low_agent, n.high_agent), '{}')
    into low_agents, high_agents
    from (
      select p.low_agent, p.high_agent
      from mesh.pairs p
      where (p.low_agent, p.high_agent) > (after_low, after_high)
      order by p.low_agent, p.high_agent
      limit agent_api_list_paths.max_entries
    ) n;
  else
    select coalesce(array_agg(n.low_agent order by n.low_agent, n.high_agent), '{}'),
      coalesce(array_agg(n.high_agent order by n.low_agent, n.high_agent), '{}')
    into low_agents, high_agents
    from (
      select p.low_agent, p.high_agent
      from unnest(mesh.neighbours(agent_api_list_paths.agent_id)) as o (agent_id)
      cross join lateral (
        select least(o.agent_id collate "C", agent_api_list_paths.agent_id collate "C") as low_agent,
          greatest(o.agent_id collate "C", agent_api_list_paths.agent_id collate "C") as high_agent
      ) p
      where (p.low_agent, p.high_agent) > (after_low, after_high)
      order by p.low_agent, p.high_agent
      limit agent_api_list_paths.max_entries
    ) n;
  end if;
  return json_build_object(
    'found', (
      select coalesce(json_agg(jsonb_build_array(s.low, s.high) order by n.number), '[]')
      from unnest(low_agents, high_agents) with ordinality as n (low_agent, high_agent, number)
      cross join lateral (
        select mesh.describe_side(
            n.low_agent, n.high_agent, agent_api_list_paths.online_seconds,
            agent_api_list_paths.rendering_revision
          ) as low,
          mesh.describe_side(
            n.high_agent, n.low_agent, agent_api_list_paths.online_seconds,
            agent_api_list_paths.rendering_revision
          ) as high
        where mesh.see_each_other(n.low_agent, n.high_agent)
      ) s
      -- A neighbour may have no peer.
      where s.low is not null and s.high is not null
    ),
    'next', case
      when cardinality(low_agents) = agent_api_list_paths.max_entries
        then low_agents[agent_api_list_paths.max_entries] || ' ' || high_agents[agent_api_list_paths.max_entries]
    end
  );
end
$$;
comment on function public.agent_api_list_paths(integer, text, text, integer, integer) is
  'The pairs of peers that share an active rule, and what both report about the path between them, '
  'in byte order: {found: [[side, side]], next: where the next page begins | null}. A side is '
  '{agent_id, online, lags | null, endpoints, problem and report: as in agent_api_read_netmap, or '
  'null}. '
  'agent_id: its pairs only. A page may be short or empty before the last.';

create function public.agent_api_read_mesh_pair(
  from_agent text,
  to_agent text,
  port integer,
  proto text default 'tcp',
  online_seconds integer default 90,
  rendering_revision integer default 0
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  wanted constant text[] := array[agent_api_read_mesh_pair.from_agent, agent_api_read_mesh_pair.to_agent];
  sides jsonb[];
begin
  sides := array(
    select mesh.describe_side(
        w.agent_id, w.other_agent, agent_api_read_mesh_pair.online_seconds,
        agent_api_read_mesh_pair.rendering_revision
      ) || (
        select jsonb_build_object('last_seen', agents.iso_timestamp(l.last_seen))
        from mesh.liveness l
        where l.agent_id = w.agent_id
        limit 1
      )
    from (values (1, wanted[1], wanted[2]), (2, wanted[2], wanted[1])) w (number, agent_id, other_agent)
    order by w.number
  );
  return json_build_object(
    'from', sides[1],
    'to', sides[2],
    'rule', (
      select json_build_object(
        'active', r.active, 'waiting_for', mesh.waiting_for(r), 'origin', r.origin
      )
      from mesh.rules r
      where r.from_agent = wanted[1] and r.to_agent = wanted[2]
        and r.proto = agent_api_read_mesh_pair.proto and r.port = agent_api_read_mesh_pair.port
    ),
    'other_ports', array(
      select o.port || '/' || o.proto
      from (
        select r.port, r.proto
        from mesh.rules r
        where r.from_agent = wanted[1] and r.to_agent = wanted[2] and r.active
          and (r.proto, r.port) <> (agent_api_read_mesh_pair.proto, agent_api_read_mesh_pair.port)
        order by r.from_agent, r.to_agent, r.proto, r.port
        limit 10
      ) o
    )
  );
end
$$;
comment on function public.agent_api_read_mesh_pair(text, text, integer, text, integer, integer) is
  'What decides whether one agent reaches a port of another: {from, to: as a side in '
  'agent_api_list_paths, and last_seen | null; null without a peer, rule: {active, waiting_for | '
  'null, origin} | null, other_ports: ["443/tcp"], at most ten that it may reach}.';

-- schemas/operator/mesh_network.sql

-- The networks of the mesh, as the operator sees and sets them.

create function public.agent_api_read_mesh_network() returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select json_build_object(
    'ipv4_network', s.ipv4_network,
    'ipv6_network', s.ipv6_network,
    -- min() and max() read one index entry each.
    'has_peers', (select min(p.agent_id) from mesh.peers p) is not null,
    -- A lease gets the address after the highest one.
    'leased', coalesce((select max(l.ipv4) from mesh.address_leases l) - network(s.ipv4_network)::inet, 0),
    -- Without the network's first and last address.
    'size', (1::bigint << (32 - masklen(s.ipv4_network))) - 2
  )
  from mesh.settings s
$$;
comment on function public.agent_api_read_mesh_network() is
  'The networks of the mesh, whether a peer exists, and how many of its IPv4 addresses agents have '
  'or had.';

create function public.agent_api_set_mesh_network(ipv4_network text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  current_network cidr;
  wanted cidr;
begin
  perform mesh.lock_addresses();
  select s.ipv4_network into current_network from mesh.settings s;
  begin
    wanted := agent_api_set_mesh_network.ipv4_network::cidr;
    while wanted is null or agent_api_set_mesh_network.ipv4_network is null and wanted = current_network loop
      wanted := mesh.draw_ipv4_network();
    end loop;
    -- Without a change, the leases of removed peers stay.
    if wanted <> current_network then
      update mesh.settings s set ipv4_network = wanted where s.only_row;
    end if;
  exception
    when invalid_text_representation or check_violation then
      raise sqlstate 'PT422' using
        message = 'invalid_request',
        detail = '{"issues": [{"path": "ipv4_network", "message": "Must be an IPv4 network in CIDR notation, from /8 to /29, whose hosts can reach each other: 10.64.0.0/16."}]}';
  end;
  return public.agent_api_read_mesh_network();
end
$$;
comment on function public.agent_api_set_mesh_network(text) is
  'Sets the IPv4 network of the mesh, while no peer exists; null: another one, which is drawn. Returns what '
  'read_mesh_network does. Raises invalid_request, and 55000 if there is a peer.';

-- schemas/operator/keys.sql

-- Agent keys as the operator sees them, and the creation of many in one call, for `deno task
-- agentops agent create --file`.

create function agents.key_json(key agents.keys, last_used_at timestamptz) returns json
language sql
stable
return json_build_object(
  'key_id', key.key_id,
  'label', key.label,
  'instance', key.instance,
  'state', case
    when key.revoked_at is not null then 'revoked'
    when key.expires_at <= now() then 'expired'
    else 'live'
  end,
  'created_at', agents.iso_timestamp(key.created_at),
  'expires_at', agents.iso_timestamp(key.expires_at),
  'revoked_at', agents.iso_timestamp(key.revoked_at),
  'last_used_at', agents.iso_timestamp(last_used_at)
);
comment on function agents.key_json(agents.keys, timestamptz) is
  'A key as the operator sees it; state is live, expired or revoked.';

create function agents.newest_keys(agent_id text, with_revoked boolean) returns json
language sql
stable
set search_path = ''
as $$
  select coalesce(
    json_agg(
      agents.key_json(n.key, u.last_used_at) order by (n.key).revoked_at is null desc, (n.key).created_at desc
    ),
    '[]'
  )
  from (
    select k as key
    from agents.keys k
    where k.agent_id = newest_keys.agent_id and (newest_keys.with_revoked or k.revoked_at is null)
    order by k.revoked_at is null desc, k.created_at desc
    limit 100
  ) n
  left join lateral (
    select u.last_used_at from agents.key_uses u where u.key_id = (n.key).key_id limit 1
  ) u on true
$$;
comment on function agents.newest_keys(text, boolean) is
  'Up to a hundred keys of an agent: those not revoked first, newest first.';

create function public.agent_api_create_agent_keys(
  keys jsonb,
  max_live_keys integer default 100
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  wanted record;
  lock_key bigint;
  made jsonb := jsonb_build_array();
  code text;
  details text;
begin
  -- Take all locks of agent_api_create_agent_key first, in the same order in every transaction,
  -- which prevents deadlocks.
  for lock_key in
    select distinct hashtextextended('keys of ' || k.agent_id, 0)
    from jsonb_to_recordset(agent_api_create_agent_keys.keys) as k (agent_id text)
    order by 1
  loop
    perform pg_advisory_xact_lock(lock_key);
  end loop;

  for wanted in
    select * from jsonb_to_recordset(agent_api_create_agent_keys.keys)
      as k (agent_id text, label text, expires_at timestamptz)
  loop
    begin
      made := made || public.agent_api_create_agent_key(
        wanted.agent_id, wanted.label, wanted.expires_at, agent_api_create_agent_keys.max_live_keys
      )::jsonb;
    exception when sqlstate 'PT422' or sqlstate 'PT409' then
      get stacked diagnostics code = message_text, details = pg_exception_detail;
      return json_build_object(
        'made', made, 'refused', json_build_object('code', code, 'details', details::json)
      );
    end;
  end loop;
  return json_build_object('made', made, 'refused', null);
end
$$;
comment on function public.agent_api_create_agent_keys(jsonb, integer) is
  'Creates keys like agent_api_create_agent_key, one for each of [{agent_id, label, expires_at}], '
  'in this order, up to the first one that is refused: {made: [{key_id, agent_id, key, …}], '
  'refused: null | {code, details}}. Keys made before a refusal stay.';

-- schemas/operator/agents.sql

-- What the operator sees of agents. An agent exists as soon as something names it, so listing
-- agents means walking over the tables that name them, from one name to the next.
--
-- Every list for the operator takes max_entries and `after`, and returns {found: […], next}. `next`
-- is the `after` of the next page, null if there are no more pages. A page may be short or empty
-- before the last.

create function agents.next_name(after text) returns text
language sql
stable
set search_path = ''
-- One index lookup per table, however many rows name the same agent.
as $$
  select least(
    (select min(k.agent_id) from agents.keys k where k.agent_id > next_name.after),
    (select min(t.agent_id) from artifacts.totals t where t.agent_id > next_name.after),
    -- `#` and a tag sorts before `/`, and every agent after it.
    (
      select min(g.grantee)
      from artifacts.grants g
      where g.grantee > greatest(next_name.after, '/' collate "C")
    ),
    (select min(s.from_agent) from artifacts.standing_grants s where s.from_agent > next_name.after),
    (
      select min(s.grantee)
      from artifacts.standing_grants s
      where s.grantee > greatest(next_name.after, '/' collate "C")
    ),
    (select min(t.agent_id) from agents.agent_tags t where t.agent_id > next_name.after),
    -- Every agent that ever had a peer or a rule.
    (select min(v.agent_id) from mesh.config_versions v where v.agent_id > next_name.after),
    -- Signed-in users need no key.
    (select min(u.agent_id) from agents.usage u where u.agent_id > next_name.after)
  )
$$;
comment on function agents.next_name(text) is
  'The first agent after a name, in byte order; null: none.';

create function agents.holds_something(agent_id text) returns boolean
language sql
stable
begin atomic
  select exists (
      select from agents.keys k
      where k.agent_id = holds_something.agent_id
        and k.revoked_at is null
        and (k.expires_at is null or k.expires_at > now())
    )
    or exists (
      select from artifacts.totals t
      where t.agent_id = holds_something.agent_id and t.pending + t.committed + t.superseded > 0
    )
    or exists (
      select from artifacts.grants g
      where g.grantee = holds_something.agent_id and g.live_until > now()
    )
    -- The end of the last one: one index lookup each. If nearly all are to one agent, `exists`
    -- reads all of them for another.
    or coalesce(
      (
        select max(s.live_until)
        from artifacts.standing_grants s
        where s.from_agent = holds_something.agent_id
      ) > now(),
      false
    )
    or coalesce(
      (
        select max(s.live_until)
        from artifacts.standing_grants s
        where s.grantee = holds_something.agent_id
      ) > now(),
      false
    )
    or exists (select from agents.agent_tags t where t.agent_id = holds_something.agent_id)
    or exists (select from mesh.peers p where p.agent_id = holds_something.agent_id)
    or exists (select from mesh.rules r where r.from_agent = holds_something.agent_id)
    or exists (select from mesh.rules r where r.to_agent = holds_something.agent_id)
    or exists (select from mesh.policy_lines l where l.from_name = holds_something.agent_id)
    or exists (select from mesh.policy_lines l where l.to_name = holds_something.agent_id);
end;
comment on function agents.holds_something(text) is
  'Whether an agent has a live key, an artifact, a live grant to it, a live standing grant from or '
  'to it, a tag, a peer, or a rule or '
  'request that names it, or the policy names it. An agent without any of these is only '
  'remembered.';

create function agents.walk_names(
  after text,
  max_entries integer,
  with_ended boolean,
  tag text,
  out names text[],
  out last_name text
)
language plpgsql
stable
set search_path = ''
as $$
begin
  if walk_names.tag is not null then
    names := array(
      select t.agent_id
      from agents.agent_tags t
      where t.tag = walk_names.tag and t.agent_id > walk_names.after
      order by t.tag, t.agent_id
      limit walk_names.max_entries
    );
    if cardinality(names) = walk_names.max_entries then
      last_name := names[cardinality(names)];
    end if;
    return;
  end if;

  names := '{}';
  last_name := walk_names.after;
  -- An upper limit on the agents that one page skips because they are only remembered.
  for step in 1..walk_names.max_entries + 1000 loop
    last_name := agents.next_name(last_name);
    exit when last_name is null;
    if walk_names.with_ended or agents.holds_something(last_name) then
      names := names || last_name;
      exit when cardinality(names) = walk_names.max_entries;
    end if;
  end loop;
end
$$;
comment on function agents.walk_names(text, integer, boolean, text) is
  'The agents of one page, either of all agents or of those with a tag, and the name after which '
  'the next page begins (null: there is no next page).';

create function agents.describe_agents(agent_ids text[]) returns table (agent_id text, described jsonb)
language sql
stable
set search_path = ''
as $$
  select named.agent_id, jsonb_build_object(
    'agent_id', named.agent_id,
    'live_keys', k.live,
    'expired_keys', k.expired,
    'revoked_keys', k.revoked,
    'last_used_at', agents.iso_timestamp(k.last_used_at),
    'tags', to_jsonb(agents.tags_of(named.agent_id)),
    'pending', coalesce(t.pending, 0),
    'artifacts', coalesce(t.committed + t.superseded, 0),
    'bytes', coalesce(t.pending_bytes + t.committed_bytes + t.superseded_bytes + t.surplus_bytes, 0),
    'quota_bytes', (
      select l.quota_bytes from artifacts.agent_limits l where l.agent_id = named.agent_id limit 1
    ),
    'grants', coalesce(t.grants, 0),
    'has_peer', p.agent_id is not null,
    'last_seen', agents.iso_timestamp(p.last_seen),
    'keys', agents.newest_keys(named.agent_id, with_revoked => false)
  )
  from unnest(describe_agents.agent_ids) as named (agent_id)
  -- One lookup in each index per agent, or per key.
  cross join lateral (
    select
      count(*) filter (
        where k.revoked_at is null and (k.expires_at is null or k.expires_at > now())
      ) as live,
      count(*) filter (where k.revoked_at is null and k.expires_at <= now()) as expired,
      count(*) filter (where k.revoked_at is not null) as revoked,
      max(u.last_used_at) as last_used_at
    from agents.keys k
    left join lateral (
      select u.last_used_at from agents.key_uses u where u.key_id = k.key_id limit 1
    ) u on true
    where k.agent_id = named.agent_id
  ) k
  left join lateral (
    select * from artifacts.totals t where t.agent_id = named.agent_id limit 1
  ) t on true
  left join lateral (
    select p.agent_id, l.last_seen
    from mesh.peers p
    cross join lateral (select l.last_seen from mesh.liveness l where l.agent_id = p.agent_id limit 1) l
    where p.agent_id = named.agent_id
    limit 1
  ) p on true
$$;
comment on function agents.describe_agents(text[]) is
  'What each of these agents has. `artifacts` are committed and superseded ones, as the limit '
  'counts them; `bytes` are what the quota counts, and `quota_bytes` is the agent''s own quota, if '
  'it has one; `grants` are rows, including recently ended '
  'ones.';

create function public.agent_api_list_agents(
  max_entries integer,
  after text default '',
  with_ended boolean default false,
  tag text default null
) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select json_build_object(
    'found', (
      select coalesce(json_agg(d.described order by d.agent_id collate "C"), '[]')
      from agents.describe_agents(page.names) d
    ),
    'next', page.last_name
  )
  from agents.walk_names(
    agent_api_list_agents.after, agent_api_list_agents.max_entries,
    agent_api_list_agents.with_ended, agent_api_list_agents.tag
  ) page
$$;
comment on function public.agent_api_list_agents(integer, text, boolean, text) is
  'The agents after the given one, in byte order: {found: [{agent_id, live_keys, expired_keys, '
  'revoked_keys, last_used_at | null, tags, pending, artifacts, bytes, quota_bytes | null, grants, '
  'has_peer, last_seen | null, keys}], next: where the next page begins | null}. keys has those '
  'that are not revoked, in the form of agent_api_read_agent. with_ended: also agents that have '
  'nothing left and are only remembered. tag: only the agents that have this tag.';

create function public.agent_api_read_agent(
  agent_id text,
  online_seconds integer default 90,
  rendering_revision integer default 0
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  counted_at constant timestamptz := now();
  answer json;
begin
  if not (
    agents.holds_something(agent_api_read_agent.agent_id)
    or exists (select from agents.keys k where k.agent_id = agent_api_read_agent.agent_id)
    or exists (select from artifacts.totals t where t.agent_id = agent_api_read_agent.agent_id)
    or exists (select from artifacts.grants g where g.grantee = agent_api_read_agent.agent_id)
    or exists (select from agents.agent_tags t where t.agent_id = agent_api_read_agent.agent_id)
    or exists (select from mesh.config_versions v where v.agent_id = agent_api_read_agent.agent_id)
    or exists (select from agents.usage u where u.agent_id = agent_api_read_agent.agent_id)
  ) then
    return null;
  end if;

  select d.described || jsonb_build_object(
    'grants_given', (
      select count(*)
      from (
        select from artifacts.grants g
        where g.from_agent = agent_api_read_agent.agent_id and g.live_until > counted_at
        order by g.from_agent, g.live_until
        limit 1000
      ) given
    ),
    'grants_received', (
      select cardinality(artifacts.live_grant_ids(h.grantees, null, '{}', 1000))
      from artifacts.grantees_of(agent_api_read_agent.agent_id, null) h
    ),
    'keys', agents.newest_keys(agent_api_read_agent.agent_id, with_revoked => true),
    'blocked_senders', (
      select coalesce(json_agg(b.from_agent order by b.from_agent), '[]')
      from (
        select s.from_agent
        from artifacts.blocked_senders s
        where s.agent_id = agent_api_read_agent.agent_id
        order by s.agent_id, s.from_agent
        limit 100
      ) b
    ),
    'peer', (
      select p.described
      from mesh.describe_peers(
        array[agent_api_read_agent.agent_id], agent_api_read_agent.online_seconds,
        agent_api_read_agent.rendering_revision
      ) p
    )
  ) into answer
  from agents.describe_agents(array[agent_api_read_agent.agent_id]) d;
  return answer;
end
$$;
comment on function public.agent_api_read_agent(text, integer, integer) is
  'One agent: the fields of agent_api_list_agents except keys, and {grants_given, grants_received, '
  'keys: [{key_id, label | null, state: live | expired | revoked, created_at, expires_at | null, '
  'revoked_at | null, last_used_at | null}], blocked_senders: [agent_id], peer: in the form of '
  'agent_api_list_peers, with the same parameters | null}. Live grants are counted up to a '
  'thousand; those received include grants to its tags. keys has at most a hundred, those not '
  'revoked first, and blocked_senders as many. Null: nothing names this agent.';

-- schemas/operator/usage.sql

-- What agents requested and were refused, in the order of time.

create function agents.usage_json(used agents.usage) returns json
language sql
stable
return json_build_object(
  'agent_id', used.agent_id,
  'day', used.day,
  'requests', used.requests,
  'refusals', used.refusals,
  'artifacts', used.artifacts,
  'bytes', used.bytes,
  'quota_bytes', (
    select l.quota_bytes from artifacts.agent_limits l where l.agent_id = used.agent_id limit 1
  ),
  'grants', used.grants
);
comment on function agents.usage_json(agents.usage) is
  'What an agent used on one day, as the operator sees it.';

create function public.agent_api_list_usage(
  max_entries integer,
  after text default '',
  since date default null,
  agent_id text default null
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  first_day constant date := coalesce(agent_api_list_usage.since, (now() at time zone 'UTC')::date);
  after_day constant date := coalesce(nullif(split_part(agent_api_list_usage.after, ' ', 1), '')::date, first_day);
  after_agent constant text := split_part(agent_api_list_usage.after, ' ', 2);
  page agents.usage[];
begin
  if agent_api_list_usage.agent_id is null then
    page := array(
      select u
      from agents.usage u
      where u.day >= after_day and (u.day, u.agent_id) > (after_day, after_agent)
      order by u.day, u.agent_id
      limit agent_api_list_usage.max_entries
    );
  else
    page := array(
      select u
      from agents.usage u
      where u.agent_id = agent_api_list_usage.agent_id
        and u.day >= after_day
        and (u.day > after_day or after_agent = '')
      order by u.agent_id, u.day
      limit agent_api_list_usage.max_entries
    );
  end if;
  return json_build_object(
    'found', (
      select coalesce(json_agg(agents.usage_json(p) order by p.day, p.agent_id), '[]')
      from unnest(page) p
    ),
    'next', case
      when cardinality(page) = agent_api_list_usage.max_entries
        then page[cardinality(page)].day || ' ' || page[cardinality(page)].agent_id
    end
  );
end
$$;
comment on function public.agent_api_list_usage(integer, text, date, text) is
  'What agents, or one of them, used on each day (UTC) from `since` on (null: from today): {found: '
  '[{agent_id, day, requests, refusals, artifacts, bytes, quota_bytes | null, grants}], next: '
  'where the next page begins | null}, in the order of days. A minute behind.';

create function public.agent_api_list_busiest(max_entries integer) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select json_build_object(
    'found', coalesce(
      json_agg(agents.usage_json(b.used) order by (b.used).requests desc, (b.used).agent_id), '[]'
    )
  )
  from (
    select u as used
    from agents.usage u
    where u.day = (now() at time zone 'UTC')::date
    order by u.day desc, u.requests desc
    limit agent_api_list_busiest.max_entries
  ) b
$$;
comment on function public.agent_api_list_busiest(integer) is
  'Today''s (UTC) usage of the agents with the most requests, those first: {found: in the form of '
  'agent_api_list_usage}. A minute behind.';

create function agents.refusals_json(page agents.refusals[], newest_first boolean default false) returns json
language sql
stable
set search_path = ''
as $$
  select coalesce(
    json_agg(
      json_build_object(
        'agent_id', p.agent_id,
        'hour', agents.iso_timestamp(p.hour),
        'kind', p.kind,
        'count', p.count
      )
      order by case when refusals_json.newest_first then p.hour end desc, p.hour, p.agent_id, p.kind
    ),
    '[]'
  )
  from unnest(refusals_json.page) p
$$;
comment on function agents.refusals_json(agents.refusals[], boolean) is
  'Refusals in the form of agent_api_list_refusals.';

create function public.agent_api_list_refusals(
  max_entries integer,
  after text default '',
  since timestamptz default null,
  agent_id text default null
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  first_hour constant timestamptz := date_trunc(
    'hour', coalesce(agent_api_list_refusals.since, now() - interval '1 day'), 'UTC'
  );
  after_hour constant timestamptz := coalesce(
    nullif(split_part(agent_api_list_refusals.after, ' ', 1), '')::timestamptz, first_hour
  );
  after_agent constant text := split_part(agent_api_list_refusals.after, ' ', 2);
  after_kind constant text := split_part(agent_api_list_refusals.after, ' ', 3);
  page agents.refusals[];
begin
  if agent_api_list_refusals.agent_id is null then
    page := array(
      select f
      from agents.refusals f
      where f.hour >= after_hour and (f.hour, f.agent_id, f.kind) > (after_hour, after_agent, after_kind)
      order by f.hour, f.agent_id, f.kind
      limit agent_api_list_refusals.max_entries
    );
  else
    page := array(
      select f
      from agents.refusals f
      where f.agent_id = agent_api_list_refusals.agent_id
        and f.hour >= after_hour
        and (f.hour, f.kind) > (after_hour, after_kind)
      order by f.agent_id, f.hour, f.kind
      limit agent_api_list_refusals.max_entries
    );
  end if;
  return json_build_object(
    'found', agents.refusals_json(page),
    'next', case
      when cardinality(page) = agent_api_list_refusals.max_entries then concat_ws(
        ' ',
        agents.iso_timestamp(page[cardinality(page)].hour),
        page[cardinality(page)].agent_id,
        page[cardinality(page)].kind
      )
    end
  );
end
$$;
comment on function public.agent_api_list_refusals(integer, text, timestamptz, text) is
  'How often agents, or one of them, were refused in each hour from the hour of `since` on (null: '
  'a day ago): {found: [{agent_id, hour, kind, count}], next: where the next page begins | null}, '
  'in the order of hours. `kind` is the error code. A minute behind.';

create function public.agent_api_list_newest_refusals(
  max_entries integer,
  agent_id text default null
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  first_hour constant timestamptz := date_trunc('hour', now() - interval '1 day', 'UTC');
  page agents.refusals[];
begin
  if agent_api_list_newest_refusals.agent_id is null then
    page := array(
      select f
      from agents.refusals f
      where f.hour >= first_hour
      order by f.hour desc, f.agent_id desc, f.kind desc
      limit agent_api_list_newest_refusals.max_entries
    );
  else
    page := array(
      select f
      from agents.refusals f
      where f.agent_id = agent_api_list_newest_refusals.agent_id and f.hour >= first_hour
      order by f.agent_id desc, f.hour desc, f.kind desc
      limit agent_api_list_newest_refusals.max_entries
    );
  end if;
  return json_build_object('found', agents.refusals_json(page, newest_first => true));
end
$$;
comment on function public.agent_api_list_newest_refusals(integer, text) is
  'How often agents, or one of them, were refused in the hours of the last day, newest first: '
  '{found: in the form of agent_api_list_refusals}. A minute behind.';

-- schemas/operator/grants.sql

-- Who may read what, as the operator sees it.

create function artifacts.live_grants_after(
  grantees text[],
  after_live_until timestamptz,
  after_grant_id text,
  max_entries integer
) returns setof artifacts.grants
language plpgsql
stable
set search_path = ''
-- For the same reason as in grant_ids_since.
set enable_bitmapscan = off
set enable_sort = off
as $$
begin
  if live_grants_after.grantees is not null then
    return query
      select g.*
      from unnest(live_grants_after.grantees) as e (grantee)
      cross join lateral (
        select g.*
        from artifacts.grants g
        where g.grantee = e.grantee
          and g.live_until >= live_grants_after.after_live_until
          and (g.live_until, g.grant_id) > (live_grants_after.after_live_until, live_grants_after.after_grant_id)
        order by g.grantee, g.live_until, g.grant_id
        limit live_grants_after.max_entries
      ) g
      order by g.live_until, g.grant_id
      limit live_grants_after.max_entries;
  else
    return query
      select g.*
      from artifacts.grants g
      where g.live_until >= live_grants_after.after_live_until
        and (g.live_until, g.grant_id) > (live_grants_after.after_live_until, live_grants_after.after_grant_id)
      order by g.live_until, g.grant_id
      limit live_grants_after.max_entries;
  end if;
end
$$;
comment on function artifacts.live_grants_after(text[], timestamptz, text, integer) is
  'Like given_grants, but from any agent: the next live grants, all or those to these agents and '
  'tags.';

create function public.agent_api_list_all_grants(
  max_entries integer,
  after text default '',
  from_agent text default null,
  artifact_id text default null,
  to_agent text default null,
  to_tag text default null,
  by_tags boolean default false
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  owner constant text := coalesce(
    agent_api_list_all_grants.from_agent,
    (select a.agent_id from artifacts.artifacts a where a.artifact_id = agent_api_list_all_grants.artifact_id)
  );
  grantees constant text[] := case
    when agent_api_list_all_grants.to_agent is null and agent_api_list_all_grants.to_tag is null then null
    when agent_api_list_all_grants.by_tags
      then (select h.grantees from artifacts.grantees_of(agent_api_list_all_grants.to_agent, null) h)
    else array[artifacts.grantee(agent_api_list_all_grants.to_agent, agent_api_list_all_grants.to_tag)]
  end;
  answer json;
begin
  with page as (
    select i.given, row_number() over (order by (i.given).live_until, (i.given).grant_id) as number
    from artifacts.read_position(agent_api_list_all_grants.after) p
    cross join lateral (
      select g as given
      from artifacts.given_grants(
        owner, agent_api_list_all_grants.artifact_id, grantees,
        p.after_live_until, p.after_grant_id, agent_api_list_all_grants.max_entries
      ) g
      where owner is not null
      union all
      select g as given
      from artifacts.live_grants_after(
        grantees, p.after_live_until, p.after_grant_id, agent_api_list_all_grants.max_entries
      ) g
      where owner is null and agent_api_list_all_grants.artifact_id is null
    ) i
  )
  select json_build_object(
    'found', (
      select coalesce(
        json_agg(
          jsonb_build_object('from_agent', (p.given).from_agent) || d.described
          order by p.number
        ),
        '[]'
      )
      from page p
      cross join artifacts.describe_grant(p.given) d
      -- What was revoked stays so if the clock goes back to before that.
      where (p.given).revoked_at is null
    ),
    'next', (
      select artifacts.position_after(p.given) from page p where p.number = agent_api_list_all_grants.max_entries
    )
  ) into answer;
  return answer;
end
$$;
comment on function public.agent_api_list_all_grants(integer, text, text, text, text, text, boolean) is
  'The live grants from an agent, of an artifact, to an agent (with by_tags: or to a tag that it '
  'has now), to a tag, or all, those that end first: {found: [{grant_id, artifact_id, key, '
  'from_agent, to_agent | null, to_tag, granted_at, expires_at, max_downloads | null, '
  'downloads, standing_id, and what artifacts.work_of returns}], next: where the next page begins | '
  'null}. Only a grant to a tag has to_tag, and only one that a standing grant made has standing_id.';

-- schemas/operator/erasures/erased_events.sql

-- What an erasure does to the log of events. It replaces a name, and leaves everything else: the
-- events, their order, times and types. Each step writes one event, agent.erased, with a digest of
-- what must not change.

create function agents.is_pseudonym(name text) returns boolean
language sql
immutable
return coalesce(name ~ '^erased-[0-9a-f]{32}$', false);
comment on function agents.is_pseudonym(text) is
  'Whether a name is the pseudonym of an erased agent. Pseudonyms are random: nothing leads back '
  'to the agent.';

create function agents.fixed_part(event agents.events) returns text
language sql
stable
return concat_ws(
  '|', event.event_id, event.transaction_id, extract(epoch from event.occurred_at), event.actor_kind, event.action
);
comment on function agents.fixed_part(agents.events) is
  'The part of an event that no erasure changes.';

create function agents.digest_of_events(events agents.events[]) returns text
language sql
stable
set search_path = ''
as $$
  select encode(
    sha256(convert_to(coalesce(string_agg(agents.fixed_part(e), E'\n' order by e.event_id), ''), 'UTF8')), 'hex'
  )
  from unnest(digest_of_events.events) e
$$;
comment on function agents.digest_of_events(agents.events[]) is
  'The SHA-256 of the fixed parts of events, in the order of their numbers.';

create function agents.without_name(event agents.events, name text, pseudonym text) returns jsonb
language sql
stable
set search_path = ''
as $$
  select coalesce(
    jsonb_object_agg(
      d.key,
      case
        -- Only these two fields name agents. Another field may have the same text: an agent may be
        -- called `tcp`.
        when d.key in ('to_agent', 'high_agent') and d.value = to_jsonb(name) then to_jsonb(pseudonym)
        else d.value
      end
    ),
    '{}'
  )
  from jsonb_each((without_name.event).details) d
  where case
    -- Remove what the agent itself chose.
    when d.key in ('key', 'sha256') then strpos(d.value::text, name) = 0 and name <> case
      when starts_with((without_name.event).object_id, 'grant_') then (without_name.event).other_agent_id
      else coalesce((without_name.event).subject_agent_id, '')
    end
    when d.key in ('pubkey', 'endpoint', 'instance')
      then strpos(d.value::text, name) = 0 and (without_name.event).subject_agent_id <> name
    else true
  end
$$;
comment on function agents.without_name(agents.events, text, text) is
  'The details of an event without an agent''s name, and without the names of its files, its '
  'digests, its public keys, its endpoints and the names of its instances.';

create function agents.refuse_other_changes_of_events() returns trigger
language plpgsql
set search_path = ''
as $$
declare
  changed agents.events[] := array(select n from new_rows n);
  names text[];
  pseudonyms text[];
begin
  select array_agg(distinct p.was), array_agg(distinct p.became)
  into names, pseudonyms
  from old_rows o
  join new_rows n using (event_id)
  cross join lateral (
    values
      (o.actor_agent_id::text, n.actor_agent_id::text),
      (o.subject_agent_id, n.subject_agent_id),
      (o.other_agent_id, n.other_agent_id)
  ) p (was, became)
  where p.was is distinct from p.became;
  if cardinality(names) = 1
    and names[1] is not null
    and cardinality(pseudonyms) = 1
    and agents.is_pseudonym(pseudonyms[1])
    and (select count(*) from old_rows) = cardinality(changed)
    and (
      select count(*)
      from old_rows o
      join new_rows n on n.event_id = o.event_id
      where agents.fixed_part(o) = agents.fixed_part(n)
        and n.details = agents.without_name(o, names[1], pseudonyms[1])
        and (n.object_id is not distinct from o.object_id or n.object_id is null and starts_with(o.object_id, 'key_'))
        and (n.actor_key_id is not distinct from o.actor_key_id or n.actor_key_id is null)
        and (n.actor_user_id is not distinct from o.actor_user_id or n.actor_agent_id = pseudonyms[1])
        and n.request_id is null
    ) = cardinality(changed)
    and exists (
      select
      from agents.events e
      where e.subject_agent_id = pseudonyms[1]
        and e.transaction_id = agents.present_transaction()
        and e.action = 'agent.erased'
        and e.details ->> 'digest' = agents.digest_of_events(changed)
        and (e.details ->> 'altered')::bigint = cardinality(changed)
    )
  then
    return null;
  end if;
  raise exception 'agents.events is append-only: only agent_api_erase_agent replaces a name' using errcode = '42501';
end
$$;
comment on function agents.refuse_other_changes_of_events() is
  'Refuses every change of the log, whatever privileges a role has, with one exception: a single '
  'name becomes a pseudonym, details only lose what belongs to that name, and the same transaction '
  'has written the event that has the number and the digest of these rows.';

create trigger events_change_by_erasure_alone
  after update on agents.events
  referencing old table as old_rows new table as new_rows
  for each statement execute function agents.refuse_other_changes_of_events();

create function agents.erase_from_events(name text, pseudonym text, max_entries integer) returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
  -- No event can appear any more before the last of these, so the ranges of two steps never
  -- overlap.
  named agents.events[] := array(
    select e from agents.events_after(erase_from_events.name, '0', 0, erase_from_events.max_entries) e
  );
  first_event constant agents.events := named[1];
  last_event constant agents.events := named[cardinality(named)];
begin
  if cardinality(named) = 0 then
    return 0;
  end if;
  perform agents.record_event(
    '{"kind": "operator"}', null, 'agent.erased', erase_from_events.pseudonym, null,
    jsonb_build_object(
      'altered', cardinality(named),
      'first', first_event.transaction_id || '.' || first_event.event_id,
      'last', last_event.transaction_id || '.' || last_event.event_id,
      'digest', agents.digest_of_events(named)
    )
  );
  update agents.events e
  set actor_agent_id = case when e.actor_agent_id = name then pseudonym else e.actor_agent_id end,
    actor_user_id = case
      when e.actor_agent_id = name and e.actor_user_id is not null then gen_random_uuid()
      else e.actor_user_id
    end,
    actor_key_id = case when e.actor_agent_id is distinct from name then e.actor_key_id end,
    subject_agent_id = case when e.subject_agent_id = name then pseudonym else e.subject_agent_id end,
    other_agent_id = case when e.other_agent_id = name then pseudonym else e.other_agent_id end,
    object_id = case
      when not (starts_with(e.object_id, 'key_') and e.subject_agent_id = name) then e.object_id
    end,
    details = agents.without_name(e, name, pseudonym),
    request_id = null
  where e.event_id = any (array(select n.event_id from unnest(named) n));
  return cardinality(named);
end
$$;
comment on function agents.erase_from_events(text, text, integer) is
  'Replaces a name in the oldest max_entries events that have it, and returns how many these were. '
  'Events that are not below horizon() yet wait for the next call.';

create function public.agent_api_check_erasure(pseudonym text) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select json_build_object(
    'pseudonym', agent_api_check_erasure.pseudonym,
    'steps', coalesce(max(s.steps), 0),
    'altered', coalesce(sum((e.details ->> 'altered')::bigint), 0),
    'holds', coalesce(bool_and(e.details ->> 'digest' = agents.digest_of_events(array(
      select n
      from agents.events_after(
        agent_api_check_erasure.pseudonym,
        split_part(e.details ->> 'first', '.', 1)::xid8,
        split_part(e.details ->> 'first', '.', 2)::bigint - 1,
        -- The agent.erased events also name the pseudonym, and lie among these.
        (e.details ->> 'altered')::integer + s.steps
      ) n
      where n.action <> 'agent.erased'
        and (n.transaction_id, n.event_id) <= (
          split_part(e.details ->> 'last', '.', 1)::xid8, split_part(e.details ->> 'last', '.', 2)::bigint
        )
    ))), false)
  )
  from agents.events e
  cross join (
    select count(*)::integer as steps
    from agents.events c
    where c.subject_agent_id = agent_api_check_erasure.pseudonym and c.action = 'agent.erased'
  ) s
  where e.subject_agent_id = agent_api_check_erasure.pseudonym and e.action = 'agent.erased'
$$;
comment on function public.agent_api_check_erasure(text) is
  'Whether the events that an erasure altered still exist in their order, according to their '
  'digests: {pseudonym, steps, altered, holds}. holds becomes false once agent_api_forget_events '
  'deletes some of them.';

-- schemas/operator/erasures/mentions.sql

-- How often the tables name an agent: what an erasure still has to do.

create function agents.pattern_of_name(name text) returns text
language sql
immutable
return '(?<![A-Za-z0-9])' || replace(name, '.', '\.') || '(?![A-Za-z0-9])';
comment on function agents.pattern_of_name(text) is
  'A regular expression that finds a name in free text, and not within a longer word.';

create function agents.policy_contains(name text) returns boolean
language sql
stable
set search_path = ''
as $$
  -- A policy cannot name an agent whose identifier begins with tag:.
  select not starts_with(policy_contains.name, 'tag:') and (
    mesh.policy_names(array[policy_contains.name])
    or exists (
      select
      from mesh.policies p
      -- Comments and tests name agents, too. The words of the format itself do not, nor does a tag
      -- that only ends in the name.
      where regexp_replace(p.source, '"\w+"\s*:|"proto"\s*:\s*"\w+"|"expect"\s*:\s*"\w+"', '', 'g')
        ~ ('(?<![A-Za-z0-9_@-]|[A-Za-z0-9][.:])' || replace(policy_contains.name, '.', '\.')
          || '(?![A-Za-z0-9_@-]|[.:][A-Za-z0-9])')
    )
  )
$$;
comment on function agents.policy_contains(text) is
  'Whether the policy names an agent in its rules, or its file contains the name as a whole: in a '
  'comment or a test.';

create function agents.has_ended(enrolment agents.enrolments) returns boolean
language sql
stable
return enrolment.revoked_at is not null or coalesce(enrolment.expires_at <= now(), false);
comment on function agents.has_ended(agents.enrolments) is
  'Whether an enrolment was revoked or has expired, so that nobody can ever enrol with it again.';

create function agents.proofs_name(enrolment agents.enrolments, name text) returns boolean
language sql
stable
return coalesce(
  concat_ws(
    ' ',
    enrolment.issuer,
    enrolment.audience,
    enrolment.agent_template,
    enrolment.agent_prefix,
    jsonb_path_query_array(enrolment.conditions, '$[*].equals', silent => true),
    jsonb_path_query_array(enrolment.conditions, '$[*].prefix', silent => true),
    jsonb_path_query_array(enrolment.jwks, '$.keys[*].kid', silent => true)
  ) ~ agents.pattern_of_name(name),
  false
);
comment on function agents.proofs_name(agents.enrolments, text) is
  'Whether a name appears in the fields that decide who enrols, and as which agent: the issuer, '
  'the audience, the conditions, the template, the ids of public keys.';

create function agents.enrolments_deciding_by(name text) returns text[]
language sql
stable
return array(
  select e.enrolment_id
  from agents.enrolments e
  where e.agent_id is distinct from name and not agents.has_ended(e) and agents.proofs_name(e, name)
  order by e.created_at, e.enrolment_id
);
comment on function agents.enrolments_deciding_by(text) is
  'The live enrolments that name an agent in the fields that decide who enrols. An erasure does '
  'not change these fields, because then others, or nobody, could enrol. Enrolments for this agent '
  'alone are not listed.';

create function agents.count_mentions(name text) returns jsonb
language sql
stable
set search_path = ''
-- Of tables with an index by name, so many rows may be the agent's that reading all seems faster.
set enable_seqscan = off
as $$
  select jsonb_build_object(
    'agent_keys', (select count(*) from agents.keys k where k.agent_id = name),
    'files', (
      select count(*)
      from (
        (
          select from artifacts.artifacts a
          where a.agent_id = name and a.state <> 'deleted' and a.ended_at is null
          order by a.agent_id, a.expires_at
          limit 10000
        )
        union all
        (
          select from artifacts.artifacts a
          where a.agent_id = name and (a.state = 'deleted' or a.ended_at is not null)
          order by a.agent_id, a.artifact_id
          limit 10000
        )
      ) f
    ),
    'grants', (
      select count(*)
      from (
        (select from artifacts.grants g where g.from_agent = name order by g.from_agent, g.live_until limit 10000)
        union all
        (select from artifacts.grants g where g.grantee = name order by g.grantee, g.live_until limit 10000)
      ) g
    ),
    'peer', (select count(*) from mesh.peers p where p.agent_id = name),
    'rules', (
      select count(*) from mesh.rules r where r.from_agent = name or r.to_agent = name
    ),
    'usage', (select count(*) from agents.usage u where u.agent_id = name),
    'refusals', (
      select count(*) from (select from agents.refusals f where f.agent_id = name order by f.hour limit 10000) f
    ),
    -- With those that no feed shows yet.
    'events', (
      select count(*)
      from agents.newest_events(name, '18446744073709551615', 0, 10000, '18446744073709551615')
    ),
    'others', (
      (select count(*) from agents.reads r where name in (r.reader, r.subject_agent_id, r.other_agent_id))
      + (
        select count(*) from agents.repeated_changes c
        where name in (c.actor, c.subject_agent_id, c.other_agent_id)
      )
      + (select count(*) from agents.changed_things t where t.actor = name)
      + (select count(*) from artifacts.blocked_senders b where name in (b.agent_id, b.from_agent))
      + (select count(*) from artifacts.task_queues q where q.agent_id = name)
      + (
        select count(*)
        from (select from artifacts.tasks t where t.agent_id = name and t.to_tag is not null limit 10000) t
      )
      + (select count(*) from (select from artifacts.tasks t where t.taken_by = name limit 10000) t)
      + (
        select count(*)
        from (select from artifacts.hand_overs h where h.from_agent = name limit 10000) h
      )
      + (
        select count(*)
        from (
          select from artifacts.inbox_views v
          where v.grantee = name order by v.grantee, v.seen_through limit 10000
        ) v
      )
      + (select count(*) from artifacts.totals t where t.agent_id = name)
      + (
        select count(*)
        from (
          (select from artifacts.standing_grants s where s.from_agent = name
            order by s.from_agent, s.live_until limit 10000)
          union all
          (select from artifacts.standing_grants s where s.grantee = name
            order by s.grantee, s.live_until limit 10000)
        ) s
      )
      + (
        select count(*)
        from (
          select from artifacts.spent_versions s
          where s.agent_id = name order by s.agent_id, s.key_hash limit 10000
        ) s
      )
      + (select count(*) from artifacts.agent_limits l where l.agent_id = name)
      + (select count(*) from mesh.declined_requests d where name in (d.from_agent, d.to_agent))
      + (select count(*) from mesh.address_leases l where l.agent_id = name)
      + (select count(*) from mesh.config_versions v where v.agent_id = name)
      + (select count(*) from mesh.censuses c where c.after_agent = name)
      + (select count(*) from agents.removed_agents r where r.agent_id = name)
      + (select count(*) from agents.names n where n.agent_id = name)
      + (select count(*) from agents.agent_tags t where t.agent_id = name)
      + (select count(*) from agents.enrolled_agents a where a.agent_id = name)
      + (select count(*) from agents.former_holders f where f.agent_id = name)
      + (
        select count(*) from agents.enrolments e
        where e.agent_id = name
          or e.label ~ agents.pattern_of_name(name)
          or agents.has_ended(e) and agents.proofs_name(e, name)
      )
      + (
        select count(*) from agents.keys k
        where k.agent_id <> name and k.label ~ agents.pattern_of_name(name)
      )
      + (
        select count(*) from agents.webhooks w
        where w.agent_id = name or concat_ws(' ', w.url, w.label) ~ agents.pattern_of_name(name)
      )
      + agents.policy_contains(name)::integer
    )
  )
$$;
comment on function agents.count_mentions(text) is
  'How often the tables name an agent. The larger counts stop at 10,000 each.';

create function public.agent_api_count_mentions(agent_id text) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select json_build_object(
    'mentions', agents.count_mentions(agent_api_count_mentions.agent_id),
    'deciding_enrolments', agents.enrolments_deciding_by(agent_api_count_mentions.agent_id),
    'settled_before', pg_snapshot_xmin(pg_current_snapshot()),
    'open_writers', agents.open_writers(5)
  )
$$;
comment on function public.agent_api_count_mentions(text) is
  'What agent_api_erase_agent would remove or rewrite: {mentions: {agent_keys, files, grants, '
  'peer, rules, usage, refusals, events, others}, deciding_enrolments, settled_before, '
  'open_writers}. It does not change deciding_enrolments: live enrolments with the name in the '
  'fields that decide who enrols. Every transaction below settled_before has ended; open_writers '
  'are the oldest of the others.';

-- schemas/operator/erasures/erased_webhooks.sql

-- What an erasure does to webhooks. Their deliveries contain no names: these are read from the
-- events, which the erasure changes.

create function agents.erase_from_webhooks(name text, pseudonym text) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  pattern constant text := agents.pattern_of_name(erase_from_webhooks.name);
  named_id text;
begin
  -- With another URL or filter, it would send other events, or send them elsewhere.
  for named_id in
    select w.webhook_id
    from agents.webhooks w
    where w.ended_at is null and (w.agent_id = erase_from_webhooks.name or w.url ~ pattern)
    order by w.webhook_id
  loop
    perform agents.end_webhook(named_id, 'erased');
  end loop;
  update agents.webhooks w
  set agent_id = case
      when w.agent_id = erase_from_webhooks.name then erase_from_webhooks.pseudonym else w.agent_id
    end,
    url = regexp_replace(w.url, pattern, erase_from_webhooks.pseudonym, 'g'),
    label = regexp_replace(w.label, pattern, erase_from_webhooks.pseudonym, 'g')
  where w.agent_id = erase_from_webhooks.name or concat_ws(' ', w.url, w.label) ~ pattern;
end
$$;
comment on function agents.erase_from_webhooks(text, text) is
  'Ends the webhooks whose filter or URL names an agent, and replaces the name in all webhooks.';

-- schemas/operator/erasures/erasures.sql

-- Erasing an agent: whatever names it is deleted, or names a pseudonym instead.

-- The tombstones of an agent. Only an erasure looks for them. Each artifact that ends adds one
-- entry.
create index ended_artifacts_by_agent on artifacts.artifacts (agent_id, artifact_id)
  where state = 'deleted' or ended_at is not null;

create function agents.erase_counted(name text, max_entries integer) returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
  settled agents.reads;
  due agents.repeated_changes;
  reads integer := 0;
  changes integer := 0;
begin
  -- The events of counted reads and changes are written first, and then erased with the other
  -- events.
  for settled in
    delete from agents.reads r
    -- Found by ctid, which cannot change while the row is locked.
    where r.ctid = any (array(
      select d.ctid
      from agents.reads d
      where name in (d.reader, d.subject_agent_id, d.other_agent_id)
      order by d.told_at
      limit max_entries
      for update
    ))
    returning r.*
  loop
    perform agents.tell_reads(settled);
    reads := reads + 1;
  end loop;
  for due in
    delete from agents.repeated_changes c
    where c.ctid = any (array(
      select d.ctid
      from agents.repeated_changes d
      where name in (d.actor, d.subject_agent_id, d.other_agent_id)
      order by d.due_at
      limit max_entries
      for update
    ))
    returning c.*
  loop
    if due.untold > 0 then
      due.told_times := due.untold;
      perform agents.record_repeated(
        due, null, jsonb_build_object('last_at', agents.iso_timestamp(due.last_at))
      );
    end if;
    changes := changes + 1;
  end loop;
  delete from agents.changed_things t where t.actor = name;
  return greatest(reads, changes);
end
$$;
comment on function agents.erase_counted(text, integer) is
  'Deletes up to max_entries rows each of the reads and of the changes that were counted about an '
  'agent, and writes the events that these rows had not reported yet. Returns the larger number.';

create function agents.erase_rows(name text, pseudonym text, max_entries integer) returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
  grant_ids constant text[] := array(
    (select g.grant_id from artifacts.grants g where g.from_agent = name
      order by g.from_agent, g.live_until limit max_entries)
    union
    (select g.grant_id from artifacts.grants g where g.grantee = name
      order by g.grantee, g.live_until limit max_entries)
  );
  erased integer;
  most integer := 0;
begin
  -- Lock artifacts first, as in every function that ends several grants of one artifact.
  perform from artifacts.artifacts a
  where a.artifact_id in (select g.artifact_id from artifacts.grants g where g.grant_id = any (grant_ids))
  order by a.artifact_id
  for update;
  delete from artifacts.grants g where g.grant_id = any (grant_ids);
  get diagnostics erased = row_count;
  most := greatest(most, erased);
  most := greatest(most, artifacts.erase_tasks(name, pseudonym, max_entries));
  most := greatest(most, artifacts.erase_standing(name, max_entries));
  -- The row stays until the sweep has removed its bytes, because it says where they are. A digest
  -- would tell whoever has the same file that the agent had it.
  update artifacts.artifacts a
  set agent_id = pseudonym, key = 'erased', mime = 'application/octet-stream', sha256 = null,
    metadata = null, version = null
  where a.artifact_id = any (array(
    select e.artifact_id
    from artifacts.artifacts e
    where e.agent_id = name and (e.state = 'deleted' or e.ended_at is not null)
    order by e.agent_id, e.artifact_id
    limit max_entries
  ));
  get diagnostics erased = row_count;
  most := greatest(most, erased);
  delete from artifacts.spent_versions s
  where s.agent_id = name and s.key_hash in (
    select d.key_hash from artifacts.spent_versions d
    where d.agent_id = name order by d.agent_id, d.key_hash limit max_entries
  );
  get diagnostics erased = row_count;
  most := greatest(most, erased);
  update agents.usage u
  set agent_id = pseudonym
  where u.agent_id = name and u.day in (
    select d.day from agents.usage d where d.agent_id = name order by d.day limit max_entries
  );
  get diagnostics erased = row_count;
  most := greatest(most, erased);
  update agents.refusals f
  set agent_id = pseudonym
  where f.agent_id = name and (f.hour, f.kind) in (
    select d.hour, d.kind from agents.refusals d where d.agent_id = name order by d.hour limit max_entries
  );
  get diagnostics erased = row_count;
  return greatest(most, erased);
end
$$;
comment on function agents.erase_rows(text, text, integer) is
  'Erases up to max_entries rows of each kind that can be very numerous; returns the '
  'largest number of one kind.';

create function agents.lock_enrolments_naming(name text) returns text[]
language plpgsql
volatile
set search_path = ''
as $$
declare
  named_ids constant text[] := array(
    select e.enrolment_id
    from agents.enrolments e
    where e.agent_id = name
      or e.label ~ agents.pattern_of_name(name)
      or agents.has_ended(e) and agents.proofs_name(e, name)
  );
  lock_key bigint;
begin
  for lock_key in
    select distinct agents.enrolment_lock(i.enrolment_id) from unnest(named_ids) as i (enrolment_id)
    order by 1
  loop
    perform pg_advisory_xact_lock(lock_key);
  end loop;
  return named_ids;
end
$$;
comment on function agents.lock_enrolments_naming(text) is
  'Locks the enrolments that an erasure changes or deletes, and returns their ids. Call it before '
  'end_access: enrolling and revoking take an enrolment''s lock, and then that of an agent.';

create function agents.erase_few(name text, pseudonym text, locked_ids text[]) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  delete from agents.keys k where k.agent_id = name;
  update agents.keys k
  set label = regexp_replace(k.label, agents.pattern_of_name(name), pseudonym, 'g')
  where k.label ~ agents.pattern_of_name(name);
  delete from agents.enrolled_agents a where a.agent_id = name;
  delete from agents.former_holders f where f.agent_id = name;
  perform artifacts.count_for_enrolment(name);
  delete from agents.names n where n.agent_id = name;
  delete from artifacts.enrolment_totals t
  where t.enrolment_id = any (locked_ids)
    and t.enrolment_id in (select e.enrolment_id from agents.enrolments e where e.agent_id = name);
  -- Such an enrolment is for this agent alone, and would bring the name back.
  delete from agents.enrolments e where e.agent_id = name and e.enrolment_id = any (locked_ids);
  update agents.enrolments e
  set label = regexp_replace(e.label, agents.pattern_of_name(name), pseudonym, 'g')
  where e.label ~ agents.pattern_of_name(name) and e.enrolment_id = any (locked_ids);
  -- Only ended enrolments. In live ones, the name decides who enrols, so they stay:
  -- enrolments_deciding_by lists them.
  update agents.enrolments e
  set issuer = regexp_replace(e.issuer, agents.pattern_of_name(name), pseudonym, 'g'),
    audience = regexp_replace(e.audience, agents.pattern_of_name(name), pseudonym, 'g'),
    agent_template = regexp_replace(e.agent_template, agents.pattern_of_name(name), pseudonym, 'g'),
    agent_prefix = regexp_replace(e.agent_prefix, agents.pattern_of_name(name), pseudonym, 'g'),
    conditions = regexp_replace(e.conditions::text, agents.pattern_of_name(name), pseudonym, 'g')::jsonb,
    jwks = regexp_replace(e.jwks::text, agents.pattern_of_name(name), pseudonym, 'g')::jsonb
  where agents.has_ended(e) and agents.proofs_name(e, name) and e.enrolment_id = any (locked_ids);
  perform agents.erase_from_webhooks(name, pseudonym);
  delete from artifacts.blocked_senders b where name in (b.agent_id, b.from_agent);
  delete from artifacts.agent_limits l where l.agent_id = name;
  delete from artifacts.totals t
  where t.agent_id = name
    and (t.pending, t.committed, t.superseded, t.grants, t.surplus_bytes) = (0, 0, 0, 0, 0);
  delete from mesh.declined_requests d where name in (d.from_agent, d.to_agent);
  -- The addresses stay reserved, like those of every removed peer. A census that continues after
  -- this agent begins again.
  update mesh.address_leases l
  set agent_id = pseudonym, resting_pubkey = null
  where l.agent_id = name and l.released_at is not null;
  delete from mesh.config_versions v where v.agent_id = name;
  delete from mesh.censuses c where c.after_agent = name;
end
$$;
comment on function agents.erase_few(text, text, text[]) is
  'Erases an agent from the tables that have few rows of it. An enrolment that is not locked is '
  'left for the next call.';

create function public.agent_api_erase_agent(
  agent_id text,
  pseudonym text default null,
  max_entries integer default 2000
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  chosen constant text := coalesce(
    agent_api_erase_agent.pseudonym, 'erased-' || replace(gen_random_uuid()::text, '-', '')
  );
  locked_ids text[];
  most integer;
  erased_events integer;
  mentions jsonb;
  is_complete boolean;
begin
  if agents.is_pseudonym(agent_api_erase_agent.agent_id) or not agents.is_pseudonym(chosen) then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_id", "message": "Must be an agent, and not a pseudonym."}]}';
  end if;
  perform artifacts.refuse_versions();
  locked_ids := agents.lock_enrolments_naming(agent_api_erase_agent.agent_id);
  -- From here on, the agent can write nothing. Its earlier writes are finished, and will be erased.
  perform public.agent_api_remove_agent(agent_api_erase_agent.agent_id, false, agent_api_erase_agent.max_entries);
  -- The policy's file would keep the name, and only the operator can change that file.
  if agents.policy_contains(agent_api_erase_agent.agent_id) then
    raise sqlstate 'PT409' using
      message = 'policy_rule',
      hint = 'The policy names this agent, in a rule, a test or a comment. Apply one that does not, then erase it.';
  end if;
  if agent_api_erase_agent.pseudonym is null then
    -- For a record outside the database: after a restore, the agent is erased again by it.
    perform agents.record_event(
      '{"kind": "operator"}', null, 'name.erased', null, null,
      -- Not the pseudonym: no row leads from it to the name, nor to what a name can be tested with.
      jsonb_build_object('name_hash', encode(agents.hash_of_name(agent_api_erase_agent.agent_id), 'hex'))
    );
  end if;
  perform agents.erase_counted(agent_api_erase_agent.agent_id, agent_api_erase_agent.max_entries);
  most := agents.erase_rows(agent_api_erase_agent.agent_id, chosen, agent_api_erase_agent.max_entries);
  perform agents.erase_few(agent_api_erase_agent.agent_id, chosen, locked_ids);
  erased_events := agents.erase_from_events(agent_api_erase_agent.agent_id, chosen, agent_api_erase_agent.max_entries);

  -- The row of the removal is the last one with the name. Its place takes a hash, so that the agent
  -- stays out.
  mentions := agents.count_mentions(agent_api_erase_agent.agent_id);
  is_complete := greatest(most, erased_events) < agent_api_erase_agent.max_entries
    and mentions ->> 'others' = '1'
    and not exists (
      select from jsonb_each_text(mentions) m where m.key <> 'others' and m.value <> '0'
    )
    and not exists (select from agents.events e where e.subject_agent_id = agent_api_erase_agent.agent_id)
    and not exists (select from agents.events e where e.other_agent_id = agent_api_erase_agent.agent_id)
    and not exists (
      select from agents.events e
      where e.actor_agent_id = agent_api_erase_agent.agent_id and e.actor_agent_id <> e.subject_agent_id
    );
  if is_complete then
    insert into agents.erased_names (name_hash)
    values (agents.hash_of_name(agent_api_erase_agent.agent_id))
    on conflict do nothing;
    delete from agents.removed_agents r where r.agent_id = agent_api_erase_agent.agent_id;
  end if;
  return json_build_object(
    'pseudonym', chosen,
    'events', erased_events,
    'remaining', not is_complete,
    'ended_before', pg_snapshot_xmax(pg_current_snapshot())
  );
end
$$;
comment on function public.agent_api_erase_agent(text, text, integer) is
  'Removes an agent and erases its name: agent keys, grants, peer, rules and requests are deleted; '
  'events, usage, refusals, addresses and the rows of its files, whose bytes the next sweeps '
  'remove, name a random pseudonym instead. A keyed hash of the name keeps the agent out until '
  'agent_api_readmit_agent. At most max_entries of each per call: while remaining '
  'is true, call it again with the pseudonym of the answer. Once every transaction below '
  'ended_before has ended, agent_api_count_mentions says whether somebody named it meanwhile. '
  'Raises invalid_request, policy_rule while the policy names the agent, and misconfigured while '
  'the bucket keeps versions: no sweep can remove the bytes.';

-- schemas/operator/names/holders.sql

-- What an agent that has ended leaves under its name, and how a name gets another holder, who
-- inherits nothing.

create function agents.leads_until(agent_id text) returns timestamptz
language plpgsql
stable
set search_path = ''
as $$
declare
  last_end timestamptz;
begin
  -- The end of what is farthest away: one index lookup each.
  last_end := greatest(
    (
      select max(g.live_until)
      from artifacts.grants g
      where g.from_agent = leads_until.agent_id
    ),
    (
      select max(g.live_until)
      from artifacts.grants g
      where g.grantee = leads_until.agent_id
    ),
    (
      select max(s.live_until)
      from artifacts.standing_grants s
      where s.from_agent = leads_until.agent_id
    ),
    (
      select max(s.live_until)
      from artifacts.standing_grants s
      where s.grantee = leads_until.agent_id
    ),
    (
      select max(a.expires_at)
      from artifacts.artifacts a
      where a.agent_id = leads_until.agent_id and a.state <> 'deleted' and a.ended_at is null
    )
  );
  if last_end is null and (
    agents.holds_something(leads_until.agent_id)
    or exists (
      select
      from artifacts.artifacts a
      where a.agent_id = leads_until.agent_id and (a.state = 'deleted' or a.ended_at is not null)
    )
    or exists (
      select from artifacts.agent_limits l where l.agent_id = leads_until.agent_id
    )
    or exists (
      select
      from agents.keys k
      where k.agent_id = leads_until.agent_id and k.revoked_at is null
    )
  ) then
    last_end := now();
  end if;
  return last_end;
end
$$;
comment on function agents.leads_until(text) is
  'When the last thing ends that an agent left, as far as is known: artifacts and their tombstones, '
  'grants that it gave or received, keys, tags, limits, a peer, rules, lines of the policy. Null: it '
  'has left nothing.';

create function agents.is_remembered(agent_id text) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  -- The first name from this one on: one index lookup each. If nearly all events name one agent, an
  -- equation reads the whole log for another.
  return is_remembered.agent_id in (
      (select min(e.subject_agent_id) from agents.events e where e.subject_agent_id >= is_remembered.agent_id),
      (select min(e.other_agent_id) from agents.events e where e.other_agent_id >= is_remembered.agent_id),
      (
        select min(e.actor_agent_id)
        from agents.events e
        where e.actor_agent_id >= is_remembered.agent_id and e.actor_agent_id <> e.subject_agent_id
      )
    ) is true
    or exists (select from agents.usage u where u.agent_id = is_remembered.agent_id);
end
$$;
comment on function agents.is_remembered(text) is
  'Whether the log of events or the counts still name an agent.';

create function agents.forget_holder(agent_id text) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  -- One index per statement: a condition on either column reads the whole table.
  delete from artifacts.blocked_senders b where b.agent_id = forget_holder.agent_id;
  -- A range of one value: if most agents block one sender, the planner expects as many rows for any
  -- other one, and an equation reads the whole table.
  delete from artifacts.blocked_senders b
  where b.from_agent between forget_holder.agent_id and forget_holder.agent_id;
  -- The callers have released most of them, in bounded steps.
  perform artifacts.release_tasks(forget_holder.agent_id, null);
  delete from artifacts.agent_limits l where l.agent_id = forget_holder.agent_id;
  delete from artifacts.spent_versions s where s.agent_id = forget_holder.agent_id;
  delete from artifacts.totals t
  where t.agent_id = forget_holder.agent_id
    and (t.pending, t.committed, t.superseded, t.grants, t.surplus_bytes) = (0, 0, 0, 0, 0);
  delete from agents.changed_things t where t.actor = forget_holder.agent_id;
  delete from mesh.declined_requests d where d.from_agent = forget_holder.agent_id;
  delete from mesh.declined_requests d where d.to_agent = forget_holder.agent_id;
  delete from agents.enrolled_agents a where a.agent_id = forget_holder.agent_id;
  delete from agents.former_holders f where f.agent_id = forget_holder.agent_id;
  perform artifacts.count_for_enrolment(forget_holder.agent_id);
end
$$;
comment on function agents.forget_holder(text) is
  'Deletes what would pass from one holder of a name to the next, after everything else has ended. '
  'Call it under end_access(agent_id), and rest_addresses after it.';

create function mesh.rest_addresses(agent_ids text[]) returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  -- The addresses rest under a name that nobody has, so that hosts with an older configuration do
  -- not take the next holder for the former one. The public key may return.
  update mesh.address_leases l
  set agent_id = 'rested-' || replace(gen_random_uuid()::text, '-', ''), resting_pubkey = null
  where l.agent_id = any (rest_addresses.agent_ids) and l.released_at is not null;
end
$$;
comment on function mesh.rest_addresses(text[]) is
  'Keeps the released addresses of former holders of names from the next ones. Call it after '
  'everything that locks config_versions.';

-- schemas/operator/names/take_overs.sql

-- Handing a name over: shared with its holder, or taken from it.

create function public.agent_api_share_agent(agent_id text, way text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
  if agents.is_agent_id(agent_api_share_agent.agent_id) is not true then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_id", "message": "Must be 1 to 128 of A-Z a-z 0-9 . _ : @ - and begin with a letter or digit."}]}';
  end if;
  if agent_api_share_agent.way is null
    or agent_api_share_agent.way not in ('operator', 'users') and not exists (
      select
      from agents.enrolments e
      where e.enrolment_id = agent_api_share_agent.way and not agents.has_ended(e)
    )
  then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "way", "message": "Must be operator, users, or the id of an enrolment that has not ended."}]}';
  end if;
  perform agents.end_access(agent_api_share_agent.agent_id);
  perform agents.add_way(agent_api_share_agent.agent_id, agent_api_share_agent.way);
  return json_build_object(
    'agent_id', agent_api_share_agent.agent_id,
    'ways',
    (select to_json(n.ways) from agents.names n where n.agent_id = agent_api_share_agent.agent_id)
  );
end
$$;
comment on function public.agent_api_share_agent(text, text) is
  'Lets another way in become an agent: operator, users, or an enrolment, which takes the place of '
  'an earlier one. It shares all that the agent has: {agent_id, ways}. Idempotent. Raises '
  'invalid_request, agent_name_taken.';

create function public.agent_api_take_over_agent(
  agent_id text,
  max_entries integer default 2000
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  operator constant jsonb := jsonb_build_object('kind', 'operator');
  holder agents.names;
  revoked_keys integer;
  peer_removed boolean;
  revoked_grants integer;
  deleted_artifacts integer;
  counted integer;
  released_tasks integer;
  ended_standing integer;
  is_done boolean;
begin
  perform agents.end_access(agent_api_take_over_agent.agent_id);
  select * into holder from agents.names n where n.agent_id = agent_api_take_over_agent.agent_id for update;
  if holder.agent_id is null or holder.ways = '{operator}' then
    return json_build_object(
      'agent_id', agent_api_take_over_agent.agent_id,
      'keys', 0, 'peer', false, 'grants', 0, 'artifacts', 0, 'remaining', false
    );
  end if;
  perform mesh.enter_policy(agents.tags_of(agent_api_take_over_agent.agent_id));
  if holder.ways <> '{}' then
    -- From here on, nobody can come in, even if the next calls never come.
    update agents.names n set ways = '{}' where n.agent_id = agent_api_take_over_agent.agent_id;
    perform agents.record_event(
      operator, null, 'agent.taken_over', agent_api_take_over_agent.agent_id, null,
      jsonb_build_object('ways', holder.ways)
    );
  end if;
  revoked_keys := (public.agent_api_revoke_agent_keys(agent_api_take_over_agent.agent_id) ->> 'revoked')::integer;
  update agents.enrolled_agents a
  set ended_at = clock_timestamp()
  where a.agent_id = agent_api_take_over_agent.agent_id and a.ended_at is null;
  peer_removed := (public.agent_api_remove_peer(operator, agent_api_take_over_agent.agent_id) ->> 'removed')::boolean;
  -- The grants may belong to artifacts of many agents.
  perform artifacts.lock_sweep();
  ended_standing := artifacts.end_standing_of(
    agent_api_take_over_agent.agent_id, agent_api_take_over_agent.max_entries
  );
  revoked_grants := agents.end_grants(agent_api_take_over_agent.agent_id, agent_api_take_over_agent.max_entries);
  deleted_artifacts := agents.end_artifacts(
    agent_api_take_over_agent.agent_id, false, agent_api_take_over_agent.max_entries
  );
  perform agents.replace_tags(operator, agent_api_take_over_agent.agent_id, '{}');
  -- What was counted about the former holder is written to the log now, before the next one reads.
  counted := agents.erase_counted(agent_api_take_over_agent.agent_id, agent_api_take_over_agent.max_entries);

  released_tasks := artifacts.release_tasks(
    agent_api_take_over_agent.agent_id, agent_api_take_over_agent.max_entries
  );
  is_done := greatest(revoked_grants, deleted_artifacts, counted, released_tasks, ended_standing)
    < agent_api_take_over_agent.max_entries;
  if is_done then
    perform agents.forget_holder(agent_api_take_over_agent.agent_id);
    perform artifacts.begin_versions_anew(agent_api_take_over_agent.agent_id);
    perform mesh.rest_addresses(array[agent_api_take_over_agent.agent_id]);
    update agents.names n
    set ways = '{operator}',
      taken_at = clock_timestamp(),
      held_since = agents.present_transaction()
    where n.agent_id = agent_api_take_over_agent.agent_id;
  end if;
  return json_build_object(
    'agent_id', agent_api_take_over_agent.agent_id,
    'keys', revoked_keys,
    'peer', peer_removed,
    'grants', revoked_grants,
    'artifacts', deleted_artifacts,
    'remaining', not is_done
  );
end
$$;
comment on function public.agent_api_take_over_agent(text, integer) is
  'Takes a name from its holder for the operator: ends the holder''s keys, peer, rules, requests, '
  'tags, limits, the grants from and to it and its artifacts, at most max_entries grants and as many '
  'artifacts per call: {agent_id, keys, peer, grants, artifacts, remaining}. While remaining is '
  'true, call it again; nobody can come in meanwhile. Changes nothing if the name is free or the '
  'operator''s alone.';

create function public.agent_api_readmit_agent(agent_id text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  is_readmitted boolean;
begin
  delete from agents.removed_agents r where r.agent_id = agent_api_readmit_agent.agent_id;
  is_readmitted := found;
  delete from agents.erased_names e where e.name_hash = agents.hash_of_name(agent_api_readmit_agent.agent_id);
  if found then
    -- Nothing tells any more which versions the erased agent's files had.
    perform artifacts.begin_versions_anew(agent_api_readmit_agent.agent_id);
  elsif not is_readmitted then
    return json_build_object('agent_id', agent_api_readmit_agent.agent_id, 'readmitted', false);
  end if;
  perform agents.record_event('{"kind": "operator"}', null, 'agent.readmitted', agent_api_readmit_agent.agent_id);
  return json_build_object('agent_id', agent_api_readmit_agent.agent_id, 'readmitted', true);
end
$$;
comment on function public.agent_api_readmit_agent(text) is
  'Lets a removed or erased agent enrol again, and its users call again. What the removal ended '
  'stays ended. Idempotent: {"readmitted": false} if the agent is neither.';

-- schemas/operator/deployment/structure.sql

-- What protects and speeds up our tables: row level security, constraints, defaults, expressions of
-- generated columns, indexes and triggers.
-- The migrations record what they created, so that the doctor can tell what is missing later.

create table agents.structure (
  part text collate "C" primary key,
  relation text not null,
  statement text not null
);
comment on table agents.structure is
  'What the migrations made in the schemas agents, artifacts and mesh. The last statement of each '
  'calls record_structure.';
comment on column agents.structure.part is
  'The name of the part in words, such as "index agents.events_by_agent".';
comment on column agents.structure.relation is
  'The table of the part, as regclass prints it with an empty search_path.';
comment on column agents.structure.statement is
  'The statement that creates the part again if it is missing or was changed.';

create function agents.present_structure()
returns table (part text, relation text, statement text, object text, is_sound boolean)
language sql
stable
-- With an empty search_path, names in the definitions include their schemas.
set search_path = ''
-- The same definition is the same text, whatever the settings of the session that reads it.
set quote_all_identifiers = off
set intervalstyle = postgres
set datestyle = iso
set timezone = 'UTC'
as $$
  with tables as (
    select c.oid, c.oid::regclass::text as name, c.relrowsecurity
    from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = any (agents.own_schemas()) and c.relkind in ('r', 'p')
  ), columns as (
    select t.oid, t.name, a.attnum, a.attname, a.attnotnull, a.attidentity, a.attgenerated
    from tables t
    join pg_catalog.pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
  )
  select 'row level security of ' || t.name, t.name,
    format('alter table %s enable row level security;', t.name), 'security ' || t.oid, true
  from tables t
  where t.relrowsecurity
  union all
  select 'enabled triggers of ' || t.name, t.name, format('alter table %s enable trigger user;', t.name),
    'enabled triggers ' || t.oid, true
  from tables t
  where not exists (
    select from pg_catalog.pg_trigger g
    where g.tgrelid = t.oid and not g.tgisinternal and g.tgenabled not in ('O', 'A')
  )
  union all
  select format('trigger %s of %s', g.tgname, t.name), t.name,
    format('drop trigger if exists %I on %s; %s;', g.tgname, t.name, pg_get_triggerdef(g.oid)),
    'trigger ' || g.oid, true
  from tables t
  join pg_catalog.pg_trigger g on g.tgrelid = t.oid and not g.tgisinternal
  -- Our triggers call only our functions, and others also make triggers while a migration runs:
  -- an event trigger can give each new table one.
  join pg_catalog.pg_proc f on f.oid = g.tgfoid
  join pg_catalog.pg_namespace n on n.oid = f.pronamespace and n.nspname = any (agents.own_schemas())
  union all
  select format('constraint %s of %s', k.conname, t.name), t.name,
    -- A constraint that was changed or never validated must go first.
    format(
      'alter table %1$s drop constraint if exists %2$I, add constraint %2$I %3$s;',
      t.name, k.conname, pg_get_constraintdef(k.oid)
    ),
    'constraint ' || k.oid, k.convalidated
  from tables t
  join pg_catalog.pg_constraint k on k.conrelid = t.oid
  -- Not-null constraints are read from pg_attribute: not every PostgreSQL release has them here.
  where k.contype in ('p', 'u', 'f', 'c', 'x')
  union all
  select format('not null of %s.%I', c.name, c.attname), c.name,
    format('alter table %s alter column %I set not null;', c.name, c.attname),
    format('not null %s.%s', c.oid, c.attnum), true
  from columns c
  where c.attnotnull
  union all
  select format('default of %s.%I', c.name, c.attname), c.name, format(
      'alter table %s alter column %I set default %s;', c.name, c.attname, pg_get_expr(d.adbin, d.adrelid)
    ),
    format('default %s.%s', c.oid, c.attnum), true
  from columns c
  join pg_catalog.pg_attrdef d on d.adrelid = c.oid and d.adnum = c.attnum
  where c.attgenerated = ''
  union all
  select format('expression of %s.%I', c.name, c.attname), c.name, format(
      'alter table %s alter column %I set expression as (%s);',
      c.name, c.attname, pg_get_expr(d.adbin, d.adrelid)
    ),
    format('expression %s.%s', c.oid, c.attnum), true
  from columns c
  join pg_catalog.pg_attrdef d on d.adrelid = c.oid and d.adnum = c.attnum
  where c.attgenerated = 's'
  union all
  select format('identity of %s.%I', c.name, c.attname), c.name, format(
      'alter table %s alter column %I add generated %s as identity;', c.name, c.attname,
      case c.attidentity when 'a' then 'always' else 'by default' end
    ),
    format('identity %s.%s', c.oid, c.attnum), true
  from columns c
  where c.attidentity <> ''
  union all
  select 'index ' || i.indexrelid::regclass, t.name,
    -- An index that was changed or is not valid has the name.
    format('drop index if exists %s; %s;', i.indexrelid::regclass, pg_get_indexdef(i.indexrelid)),
    'index ' || i.indexrelid, i.indisvalid
  from tables t
  join pg_catalog.pg_index i on i.indrelid = t.oid
  where not exists (
    select from pg_catalog.pg_constraint k
    where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x')
  )
$$;
comment on function agents.present_structure() is
  'The parts of our tables now: {part, relation, statement: as in agents.structure, object: tells '
  'it from others even if its table or column is renamed, is_sound: false for an index that is not '
  'valid and a constraint that was not validated, which count as missing}. Leaves out triggers '
  'that call functions of others.';

create function agents.remade_column(expression agents.structure) returns text
language sql
stable
set search_path = ''
as $$
  select format(
    'alter table %1$s drop column %2$I, add column %2$I %3$s%4$s generated always as %5$s stored%6$s;',
    (remade_column.expression).relation, a.attname, format_type(a.atttypid, a.atttypmod),
    case when a.attcollation <> t.typcollation then ' collate ' || a.attcollation::regcollation end,
    substring((remade_column.expression).statement from ' set expression as (.*);$'),
    (
      select ' not null'
      from agents.structure n
      where n.part = format('not null of %s.%I', (remade_column.expression).relation, a.attname)
    )
  )
  from pg_catalog.pg_attribute a
  join pg_catalog.pg_type t on t.oid = a.atttypid
  where a.attrelid = to_regclass((remade_column.expression).relation)
    and not a.attisdropped
    and format('expression of %s.%I', (remade_column.expression).relation, a.attname)
      = (remade_column.expression).part
$$;
comment on function agents.remade_column(agents.structure) is
  'The statement that makes a column again whose expression was dropped: PostgreSQL cannot give it '
  'back. The column''s indexes and constraints go with it.';

create function agents.missing_structure() returns json
language sql
stable
set search_path = ''
as $$
  select coalesce(
    json_agg(
      json_build_object(
        'part', s.part,
        'statement', coalesce(
          case when p.part is null and s.part like 'expression of %' then agents.remade_column(s) end,
          s.statement
        ),
        'is_changed', p.part is not null
      )
      -- Parts that others depend on come first: a foreign key needs a primary key.
      order by s.statement like '% foreign key %', s.part
    ),
    '[]'
  )
  from agents.structure s
  left join agents.present_structure() p on p.part = s.part and p.is_sound
  where p.part is null
    -- An identity of the other kind also numbers our rows, and its statement would fail.
    or p.statement <> s.statement and s.part not like 'identity of %'
$$;
comment on function agents.missing_structure() is
  'The recorded parts that no longer exist under the same name, or are different (is_changed): '
  '[{part, statement that creates it again, is_changed}].';

-- schemas/operator/deployment/recording.sql

-- Which parts of our tables the migrations made. Every migration but the first calls
-- begin_migration first, and every migration calls record_structure last. What others made or
-- changed before a migration does not count as made by it.

create table agents.structure_before (
  part text collate "C" primary key,
  object text not null,
  statement text not null
);
comment on table agents.structure_before is
  'What our tables had when the migration began that runs now. Empty between migrations.';
comment on column agents.structure_before.part is 'As in agents.structure.';
comment on column agents.structure_before.object is 'As present_structure returns it.';
comment on column agents.structure_before.statement is
  'The statement that would have created the part then.';

create function agents.begin_migration() returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  -- If a migration ran without a transaction and failed halfway, what it has made is its own.
  if exists (select from agents.structure_before) then
    return;
  end if;
  insert into agents.structure_before (part, object, statement)
  select p.part, p.object, p.statement
  from agents.present_structure() p;
end
$$;
comment on function agents.begin_migration() is
  'Notes what our tables have, so that record_structure can tell what the migration made. Only '
  'migrations call it, as their first statement.';

create function agents.record_structure() returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  if exists (select from agents.structure) and not exists (select from agents.structure_before) then
    raise exception 'the migration did not begin with agents.begin_migration()';
  end if;

  insert into agents.structure as s (part, relation, statement)
  select p.part, p.relation, p.statement
  from agents.present_structure() p
  where p.is_sound
    -- What was there before must be recorded: otherwise others made it.
    and not exists (
      select from agents.structure_before b
      where (b.object = p.object or b.part = p.part)
        and b.part not in (select o.part from agents.structure o)
    )
    -- What is as it was before stays as recorded: if it differs, others changed it.
    and not exists (
      select from agents.structure_before b
      where b.part = p.part and b.statement = p.statement
    )
  on conflict on constraint structure_pkey do update
    set relation = excluded.relation, statement = excluded.statement;

  -- What the migration dropped or renamed. If a part was missing before, others dropped it.
  delete from agents.structure s
  where s.part not in (select p.part from agents.present_structure() p)
    and (
      s.part in (select b.part from agents.structure_before b)
      or to_regclass(s.relation) is null
    );
  delete from agents.structure_before b where b.part is not null;
end
$$;
comment on function agents.record_structure() is
  'Records in agents.structure what the migration made, changed and dropped. Only migrations call '
  'it, as their last statement.';

-- schemas/operator/deployment/exposure.sql

-- Who besides service_role can reach the bucket or our tables, as far as the catalogue tells.

create function agents.readable_policies() returns json
language sql
stable
-- With an empty search_path, names of functions in the expressions include their schemas.
set search_path = ''
as $$
  select coalesce(
    json_agg(
      json_build_object(
        'table', p.polrelid::regclass::text,
        'name', p.polname,
        'command', case p.polcmd
          when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' when 'd' then 'delete'
          else 'all'
        end,
        'is_permissive', p.polpermissive,
        'is_for_everybody', 0 = any (p.polroles),
        'roles', array(
          select r.rolname
          from pg_catalog.pg_roles r
          where r.oid = any (p.polroles) and not r.rolbypassrls and not r.rolsuper
          order by r.rolname
        ),
        'using', pg_get_expr(p.polqual, p.polrelid),
        'check', pg_get_expr(p.polwithcheck, p.polrelid)
      )
      order by p.polrelid::regclass::text, p.polname
    ),
    '[]'
  )
  from pg_catalog.pg_policy p
  join pg_catalog.pg_class c on c.oid = p.polrelid
  join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where n.nspname = any (agents.own_schemas())
    or n.nspname = 'storage' and c.relname in ('objects', 'buckets')
$$;
comment on function agents.readable_policies() is
  'The policies of our tables, of storage.objects and of storage.buckets: [{table, name, command, '
  'is_permissive, is_for_everybody, roles, using, check}]. roles leaves out roles that bypass row '
  'level security.';

create function artifacts.unprotected_storage() returns text[]
language sql
stable
set search_path = ''
as $$
  select array(
    select 'storage.' || c.relname
    from pg_catalog.pg_class c
    where c.relnamespace = 'storage'::regnamespace
      and c.relname in ('objects', 'buckets')
      and not c.relrowsecurity
    order by c.relname
  )
$$;
comment on function artifacts.unprotected_storage() is
  'Storage''s tables whose row level security is off: everybody with the publishable key can use '
  'them.';

create function agents.function_digests(operations text[]) returns json
language sql
stable
set search_path = ''
as $$
  select coalesce(json_object_agg(format('%s.%s', n.nspname, p.proname), md5(p.prosrc)), '{}')
  from pg_catalog.pg_proc p
  join pg_catalog.pg_namespace n on n.oid = p.pronamespace
  where n.nspname = any (agents.own_schemas())
    or n.nspname = 'public' and p.proname = any (function_digests.operations)
$$;
comment on function agents.function_digests(text[]) is
  'The MD5 of the body of each of our functions, by its name with its schema. operations: the '
  'names of our functions in public, which may also have functions of others.';

-- schemas/operator/deployment/open_objects.sql

-- What others made that opens our tables. The catalogue tells what views and SQL-standard bodies
-- depend on. For other functions, only their text tells. Nothing tells what dynamic SQL reads.

create function agents.without_comments(body text) returns text
language sql
immutable
return regexp_replace(regexp_replace(without_comments.body, '/\*.*?\*/', ' ', 'g'), '--[^\n]*', ' ', 'g');
comment on function agents.without_comments(text) is 'The text of an SQL function, for a search.';

create function agents.text_names_our_tables(body text) returns boolean
language sql
stable
set search_path = ''
as $$
  select exists (
    select
    from (select agents.without_comments(text_names_our_tables.body) as text) b
    join (
      select n.nspname as schema,
        format(
          '(?:%1$s|"%1$s")\s*\.\s*(?:%2$s)',
          n.nspname,
          string_agg(format('%1$s\M|"%1$s"', c.relname), '|')
        ) as pattern
      from pg_catalog.pg_class c
      join pg_catalog.pg_namespace n on n.oid = c.relnamespace
      where n.nspname = any (agents.own_schemas()) and c.relkind in ('r', 'p', 'v', 'm')
      group by n.nspname
    ) o on true
    -- Where only a table can be named.
    where b.text ~* format('\m(?:from|join|update|into|only|using|table|truncate|copy|lock)[\s(]+%s', o.pattern)
      or b.text ~* format(
        '\m(?:from|using)\M(?:(?!\m(?:select|set|on|where|group|order|returning)\M)[^;()])*,\s*%s', o.pattern
      )
      -- Elsewhere, agents.keys may also be the column keys of an app's own table agents. Then the
      -- text also has the name agents alone.
      or b.text ~* format('(?<![\w".])(?<!\.\s*)%s', o.pattern)
        and b.text !~* format('\m%s\M(?!"?\s*\.)', o.schema)
  )
$$;
comment on function agents.text_names_our_tables(text) is
  'Whether the text of an SQL function names one of our tables with its schema, outside comments.';

create function agents.path_leads_to_our_tables(settings text[], body text) returns boolean
language sql
stable
set search_path = ''
as $$
  select exists (
    select
    from unnest(path_leads_to_our_tables.settings) s (setting)
    cross join lateral regexp_split_to_table(substr(s.setting, length('search_path=') + 1), '\s*,\s*')
      p (schema)
    join pg_catalog.pg_namespace n
      on n.nspname = trim(both '"' from p.schema) and n.nspname = any (agents.own_schemas())
    join pg_catalog.pg_class c on c.relnamespace = n.oid and c.relkind in ('r', 'p', 'v', 'm')
    where starts_with(s.setting, 'search_path=')
      and agents.without_comments(path_leads_to_our_tables.body)
        ~* format('(?<!\.\s*"?)\m%s\M', c.relname)
  )
$$;
comment on function agents.path_leads_to_our_tables(text[], text) is
  'Whether the search_path among the settings of a function has one of our schemas, and the text '
  'of the function has the name of one of its tables.';

create function agents.open_objects() returns json
language sql
stable
set search_path = ''
as $$
  with recursive outsiders as (
    select r.oid from pg_catalog.pg_roles r where r.rolname in ('anon', 'authenticated')
  ), ours as (
    select c.oid, c.relkind, format('%I.%I', n.nspname, c.relname) as name, n.nspname as schema
    from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = any (agents.own_schemas()) and c.relkind in ('r', 'p', 'v', 'm', 'S')
  ), readers as (
    -- Views of others that read ours, directly or through other views.
    select w.ev_class as oid
    from pg_catalog.pg_depend d
    join pg_catalog.pg_rewrite w on w.oid = d.objid
    where d.classid = 'pg_catalog.pg_rewrite'::regclass
      and d.refclassid = 'pg_catalog.pg_class'::regclass
      and d.refobjid in (select o.oid from ours o)
      and w.ev_class <> all (array(select o.oid from ours o))
    union
    select w.ev_class
    from readers v
    join pg_catalog.pg_depend d
      on d.refobjid = v.oid
      and d.refclassid = 'pg_catalog.pg_class'::regclass
      and d.classid = 'pg_catalog.pg_rewrite'::regclass
    join pg_catalog.pg_rewrite w on w.oid = d.objid
  ), found as (
    select distinct 'view' as kind, v.oid::regclass::text as object,
      format('revoke all on %s from public, anon, authenticated;', v.oid::regclass) as statement
    from readers v
    join pg_catalog.pg_class c on c.oid = v.oid and c.relkind in ('v', 'm')
    cross join outsiders r
    -- With this option, a view reads with the rights of its caller, who has none.
    where not exists (
        select from pg_options_to_table(c.reloptions) o
        where o.option_name = 'security_invoker' and o.option_value::boolean
      )
      and has_schema_privilege(r.oid, c.relnamespace, 'usage')
      and (
        has_table_privilege(r.oid, c.oid, 'select, insert, update, delete')
        or has_any_column_privilege(r.oid, c.oid, 'select, insert, update')
      )
    union all
    select distinct 'function', p.oid::regprocedure::text,
      format('revoke execute on function %s from public, anon, authenticated;', p.oid::regprocedure)
    from pg_catalog.pg_proc p
    join pg_catalog.pg_namespace n on n.oid = p.pronamespace
    cross join outsiders r
    where p.prosecdef
      -- Nobody can call these, whatever their privileges.
      and p.prorettype not in ('trigger'::regtype, 'event_trigger'::regtype)
      and n.nspname <> all (agents.own_schemas())
      and has_schema_privilege(r.oid, p.pronamespace, 'usage')
      and has_function_privilege(r.oid, p.oid, 'execute')
      and (
        -- Of a body that is text, the catalogue does not know what it uses.
        agents.text_names_our_tables(p.prosrc)
        or agents.path_leads_to_our_tables(p.proconfig, p.prosrc)
        or exists (
          select from pg_catalog.pg_depend d
          where d.classid = 'pg_catalog.pg_proc'::regclass
            and d.objid = p.oid
            and d.refclassid = 'pg_catalog.pg_class'::regclass
            and d.refobjid in (select o.oid from ours o union select v.oid from readers v)
        )
      )
    union all
    select distinct 'own', f.schema, format(
        e'revoke all on all tables in schema %1$I from public, anon, authenticated;\n'
          'revoke all on all sequences in schema %1$I from public, anon, authenticated;\n'
          'revoke all on all functions in schema %1$I from public, anon, authenticated;\n'
          'grant execute on all functions in schema %1$I to service_role;',
        f.schema
      )
    from (
      select o.schema
      from ours o
      cross join outsiders r
      where case
        when o.relkind = 'S' then has_sequence_privilege(r.oid, o.oid, 'usage, select, update')
        else has_table_privilege(r.oid, o.oid, 'select, insert, update, delete, truncate, references, trigger')
          or has_any_column_privilege(r.oid, o.oid, 'select, insert, update, references')
      end
      union
      select n.nspname
      from pg_catalog.pg_proc p
      join pg_catalog.pg_namespace n on n.oid = p.pronamespace
      cross join outsiders r
      where n.nspname = any (agents.own_schemas()) and has_function_privilege(r.oid, p.oid, 'execute')
    ) f
    union all
    select 'member', m.rolname, format('revoke service_role from %I;', m.rolname)
    from pg_catalog.pg_auth_members a
    join pg_catalog.pg_roles g on g.oid = a.roleid and g.rolname = 'service_role'
    join pg_catalog.pg_roles m on m.oid = a.member
    -- The platform's own roles.
    where not m.rolsuper
      and m.rolname not in ('authenticator', 'postgres', 'dashboard_user')
      and not starts_with(m.rolname, 'supabase_')
  )
  select coalesce(
    json_agg(
      json_build_object('kind', f.kind, 'object', f.object, 'statement', f.statement)
      order by f.kind, f.object
    ),
    '[]'
  )
  from found f
$$;
comment on function agents.open_objects() is
  'What lets anon, authenticated or another role than service_role reach our tables: [{kind, '
  'object, statement that ends it}]. kind: view (of others, materialized ones too), function (of '
  'others, that runs as its owner and names our tables), own (a schema of ours with an open table '
  'or function), member (a role that was granted service_role). A function that builds its SQL '
  'from text without naming a table is not found.';

-- schemas/operator/deployment/strangers.sql

-- What others made on our tables that stops our writes, and which of our functions run as their
-- owner.

create function agents.strange_structure() returns json
language sql
stable
set search_path = ''
as $$
  select coalesce(
    json_agg(
      json_build_object('part', f.part, 'statement', f.statement, 'kind', f.kind) order by f.part
    ),
    '[]'
  )
  from (
    select distinct o.part, 'stranger' as kind, o.statement
    from (
      select format('constraint %s of %s', k.conname, k.conrelid::regclass) as part, k.conrelid as relation,
        format('alter table %s drop constraint %I;', k.conrelid::regclass, k.conname) as statement
      from pg_catalog.pg_constraint k
      where k.contype in ('p', 'u', 'f', 'c', 'x')
      union all
      select format('trigger %s of %s', g.tgname, g.tgrelid::regclass), g.tgrelid,
        format('drop trigger %I on %s;', g.tgname, g.tgrelid::regclass)
      from pg_catalog.pg_trigger g
      where not g.tgisinternal
      union all
      -- A foreign key of another table stops the deletion of our rows.
      select format('constraint %s of %s', k.conname, k.conrelid::regclass), k.confrelid,
        format('alter table %s drop constraint %I;', k.conrelid::regclass, k.conname)
      from pg_catalog.pg_constraint k
      where k.contype = 'f' and k.confrelid <> k.conrelid
      union all
      select 'index ' || i.indexrelid::regclass, i.indrelid, format('drop index %s;', i.indexrelid::regclass)
      from pg_catalog.pg_index i
      where i.indisunique
        and not exists (
          select from pg_catalog.pg_constraint k
          where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x')
        )
      union all
      -- Our inserts do not name the column.
      select format('not null of %s.%I', a.attrelid::regclass, a.attname), a.attrelid,
        format('alter table %s alter column %I drop not null;', a.attrelid::regclass, a.attname)
      from pg_catalog.pg_attribute a
      where a.attnum > 0 and not a.attisdropped and a.attnotnull and not a.atthasdef and a.attidentity = ''
        -- The columns of a primary key are never null.
        and not exists (
          select from pg_catalog.pg_index i
          where i.indrelid = a.attrelid and i.indisprimary and a.attnum = any (i.indkey)
        )
    ) o
    join pg_catalog.pg_class c on c.oid = o.relation and c.relkind in ('r', 'p')
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = any (agents.own_schemas()) and o.part not in (select s.part from agents.structure s)
    union all
    select format('rule %s of %s', w.rulename, w.ev_class::regclass), 'stranger',
      format('drop rule %I on %s;', w.rulename, w.ev_class::regclass)
    from pg_catalog.pg_rewrite w
    join pg_catalog.pg_class c on c.oid = w.ev_class and c.relkind in ('r', 'p')
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = any (agents.own_schemas())
    union all
    select 'sequence of agents.events', 'behind',
      'select setval(pg_get_serial_sequence(''agents.events'', ''event_id''), '
        || '(select max(e.event_id) from agents.events e));'
    where (select max(e.event_id) from agents.events e)
      > coalesce(pg_sequence_last_value(pg_get_serial_sequence('agents.events', 'event_id')::regclass), 0)
  ) f
$$;
comment on function agents.strange_structure() is
  'What no migration made on our tables and may stop their writes or swallow them: [{part, '
  'statement that removes it, kind}]. kind: stranger (a trigger, a rule, a unique index or a '
  'constraint, also a not-null, or a foreign key of another table to one of ours), behind (a '
  'sequence whose next number a row already has).';

create function agents.definers(operations text[]) returns json
language sql
stable
set search_path = ''
as $$
  select coalesce(
    json_object_agg(format('%s.%s', n.nspname, p.proname), p.oid::regprocedure::text), '{}'
  )
  from pg_catalog.pg_proc p
  join pg_catalog.pg_namespace n on n.oid = p.pronamespace
  where p.prosecdef
    and (
      n.nspname = any (agents.own_schemas())
      or n.nspname = 'public' and p.proname = any (definers.operations)
    )
$$;
comment on function agents.definers(text[]) is
  'Those of our functions that run as their owner: their signatures by name. operations: as in '
  'function_digests.';

-- schemas/operator/deployment/shared_tables.sql

create function agents.shared_tables() returns json
language sql
stable
set search_path = ''
as $$
  with ours as (
    select c.oid, c.relnamespace
    from pg_catalog.pg_class c
    join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where n.nspname = any (agents.own_schemas()) and c.relkind in ('r', 'p')
  ), found as (
    select 'child' as kind, i.inhrelid::regclass::text as object, i.inhparent::regclass::text as other,
      format('alter table %s no inherit %s;', i.inhrelid::regclass, i.inhparent::regclass) as statement
    from pg_catalog.pg_inherits i
    where i.inhparent in (select o.oid from ours o)
    union all
    select 'parent', i.inhparent::regclass::text, i.inhrelid::regclass::text,
      format(
        case when c.relispartition then 'alter table %2$s detach partition %1$s;'
          else 'alter table %1$s no inherit %2$s;' end,
        i.inhrelid::regclass, i.inhparent::regclass
      )
    from pg_catalog.pg_inherits i
    join pg_catalog.pg_class c on c.oid = i.inhrelid
    where i.inhrelid in (select o.oid from ours o)
    union all
    select 'publication', p.pubname, string_agg(r.prrelid::regclass::text, ', ' order by r.prrelid),
      format(
        'alter publication %I drop table %s;', p.pubname,
        string_agg(r.prrelid::regclass::text, ', ' order by r.prrelid)
      )
    from pg_catalog.pg_publication p
    join pg_catalog.pg_publication_rel r on r.prpubid = p.oid
    where r.prrelid in (select o.oid from ours o)
    group by p.pubname
    union all
    select 'publication', p.pubname, string_agg(n.nspname, ', ' order by n.nspname),
      format(
        'alter publication %I drop tables in schema %s;', p.pubname,
        string_agg(quote_ident(n.nspname), ', ' order by n.nspname)
      )
    from pg_catalog.pg_publication p
    join pg_catalog.pg_publication_namespace s on s.pnpubid = p.oid
    join pg_catalog.pg_namespace n on n.oid = s.pnnspid
    where n.nspname = any (agents.own_schemas())
    group by p.pubname
    union all
    -- A publication for all tables cannot leave one out.
    select 'publication', p.pubname, 'all tables',
      format(
        e'begin;\ndrop publication %1$I;\ncreate publication %1$I%2$s with (publish = %3$L%4$s);\ncommit;',
        p.pubname,
        (
          select ' for tables in schema ' || string_agg(distinct quote_ident(n.nspname), ', ')
          from pg_catalog.pg_class c
          join pg_catalog.pg_namespace n on n.oid = c.relnamespace
          where c.relkind in ('r', 'p')
            and c.relpersistence = 'p'
            and n.nspname !~ '^pg_'
            and n.nspname <> 'information_schema'
            and n.nspname <> all (agents.own_schemas())
        ),
        concat_ws(
          ', ', case when p.pubinsert then 'insert' end, case when p.pubupdate then 'update' end,
          case when p.pubdelete then 'delete' end, case when p.pubtruncate then 'truncate' end
        ),
        case when p.pubviaroot then ', publish_via_partition_root = true' end
      )
    from pg_catalog.pg_publication p
    where p.puballtables
  )
  select coalesce(
    json_agg(
      json_build_object('kind', f.kind, 'object', f.object, 'other', f.other, 'statement', f.statement)
      order by f.kind, f.object, f.other
    ),
    '[]'
  )
  from found f
$$;
comment on function agents.shared_tables() is
  'What carries rows of our tables to others, or rows of others into ours, without a privilege on '
  'ours: [{kind, object, other, statement that ends it}]. kind: publication (object; other: what of '
  'ours it publishes), child (a table, object, that inherits from ours, other), parent (a table, '
  'object, that ours, other, inherits from). No migration makes one.';

-- schemas/operator/deployment/deployment.sql

-- Compares this database with a checkout of the project, for `agentops doctor`.

create function agents.recorded_migrations() returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  recorded json;
begin
  -- Dynamic SQL, because this table is missing if migrations were applied by other means. The
  -- digest leaves out white space and semicolons, because each tool splits migrations into
  -- statements differently.
  execute $query$
    select coalesce(
      json_agg(
        json_build_object(
          'version', m.version,
          'name', m.name,
          'digest', md5(translate(array_to_string(m.statements, ''), E' \t\r\n;', ''))
        )
        order by m.version
      ),
      '[]'
    )
    from supabase_migrations.schema_migrations m
  $query$ into recorded;
  return recorded;
exception when undefined_table or invalid_schema_name or insufficient_privilege then
  return null;
end
$$;
comment on function agents.recorded_migrations() is
  'The migrations on record: [{version, name, digest}], or null if the records cannot be read.';

create function public.agent_api_describe_schema() returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select json_build_object(
    -- The number of files in supabase/migrations/, so it grows with each release that has one.
    'revision', 1,
    'migrations', agents.recorded_migrations()
  );
$$;
comment on function public.agent_api_describe_schema() is
  'Which schema this is: {revision, migrations: [{version, name, digest}] or null if their records '
  'cannot be read}. A digest is the MD5 of the text without white space and semicolons. `agentops` '
  'asks before its first call.';

create function public.agent_api_inspect_deployment(operations text[]) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  outsiders constant text[] := array['anon', 'authenticated'];
  callable_operations text[];
  open_operations text[];
  open_schemas text[];
  swept artifacts.sweeps;
begin
  select
    coalesce(array_agg(p.proname) filter (where has_function_privilege(p.oid, 'execute')), '{}'),
    coalesce(
      array_agg(p.proname order by p.proname) filter (where exists (
        select from pg_catalog.pg_roles r
        where r.rolname = any (outsiders) and has_function_privilege(r.oid, p.oid, 'execute')
      )),
      '{}'
    )
  into callable_operations, open_operations
  from pg_catalog.pg_proc p
  where p.pronamespace = 'public'::regnamespace
    and p.proname = any (agent_api_inspect_deployment.operations);

  select coalesce(array_agg(n.nspname order by n.nspname), '{}') into open_schemas
  from pg_catalog.pg_namespace n
  where n.nspname = any (agents.own_schemas())
    and exists (
      select from pg_catalog.pg_roles r
      where r.rolname = any (outsiders) and has_schema_privilege(r.oid, n.oid, 'usage')
    );

  select * into swept from artifacts.sweeps;

  return json_build_object(
    'time', agents.iso_timestamp(clock_timestamp()),
    'migrations', agents.recorded_migrations(),
    'missing_operations', array(
      select o.name
      from unnest(agent_api_inspect_deployment.operations) as o (name)
      where o.name <> all (callable_operations)
      order by o.name
    ),
    'open_operations', open_operations,
    'open_schemas', open_schemas,
    'functions', agents.function_digests(agent_api_inspect_deployment.operations),
    'missing_structure', agents.missing_structure(),
    'definers', agents.definers(agent_api_inspect_deployment.operations),
    'open_objects', agents.open_objects(),
    'strange_structure', agents.strange_structure(),
    'shared_tables', agents.shared_tables(),
    'policies', agents.readable_policies(),
    'unprotected_storage', artifacts.unprotected_storage(),
    'bucket_versioning', artifacts.versioning_status(),
    'held_log', agents.held_log(),
    'parked_tasks', artifacts.count_parked(),
    'parked_grant_id', artifacts.first_parked(),
    'webhooks', agents.webhook_backlog(),
    'installed_at', agents.iso_timestamp(swept.installed_at),
    'swept_at', agents.iso_timestamp(swept.swept_at),
    'sweep_schedule', swept.schedule
  );
end
$$;
comment on function public.agent_api_inspect_deployment(text[]) is
  'Compares this database with a checkout whose SQL functions in public have these names: {time, '
  'migrations: [{version, name, digest}] or null if their records cannot be read, '
  'missing_operations: those that service_role cannot call, open_operations and open_schemas: '
  'those that anon or authenticated may use, functions: the MD5 of each body by name, '
  'missing_structure, definers, open_objects, strange_structure, shared_tables, policies, '
  'unprotected_storage, bucket_versioning, held_log, parked_tasks, parked_grant_id, webhooks, installed_at, swept_at, sweep_schedule}. A '
  'digest of a migration is the MD5 of its text without white space and semicolons.';

-- schemas/operator/restores/restores.sql

-- After a restore: the operator's `agentops restore after` calls this before anything else.

create function public.agent_api_after_restore() returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  begun agents.epochs;
  newest_transaction xid8;
begin
  -- Lock before the epoch is read. Otherwise, a peer that registers meanwhile would begin at the
  -- old number.
  lock table mesh.config_versions in exclusive mode;
  newest_transaction := greatest(
    -- xid8 has no max() before PostgreSQL 16.
    (select n.transaction_id from agents.events n order by n.transaction_id desc, n.event_id desc limit 1),
    (select t.transaction_id from agents.agent_tags t order by t.transaction_id desc limit 1),
    (select g.transaction_id from artifacts.grants g order by g.transaction_id desc limit 1)
  );
  update agents.epochs e
  set epoch = agents.new_epoch(),
      begun_at = clock_timestamp(),
      -- A clock that went back must not bring versions back.
      first_version_after = greatest(
        clock_timestamp(), e.first_version_after + interval '1 day'
      ),
      -- Units of 10 microseconds since 1970. Every version that was handed out before is lower: a
      -- version rises by one per change, and a change takes longer than 10 microseconds. The number
      -- has 15 digits until 2286, so that every client reads it exactly. The other two values are
      -- for a clock that went back.
      first_config_version = greatest(
        (extract(epoch from clock_timestamp()) * 100000)::bigint,
        e.first_config_version + 1,
        (select max(v.version) + 1 from mesh.config_versions v)
      ),
      -- From now on, every row is below the horizon.
      transaction_offset = greatest(
        e.transaction_offset,
        newest_transaction::text::bigint + 1 - pg_snapshot_xmin(pg_current_snapshot())::text::bigint
      )
  where e.only_row
  returning e.* into begun;
  update mesh.config_versions v
  set version = begun.first_config_version
  where v.version < begun.first_config_version;
  -- Otherwise, a host that once reported a version it never received would stay a sign.
  update mesh.liveness l
  set config_version_highest = null,
      rendering_revision_highest = null
  where l.config_version_highest is not null or l.rendering_revision_highest is not null;

  perform agents.record_event(
    '{"kind": "operator"}', null, 'epoch.begun', null, null,
    jsonb_build_object('epoch', begun.epoch, 'first_config_version', begun.first_config_version)
  );
  return json_build_object(
    'epoch', begun.epoch,
    'begun_at', agents.iso_timestamp(begun.begun_at),
    'first_config_version', begun.first_config_version
  );
end
$$;
comment on function public.agent_api_after_restore() is
  'Begins another epoch, after the database was restored: every position that was handed out is '
  'now refused with position_expired, every config_version is raised beyond any that was ever '
  'handed out, the next versions of all files are, too, and the transactions of rows from another cluster are now in the past. Returns '
  '{epoch, begun_at, first_config_version}.';

-- schemas/operator/restores/restore_signs.sql

-- Signs that this database was restored from a backup and agent_api_after_restore was not called
-- since, for `agentops doctor`; and what `agentops restore after` lists.

create function public.agent_api_find_restore_signs(
  rendering_revision integer,
  max_entries integer
) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  with revision as (
    -- After a rollback of the functions, hosts have received higher versions than now.
    select greatest(agent_api_find_restore_signs.rendering_revision, max(l.rendering_revision_highest)) as highest
    from mesh.liveness l
  ), ahead as (
    select l.agent_id, l.config_version_highest,
      v.version + agent_api_find_restore_signs.rendering_revision as config_version
    from mesh.liveness l
    join mesh.config_versions v on v.agent_id = l.agent_id
    cross join revision r
    where l.config_version_highest > v.version + r.highest and not v.has_false_reports
    order by l.agent_id
    limit agent_api_find_restore_signs.max_entries
  ), found as (
    -- Only /commit stores sealed objects, and it writes the row first. Object names are random, so
    -- the first 2000 objects of a larger bucket are a sample.
    select j.object_name, j.stored_at
    from artifacts.judge_objects('sealed/', artifacts.end_of_folder('sealed/'), 2000) j
    where j.standing = 'unknown' and not j.is_pending
    union
    -- Orphans, uploads too, that the sweep found when they were 14 days old.
    select o.object_name, s.created_at
    from artifacts.orphans o
    cross join lateral (
      select i.created_at from artifacts.current_objects i where i.name collate "C" = o.object_name limit 1
    ) s
  ), unknown as (
    select f.object_name, f.stored_at
    from found f
    -- agent_api_after_restore has already reported the objects from before the epoch began.
    where f.stored_at > (select e.begun_at from agents.epochs e)
    order by f.object_name
    limit agent_api_find_restore_signs.max_entries
  )
  select json_build_object(
    'epoch', e.epoch,
    'begun_at', agents.iso_timestamp(e.begun_at),
    'newest_event_at', (
      select agents.iso_timestamp(n.occurred_at) from agents.events n order by n.event_id desc limit 1
    ),
    -- True if a dump was restored into another cluster.
    'is_ahead_of_its_transactions', coalesce(
      (
        select n.transaction_id > pg_snapshot_xmax(agents.present_snapshot())
        from agents.events n
        order by n.transaction_id desc, n.event_id desc
        limit 1
      ),
      false
    ),
    'peers_ahead', (
      select coalesce(
        json_agg(
          json_build_object(
            'agent_id', a.agent_id,
            'config_version_highest', a.config_version_highest,
            'config_version', a.config_version
          )
          order by a.agent_id
        ),
        '[]'
      )
      from ahead a
    ),
    'unknown_objects', (
      select coalesce(
        json_agg(
          json_build_object('path', u.object_name, 'stored_at', agents.iso_timestamp(u.stored_at))
          order by u.object_name
        ),
        '[]'
      )
      from unknown u
    )
  )
  from agents.epochs e
$$;
comment on function public.agent_api_find_restore_signs(integer, integer) is
  'Signs that the database is older than what agents and Storage have seen: {epoch, begun_at, '
  'newest_event_at | null, is_ahead_of_its_transactions: it has events of transactions in the '
  'future, peers_ahead: [{agent_id, config_version_highest, config_version}] of hosts that have '
  'reported a later configuration than the current one, except those with has_false_reports, '
  'unknown_objects: [{path, stored_at}] that belong to no artifact}, at most max_entries of each.';

create function public.agent_api_list_live_keys(
  max_entries integer,
  after text default ''
) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  with examined as (
    select k.key_id, k.agent_id, k.label, k.created_at,
      k.revoked_at is null and (k.expires_at is null or k.expires_at > now()) as is_live
    from agents.keys k
    where k.key_id > agent_api_list_live_keys.after
    order by k.key_id
    limit agent_api_list_live_keys.max_entries
  )
  select json_build_object(
    'found', coalesce(
      json_agg(
        json_build_object(
          'key_id', e.key_id,
          'agent_id', e.agent_id,
          'label', e.label,
          'created_at', agents.iso_timestamp(e.created_at),
          'last_used_at', (
            select agents.iso_timestamp(u.last_used_at)
            from agents.key_uses u
            where u.key_id = e.key_id
          )
        )
        order by e.key_id
      ) filter (where e.is_live),
      '[]'
    ),
    'next', case when count(*) = agent_api_list_live_keys.max_entries then max(e.key_id) end
  )
  from examined e
$$;
comment on function public.agent_api_list_live_keys(integer, text) is
  'The live agent keys among the max_entries keys after the given id: {found: [{key_id, agent_id, '
  'label | null, created_at, last_used_at | null}], next: where the next page begins | null}.';

-- schemas/operator/restores/record.sql

-- The record of endings: events that the operator keeps outside the database. After a restore,
-- `agentops restore after --record` makes again what they say. An event of the record is found
-- here by its number and its time, because a restore gives the numbers of lost events out again.

create table agents.replayed_endings (
  event_id text collate "C",
  recorded_at text collate "C",

  constraint an_ending_is_replayed_once primary key (event_id, recorded_at)
);
comment on table agents.replayed_endings is
  'The events of a record that were replayed after a restore. Rows stay for ever: otherwise, the '
  'same record would later end what was made since then. Only a restore adds rows.';

create function public.agent_api_read_project() returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
begin
  return json_build_object(
    -- No agent has a name with spaces, so this is the hash of no name.
    'project', encode(agents.hash_of_name('the project of a record'), 'hex')
  );
end
$$;
comment on function public.agent_api_read_project() is
  'A random identifier of this database, the same after a restore and in a copy: {project}. A '
  'record of endings names it.';

create function public.agent_api_find_lost_events(recorded jsonb) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  oldest_kept constant bigint := (select min(e.event_id) from agents.events e);
begin
  return json_build_object('lost', (
    select coalesce(json_agg(r.place order by r.place), '[]')
    from (
      select
        l.line ->> 'event_id' as event_id,
        substr(l.line ->> 'event_id', 5)::bigint as number,
        l.line ->> 'at' as recorded_at,
        l.place - 1 as place
      from jsonb_array_elements(agent_api_find_lost_events.recorded) with ordinality as l (line, place)
    ) r
    -- Older events were in the backup, and have been deleted since.
    where coalesce(r.number >= oldest_kept, true)
      and not exists (
        select from agents.events e
        where e.event_id = r.number and agents.iso_timestamp(e.occurred_at) = r.recorded_at
      )
      and not exists (
        select from agents.replayed_endings p
        where p.event_id = r.event_id and p.recorded_at = r.recorded_at
      )
  ));
end
$$;
comment on function public.agent_api_find_lost_events(jsonb) is
  'Which events of a record a restore has lost: recorded is [{event_id, at}], at most a thousand. '
  '{lost: [place in recorded, from 0]}: those that the log does not have, and that '
  'agent_api_note_replayed_event was not called for.';

create function public.agent_api_note_replayed_event(event_id text, recorded_at text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
  insert into agents.replayed_endings (event_id, recorded_at)
  values (agent_api_note_replayed_event.event_id, agent_api_note_replayed_event.recorded_at)
  on conflict do nothing;
  perform agents.record_event(
    '{"kind": "operator"}', null, 'ending.replayed', null, agent_api_note_replayed_event.event_id,
    jsonb_build_object('recorded_at', agent_api_note_replayed_event.recorded_at)
  );
  return json_build_object('event_id', agent_api_note_replayed_event.event_id);
end
$$;
comment on function public.agent_api_note_replayed_event(text, text) is
  'Records that what an event of a record says was made again, so that agent_api_find_lost_events '
  'leaves it out for ever.';

create function agents.next_erasable_name(after text) returns text
language sql
stable
set search_path = ''
-- One index lookup per table, like next_name.
as $$
  select least(
    agents.next_name(next_erasable_name.after),
    (select min(e.subject_agent_id) from agents.events e where e.subject_agent_id > next_erasable_name.after),
    (select min(e.other_agent_id) from agents.events e where e.other_agent_id > next_erasable_name.after),
    (select min(r.agent_id) from agents.removed_agents r where r.agent_id > next_erasable_name.after),
    (select min(a.agent_id) from agents.enrolled_agents a where a.agent_id > next_erasable_name.after)
  )
$$;
comment on function agents.next_erasable_name(text) is
  'The first agent after a name that anything names, events too, in byte order; null: none.';

create function public.agent_api_find_hashed_names(name_hash text, max_entries integer, after text default '')
returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  wanted constant bytea := decode(agent_api_find_hashed_names.name_hash, 'hex');
  name text := agent_api_find_hashed_names.after;
  found_names text[] := array[]::text[];
begin
  for step in 1..agent_api_find_hashed_names.max_entries loop
    name := agents.next_erasable_name(name);
    exit when name is null;
    if agents.hash_of_name(name) = wanted then
      found_names := found_names || name;
    end if;
  end loop;
  return json_build_object('found', to_json(found_names), 'next', name);
end
$$;
comment on function public.agent_api_find_hashed_names(text, integer, text) is
  'The names that have this keyed hash among the max_entries names after the given one: {found: '
  '[agent_id], next: where the next page begins | null}. For an erasure that a restore has undone.';

create function public.agent_api_keep_out_erased(name_hash text) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
  insert into agents.erased_names (name_hash)
  values (decode(agent_api_keep_out_erased.name_hash, 'hex'))
  on conflict do nothing;
  return json_build_object('kept_out', found);
end
$$;
comment on function public.agent_api_keep_out_erased(text) is
  'Keeps out an erased agent, by the keyed hash of its name, if a restore has lost that: '
  '{kept_out: whether it was not kept out before}.';

create function public.agent_api_replace_pubkey(
  agent_id text,
  pubkey text,
  endpoint text
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  peer mesh.peers;
begin
  select p.* into peer from mesh.peers p where p.agent_id = agent_api_replace_pubkey.agent_id;
  if not found or peer.pubkey = agent_api_replace_pubkey.pubkey then
    return json_build_object('agent_id', agent_api_replace_pubkey.agent_id, 'replaced', false);
  end if;
  perform public.agent_api_register_peer(
    caller => '{"kind": "operator"}',
    agent_id => agent_api_replace_pubkey.agent_id,
    pubkey => agent_api_replace_pubkey.pubkey,
    endpoint => agent_api_replace_pubkey.endpoint,
    -- It was checked when the host registered it.
    endpoint_ip => null,
    -- An event does not tell these.
    listen_port => peer.listen_port,
    further_endpoints => case
      when agent_api_replace_pubkey.endpoint = peer.endpoint then peer.further_endpoints::text[] else '{}'
    end,
    online_seconds => 0
  );
  return json_build_object('agent_id', agent_api_replace_pubkey.agent_id, 'replaced', true);
end
$$;
comment on function public.agent_api_replace_pubkey(text, text, text) is
  'Gives a peer the public key and the endpoint that its host registered before a restore: '
  '{agent_id, replaced: false if there is no peer, or it has this public key}. Keeps the listen '
  'port, and the further endpoints if the first one is the same. Raises pubkey_in_use.';

-- schemas/enrolment/enrolments.sql

-- The operator creates and lists enrolments. agents/enrolments.sql has the tables.

create function agents.replace_keys_of_trust(caller jsonb, enrolment_id text, jwks jsonb)
returns agents.enrolments
language plpgsql
volatile
set search_path = ''
as $$
declare
  replaced agents.enrolments;
begin
  update agents.enrolments e
  set jwks = replace_keys_of_trust.jwks
  where e.enrolment_id = replace_keys_of_trust.enrolment_id
    and e.jwks is not null
    and e.revoked_at is null
  returning * into replaced;
  if not found then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "enrolment_id", "message": "No live enrolment with this identifier has jwks."}]}';
  end if;
  perform agents.record_event(
    replace_keys_of_trust.caller, null, 'enrolment.keys_replaced', null, replaced.enrolment_id
  );
  return replaced;
end
$$;
comment on function agents.replace_keys_of_trust(jsonb, text, jsonb) is
  'Replaces the issuer''s public keys that a trust has. From now on, tokens are verified with the '
  'new ones. The trust''s agents and their agent keys stay. Raises invalid_request.';

create function public.agent_api_put_enrolment(caller jsonb, enrolment jsonb) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  enrolment_key constant text := 'ek_'
    || encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex');
  has_key constant boolean := agent_api_put_enrolment.enrolment ->> 'kind' = 'key';
  made agents.enrolments;
begin
  perform agents.authenticate_operator(agent_api_put_enrolment.caller);
  if has_key and coalesce(agent_api_put_enrolment.enrolment ->> 'uses_left', 'any') <> '1' and num_nulls(
    agent_api_put_enrolment.enrolment ->> 'agent_id',
    agent_api_put_enrolment.enrolment ->> 'agent_template',
    agent_api_put_enrolment.enrolment ->> 'agent_prefix'
  ) = 3 then
    -- Whoever has the key could take any name that is free.
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_prefix", "message": "An enrolment key for more than one use needs agent_prefix, agent_template or agent_id."}]}';
  end if;
  if agent_api_put_enrolment.enrolment ->> 'enrolment_id' is not null then
    return agents.enrolment_json(agents.replace_keys_of_trust(
      agent_api_put_enrolment.caller,
      agent_api_put_enrolment.enrolment ->> 'enrolment_id',
      agent_api_put_enrolment.enrolment -> 'jwks'
    ));
  end if;
  insert into agents.enrolments (
    enrolment_id, kind, label, key_hash, issuer, audience, jwks, conditions, agent_id,
    agent_template, agent_prefix, tags, uses_left, session_seconds, ephemeral_seconds,
    single_use_tokens, max_token_age_seconds, max_agents, max_instances, quota_bytes, expires_at
  )
  select
    'enr_' || replace(gen_random_uuid()::text, '-', ''),
    e.kind,
    e.label,
    case when has_key then encode(sha256(convert_to(enrolment_key, 'UTF8')), 'hex') end,
    e.issuer,
    e.audience,
    e.jwks,
    e.conditions,
    e.agent_id,
    e.agent_template,
    e.agent_prefix,
    coalesce(e.tags, '{}'),
    e.uses_left,
    e.session_seconds,
    e.ephemeral_seconds,
    coalesce(e.single_use_tokens, false),
    e.max_token_age_seconds,
    coalesce(e.max_agents, 1000),
    coalesce(e.max_instances, 1),
    e.quota_bytes,
    e.expires_at
  from jsonb_to_record(agent_api_put_enrolment.enrolment) as e (
    kind text,
    label text,
    issuer text,
    audience text,
    jwks jsonb,
    conditions jsonb,
    agent_id text,
    agent_template text,
    agent_prefix text,
    tags text[],
    uses_left integer,
    session_seconds integer,
    ephemeral_seconds integer,
    single_use_tokens boolean,
    max_token_age_seconds integer,
    max_agents integer,
    max_instances integer,
    quota_bytes bigint,
    expires_at timestamptz
  )
  returning * into made;
  perform agents.record_event(
    agent_api_put_enrolment.caller, null, 'enrolment.created', null, made.enrolment_id,
    -- Without the label, which may name an agent: an erasure would not find the name here.
    jsonb_build_object('kind', made.kind)
  );
  return agents.enrolment_json(made)
    || case when has_key then jsonb_build_object('enrolment_key', enrolment_key) else '{}' end;
end
$$;
comment on function public.agent_api_put_enrolment(jsonb, jsonb) is
  'Creates an enrolment with these fields and returns it. For kind key, the answer contains '
  'enrolment_key, once: only its hash is stored. With enrolment_id, replaces the jwks of that '
  'trust. Raises invalid_request, and forbidden for an agent.';

create function public.agent_api_list_enrolments(caller jsonb, max_entries integer, after text default null)
returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  page agents.enrolments[];
begin
  perform agents.authenticate_operator(agent_api_list_enrolments.caller);
  page := array(
    select e
    from agents.enrolments e
    where agent_api_list_enrolments.after is null
      or (e.created_at, e.enrolment_id) > (
        select l.created_at, l.enrolment_id
        from agents.enrolments l
        where l.enrolment_id = agent_api_list_enrolments.after
      )
    order by e.created_at, e.enrolment_id
    limit agent_api_list_enrolments.max_entries + 1
  );
  return json_build_object(
    'enrolments', (
      select coalesce(json_agg(agents.enrolment_json(p)), '[]')
      from unnest(page[:agent_api_list_enrolments.max_entries]) p
    ),
    'next_cursor', case
      when cardinality(page) > agent_api_list_enrolments.max_entries
      then page[agent_api_list_enrolments.max_entries].enrolment_id
    end
  );
end
$$;
comment on function public.agent_api_list_enrolments(jsonb, integer, text) is
  'Enrolments, oldest first: {enrolments, next_cursor | null}. after is a next_cursor; if its '
  'enrolment no longer exists, the page is empty. Raises forbidden for an agent.';

create function public.agent_api_list_trusts(issuer text) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select coalesce(
    json_agg(agents.enrolment_json(e) order by e.created_at, e.enrolment_id), '[]'
  )
  from agents.enrolments e
  where e.issuer = agent_api_list_trusts.issuer
    and e.kind = 'trust'
    and e.revoked_at is null
    and (e.expires_at is null or e.expires_at > now())
$$;
comment on function public.agent_api_list_trusts(text) is
  'The live enrolments that trust an issuer, oldest first.';

create function agents.live_enrolment(enrolment_id text) returns agents.enrolments
language plpgsql
volatile
set search_path = ''
as $$
declare
  found_enrolment agents.enrolments;
begin
  perform pg_advisory_xact_lock_shared(agents.enrolment_lock(live_enrolment.enrolment_id));
  -- A separate statement, so that it sees a revocation that the lock waited for.
  select * into found_enrolment
  from agents.enrolments e
  where e.enrolment_id = live_enrolment.enrolment_id
    and e.revoked_at is null
    and (e.expires_at is null or e.expires_at > clock_timestamp());
  return found_enrolment;
end
$$;
comment on function agents.live_enrolment(text) is
  'An enrolment that was not revoked and has not expired; it cannot be revoked before the '
  'transaction ends. Null: there is no such enrolment.';

create function agents.end_enrolled_tags(caller jsonb, agent_id text) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  came_by constant text := (
    select a.enrolment_id
    from agents.enrolled_agents a
    where a.agent_id = end_enrolled_tags.agent_id
  );
begin
  if came_by is not null then
    perform agents.replace_tags(
      jsonb_build_object('kind', 'enrolment', 'request_id', end_enrolled_tags.caller -> 'request_id'),
      end_enrolled_tags.agent_id, '{}', came_by
    );
  end if;
end
$$;
comment on function agents.end_enrolled_tags(jsonb, text) is
  'Removes the tags that an agent''s enrolment gave it. The operator''s tags stay.';

-- schemas/enrolment/refusals.sql

-- Why enrolments were refused. Only the operator sees the reasons, in the event log.

create table agents.enrolment_refusals (
  enrolment_id text collate "C" not null,
  reason text collate "C" not null,
  minute timestamptz not null,
  count integer not null,

  constraint refusals_are_counted_by_reason primary key (enrolment_id, reason)
)
with (fillfactor = 50);
comment on table agents.enrolment_refusals is
  'How often an enrolment was refused for a reason, in the newest minute with a refusal. This '
  'limits the events, so that strangers cannot fill the log. enrolment_id is empty if the token '
  'names no enrolment.';

create function agents.record_enrolment_refusal(
  caller jsonb,
  enrolment_id text,
  reason text,
  claim text default null,
  detail text default null
) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  told_a_minute constant integer := 20;
  this_minute constant timestamptz := date_trunc('minute', clock_timestamp());
  seen agents.enrolment_refusals;
  missed integer;
begin
  select * into seen
  from agents.enrolment_refusals r
  where r.enrolment_id = coalesce(record_enrolment_refusal.enrolment_id, '')
    and r.reason = record_enrolment_refusal.reason
  for update;
  missed := case when seen.minute < this_minute then greatest(seen.count - told_a_minute, 0) end;

  insert into agents.enrolment_refusals as r (enrolment_id, reason, minute, count)
  values (
    coalesce(record_enrolment_refusal.enrolment_id, ''), record_enrolment_refusal.reason, this_minute, 1
  )
  on conflict on constraint refusals_are_counted_by_reason do update
  set minute = excluded.minute,
    count = case when r.minute = excluded.minute then r.count + 1 else 1 end
  returning * into seen;
  if seen.count > told_a_minute then
    return;
  end if;
  perform agents.record_event(
    record_enrolment_refusal.caller, null, 'enrolment.refused', null,
    record_enrolment_refusal.enrolment_id,
    jsonb_strip_nulls(jsonb_build_object(
      'reason', record_enrolment_refusal.reason,
      'claim', record_enrolment_refusal.claim,
      'detail', record_enrolment_refusal.detail,
      'untold', nullif(missed, 0)
    ))
  );
end
$$;
comment on function agents.record_enrolment_refusal(jsonb, text, text, text, text) is
  'Writes why an enrolment was refused, for the operator: up to 20 events a minute for each reason '
  'of an enrolment. `untold` is how many more there were in the previous minute with a refusal.';

create function agents.refuse_enrolment(
  caller jsonb,
  enrolment_id text,
  reason text,
  claim text default null
) returns json
language plpgsql
volatile
set search_path = ''
as $$
begin
  perform agents.record_enrolment_refusal(
    refuse_enrolment.caller, refuse_enrolment.enrolment_id, refuse_enrolment.reason,
    refuse_enrolment.claim
  );
  return json_build_object('refused', refuse_enrolment.reason);
end
$$;
comment on function agents.refuse_enrolment(jsonb, text, text, text) is
  'Records a refusal and returns its answer, {refused}: the reason, which is only for the log.';

create function public.agent_api_refuse_token(caller jsonb, refusals jsonb) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  refusal record;
begin
  for refusal in
    -- A stranger can name any enrolment, so events name only existing ones.
    select e.enrolment_id, r.reason, r.claim, r.detail
    from jsonb_to_recordset(agent_api_refuse_token.refusals)
      as r (enrolment_id text, reason text, claim text, detail text)
    left join agents.enrolments e on e.enrolment_id = r.enrolment_id
    -- The same order in every transaction prevents deadlocks: each refusal locks the row that
    -- counts it.
    order by e.enrolment_id nulls first, r.reason collate "C"
  loop
    perform agents.record_enrolment_refusal(
      agent_api_refuse_token.caller, refusal.enrolment_id, refusal.reason, refusal.claim, refusal.detail
    );
  end loop;
  return json_build_object('refused', agent_api_refuse_token.refusals -> 0 ->> 'reason');
end
$$;
comment on function public.agent_api_refuse_token(jsonb, jsonb) is
  'Records that the function refused a token, and why: refusals are [{enrolment_id, reason, '
  'claim, detail}], one for each enrolment that does not accept it. {refused} is the first reason. At most '
  '20 events a minute for each reason of an enrolment.';

-- schemas/enrolment/places.sql

-- How many agents an enrolment may have, and how many instances of one agent.

create function agents.is_same_place(enrolment_id text, instance text, other_instance text)
returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return is_same_place.instance is not distinct from is_same_place.other_instance
    or exists (
      select
      from agents.enrolments e
      where e.enrolment_id = is_same_place.enrolment_id and e.max_instances = 1
    );
end
$$;
comment on function agents.is_same_place(text, text, text) is
  'Whether a key of one instance replaces a key of the other: it is the same instance, or the '
  'enrolment allows only one. An instance without a name is null.';

create function agents.has_all_agents(enrolment agents.enrolments) returns boolean
language plpgsql
volatile
set search_path = ''
as $$
begin
  -- One enrolment of another agent at a time, so that each sees those before it.
  perform from agents.enrolments e
  where e.enrolment_id = has_all_agents.enrolment.enrolment_id
  for no key update;
  return (
    select count(*)
    from (
      select
      from agents.enrolled_agents a
      where a.enrolment_id = has_all_agents.enrolment.enrolment_id
        and a.cut = 0
        and a.ended_at is null
      order by a.enrolment_id, a.cut, a.ended_at, a.agent_id
      limit has_all_agents.enrolment.max_agents
    ) live
  ) = has_all_agents.enrolment.max_agents;
end
$$;
comment on function agents.has_all_agents(agents.enrolments) is
  'Whether an enrolment has as many agents as it may have. The answer is right until the '
  'transaction ends, except that agents may end meanwhile.';

create function agents.has_all_instances(enrolment agents.enrolments, agent_id text, instance text)
returns boolean
language sql
stable
set search_path = ''
as $$
  select count(distinct coalesce(k.instance, '')) >= has_all_instances.enrolment.max_instances
  from agents.keys k
  where k.agent_id = has_all_instances.agent_id
    and k.enrolment_id = has_all_instances.enrolment.enrolment_id
    and k.revoked_at is null
    and k.expires_at > clock_timestamp()
    and not agents.is_same_place(
      has_all_instances.enrolment.enrolment_id, k.instance, has_all_instances.instance
    )
$$;
comment on function agents.has_all_instances(agents.enrolments, text, text) is
  'Whether as many other instances of an agent as the enrolment allows have live keys, under '
  'end_access(agent_id).';

create function agents.next_generation(
  enrolment_id text,
  known agents.enrolled_agents,
  instance text
) returns integer
language sql
stable
set search_path = ''
as $$
  select greatest(
    max(k.generation),
    -- The keys of an agent that was silent for long are deleted.
    case
      when agents.is_same_place(next_generation.enrolment_id, null, next_generation.instance)
      then known.generation
    end,
    0
  ) + 1
  from agents.keys k
  where k.agent_id = next_generation.known.agent_id
    and agents.is_same_place(next_generation.enrolment_id, k.instance, next_generation.instance)
$$;
comment on function agents.next_generation(text, agents.enrolled_agents, text) is
  'The generation of an instance''s next key: higher than that of each key which it replaces.';

-- schemas/enrolment/entering.sql

-- Which enrolment may take which name. agents/names/ has whose a name is.

create function agents.is_taken(agent_id text, enrolment agents.enrolments) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  if enrolment.agent_id is not null then
    -- The operator named this agent, whatever it was before.
    return false;
  end if;
  if enrolment.kind = 'key' then
    -- The agent chose the name. So it must be unused: without live keys, files, tags, a peer or
    -- requests, and named by no live grant, rule or policy.
    return agents.holds_something(is_taken.agent_id)
      or exists (select from agents.usage u where u.agent_id = is_taken.agent_id);
  end if;
  -- The name comes from the claims, so others may have named this agent before it came.
  return exists (
      select from agents.keys k where k.agent_id = is_taken.agent_id and k.revoked_at is null
    )
    or exists (
      select
      from artifacts.totals t
      where t.agent_id = is_taken.agent_id and t.pending + t.committed + t.superseded > 0
    )
    or exists (select from mesh.peers p where p.agent_id = is_taken.agent_id);
end
$$;
comment on function agents.is_taken(text, agents.enrolments) is
  'Whether a name that belongs to nobody is nevertheless used, by an agent that this enrolment is '
  'not for.';

create function agents.is_abandoned(holder agents.names) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  return (is_abandoned.holder).ways <> '{}'
    and not exists (
      select
      from unnest((is_abandoned.holder).ways) w
      where not exists (
        select
        from agents.enrolments e
        where e.enrolment_id = w and (agents.has_ended(e) or e.uses_left = 0)
      )
    )
    and not exists (
      select
      from agents.enrolled_agents a
      where a.agent_id = (is_abandoned.holder).agent_id and a.ended_at is null
    )
    and agents.leads_until((is_abandoned.holder).agent_id) is null
    -- They may be very many: the sweep releases them before it forgets the name.
    and not exists (
      select
      from artifacts.tasks t
      where t.agent_id = (is_abandoned.holder).agent_id and t.to_tag is not null
    );
end
$$;
comment on function agents.is_abandoned(agents.names) is
  'Whether the holder of a name can never come back, and has left nothing.';

create function agents.can_take_over(enrolment agents.enrolments, holder agents.names) returns boolean
language plpgsql
stable
set search_path = ''
as $$
begin
  if (can_take_over.enrolment).agent_id is null then
    return false;
  end if;
  return 'operator' = any ((can_take_over.holder).ways)
    or (
      (can_take_over.holder).ways <> '{}'
      and not exists (
        select
        from unnest((can_take_over.holder).ways) w
        where not exists (
          select
          from agents.enrolments e
          where e.enrolment_id = w
            -- The operator has named the agent there, too.
            and e.agent_id = (can_take_over.enrolment).agent_id
            and (agents.has_ended(e) or e.uses_left = 0)
        )
      )
      -- A revocation that is not done still has to end what that enrolment gave.
      and not exists (
        select
        from agents.enrolled_agents a
        join agents.enrolments e on e.enrolment_id = a.enrolment_id
        where a.agent_id = (can_take_over.enrolment).agent_id
          and e.revoked_at is not null
          and a.cut = 0
      )
    );
end
$$;
comment on function agents.can_take_over(agents.enrolments, agents.names) is
  'Whether the operator has named this agent in the enrolment, and the name is the operator''s, or '
  'belongs to enrolments for this agent alone with which nobody can enrol any more.';

create function agents.may_enter(agent_id text, enrolment agents.enrolments) returns boolean
language plpgsql
stable
set search_path = ''
as $$
declare
  holder agents.names;
begin
  select * into holder from agents.names n where n.agent_id = may_enter.agent_id;
  if holder.agent_id is null then
    return not agents.is_taken(may_enter.agent_id, enrolment);
  end if;
  return enrolment.enrolment_id = any (holder.ways)
    or agents.can_take_over(enrolment, holder)
    or agents.is_abandoned(holder);
end
$$;
comment on function agents.may_enter(text, agents.enrolments) is
  'Whether this enrolment may enrol an agent of this name, or could have the name.';

create function agents.enter_name(agent_id text, enrolment agents.enrolments) returns boolean
language plpgsql
volatile
set search_path = ''
as $$
declare
  holder agents.names;
begin
  -- False also if the operator came first, while this transaction waited.
  if agents.claim_name(enter_name.agent_id, enrolment.enrolment_id) then
    return true;
  end if;
  -- Locked, so that nobody shares or takes over the name meanwhile.
  select * into holder from agents.names n where n.agent_id = enter_name.agent_id for update;
  if not agents.may_enter(enter_name.agent_id, enrolment) then
    return false;
  end if;
  if agents.can_take_over(enrolment, holder) then
    update agents.names n
    set ways = array(
      select w from unnest(n.ways) w where not starts_with(w, 'enr_')
    ) || enrolment.enrolment_id
    where n.agent_id = enter_name.agent_id;
    return true;
  end if;
  -- The locks of forget_holder's requests, and of the tags that the enrolment gives, come first.
  perform mesh.enter_policy(enrolment.tags);
  perform mesh.lock_agents(array[enter_name.agent_id]);
  perform agents.forget_holder(enter_name.agent_id);
  update agents.names n
  set ways = array[enrolment.enrolment_id],
    taken_at = clock_timestamp(),
    held_since = agents.present_transaction()
  where n.agent_id = enter_name.agent_id;
  return true;
end
$$;
comment on function agents.enter_name(text, agents.enrolments) is
  'Gives a name to this enrolment if may_enter says so, under end_access(agent_id). Returns '
  'whether it has the name.';

create function agents.name_by_key(enrolment agents.enrolments, agent_name text) returns text
language plpgsql
stable
set search_path = ''
as $$
declare
  named constant text := case
    when enrolment.agent_template is null then agent_name
    else replace(enrolment.agent_template, '{agent_name}', agent_name)
  end;
begin
  if enrolment.agent_id is not null then
    return enrolment.agent_id;
  end if;
  if starts_with(named, enrolment.agent_prefix) and length(named) = length(enrolment.agent_prefix) then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_name", "message": "Must have something after the prefix."}]}';
  end if;
  if not starts_with(named, enrolment.agent_prefix) then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = json_build_object('issues', json_build_array(json_build_object(
        'path', 'agent_name', 'message', 'Must begin with ' || enrolment.agent_prefix || '.'
      )));
  end if;
  if not agents.is_agent_id(named) then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_name", "message": "Must be shorter: the enrolment adds to it."}]}';
  end if;
  return named;
end
$$;
comment on function agents.name_by_key(agents.enrolments, text) is
  'Who an agent becomes that enrols by this enrolment key and asks for agent_name. Raises '
  'invalid_request.';

-- schemas/enrolment/ways.sql

-- Who can become an agent, as the operator sees it.

create function agents.can_name(enrolment agents.enrolments, name text) returns boolean
language sql
stable
set search_path = ''
as $$
  select case
    when enrolment.agent_id is not null then enrolment.agent_id = name
    when enrolment.agent_prefix is not null
      then starts_with(name, enrolment.agent_prefix) and name <> enrolment.agent_prefix
    when enrolment.agent_template is not null
      -- Every character that is special in a pattern and that a template may have.
      then name ~ (
        '^' || regexp_replace(replace(enrolment.agent_template, '.', '\.'), '\{[^}]*\}', '.+', 'g')
        -- A name that loses a part of the claims ends in a digest.
        || '(\.[0-9a-f]{20})?$'
      )
    else true
  end
$$;
comment on function agents.can_name(agents.enrolments, text) is
  'Whether an agent that enrols could get a name, for some proof.';

create function public.agent_api_read_ways(
  agent_id text,
  max_entries integer default 1000
) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
declare
  holder agents.names;
begin
  select * into holder from agents.names n where n.agent_id = agent_api_read_ways.agent_id;
  return json_build_object(
    'agent_id', agent_api_read_ways.agent_id,
    'ways', to_json(holder.ways),
    'taken_at', agents.iso_timestamp(holder.taken_at),
    'kept_out', case
      when exists (
        select from agents.removed_agents r where r.agent_id = agent_api_read_ways.agent_id
      ) then 'removed'
      when agents.is_kept_out(agent_api_read_ways.agent_id) then 'erased'
    end,
    'live_keys', (
      select coalesce(json_agg(json_build_object(
        'key_id', k.key_id,
        'enrolment_id', k.enrolment_id,
        'expires_at', agents.iso_timestamp(k.expires_at)
      ) order by k.created_at), '[]')
      from (
        select *
        from agents.keys i
        where i.agent_id = agent_api_read_ways.agent_id
          and i.revoked_at is null
          and (i.expires_at is null or i.expires_at > now())
        order by i.created_at desc
        limit 100
      ) k
    ),
    'enrolments', (
      select coalesce(json_agg(json_build_object(
        'enrolment_id', e.enrolment_id,
        'label', e.label,
        'kind', e.kind,
        'by', case
          when e.agent_id is not null then 'agent_id'
          when e.agent_prefix is not null then 'agent_prefix'
          when e.agent_template is not null then 'agent_template'
          else 'any name'
        end,
        'may_enter', e.may_enter
      ) order by e.created_at, e.enrolment_id), '[]')
      from (
        select i.*, agents.may_enter(agent_api_read_ways.agent_id, i) as may_enter
        from agents.enrolments i
        where not agents.has_ended(i)
          and i.uses_left is distinct from 0
          and agents.can_name(i, agent_api_read_ways.agent_id)
        order by i.created_at, i.enrolment_id
        limit agent_api_read_ways.max_entries
      ) e
    ),
    'users', coalesce('users' = any (holder.ways), true)
      and not agents.is_kept_out(agent_api_read_ways.agent_id),
    'policy_lines', (
      select count(*)
      from mesh.policy_lines l
      where agent_api_read_ways.agent_id in (l.from_name, l.to_name)
    )
  );
end
$$;
comment on function public.agent_api_read_ways(text, integer) is
  'Who can become an agent: {agent_id, ways: [operator | users | enrolment_id] | null (the name is '
  'free), taken_at | null, kept_out: removed | erased | null, live_keys: [{key_id, enrolment_id | '
  'null, expires_at | null}], enrolments: the live ones that could give this name, [{enrolment_id, '
  'label | null, kind, by, may_enter}], users: whether a user with this agent_id is accepted, '
  'policy_lines: how many lines of the policy name the agent}.';

-- schemas/enrolment/enrolling.sql

-- Enrolling: a proof of origin becomes an ordinary agent key.
-- If an event tells the operator the reason of a refusal, the refusal is returned, not raised: an
-- exception would roll back the event.

create function agents.enrol(
  caller jsonb,
  enrolment agents.enrolments,
  agent_id text,
  instance text,
  token_id text default null,
  token_expires_at timestamptz default null
) returns json
language plpgsql
volatile
set search_path = ''
as $$
declare
  enrolled_at constant timestamptz := clock_timestamp();
  agent_key constant text := 'ak_'
    || encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex');
  made_id constant text := 'key_' || replace(gen_random_uuid()::text, '-', '');
  known agents.enrolled_agents;
  newest agents.keys;
  is_repeated boolean;
  is_taken_over boolean;
  refusal text;
  tells_why boolean;
  made agents.keys;
begin
  perform agents.end_access(enrol.agent_id);
  select * into known from agents.enrolled_agents a where a.agent_id = enrol.agent_id;
  select * into newest
  from agents.keys k
  where k.agent_id = enrol.agent_id
    and k.enrolment_id = enrolment.enrolment_id
    and agents.is_same_place(enrolment.enrolment_id, k.instance, enrol.instance)
  order by k.generation desc
  limit 1;
  -- A caller that lost the answer repeats its request: the newest key was never used.
  is_repeated := newest.key_id is not null and newest.first_used_at is null
    and newest.revoked_at is null and newest.expires_at > enrolled_at;

  -- Before anything that depends on who has the name, so that this refusal does not.
  if (known.enrolment_id is distinct from enrolment.enrolment_id or known.ended_at is not null)
    and agents.has_all_agents(enrolment)
  then
    return agents.refuse_enrolment(caller, enrolment.enrolment_id, 'too_many_agents')::jsonb
      || jsonb_build_object('maximum', enrolment.max_agents);
  end if;
  if agents.has_all_instances(enrolment, enrol.agent_id, enrol.instance) then
    return agents.refuse_enrolment(caller, enrolment.enrolment_id, 'too_many_instances')::jsonb
      || jsonb_build_object('maximum', enrolment.max_instances);
  end if;
  if agents.is_kept_out(enrol.agent_id) then
    refusal := 'agent_removed';
  elsif not agents.may_enter(enrol.agent_id, enrolment) then
    refusal := 'agent_name_taken';
  end if;
  -- If the agent chose the name, and uses are limited, a refused name costs a use, and the answer
  -- does not say why. Otherwise, one enrolment key would tell about any number of names.
  tells_why := enrolment.agent_id is not null or enrolment.uses_left is null;
  if tells_why then
    if refusal = 'agent_removed' then
      return agents.refuse_enrolment(caller, enrolment.enrolment_id, refusal);
    end if;
    if refusal is not null then
      raise sqlstate 'PT409' using message = refusal;
    end if;
  end if;

  if enrolment.single_use_tokens then
    insert into agents.used_tokens as u (enrolment_id, token_id, key_id, expires_at)
    values (
      enrolment.enrolment_id,
      -- The issuer chose the jti, which may contain the agent's name.
      encode(sha256(convert_to(enrol.token_id, 'UTF8')), 'hex'),
      made_id,
      enrol.token_expires_at
    )
    on conflict on constraint a_token_is_used_once do update
    set key_id = excluded.key_id
    where is_repeated and u.key_id = newest.key_id;
    if not found then
      return agents.refuse_enrolment(caller, enrolment.enrolment_id, 'token_replayed');
    end if;
  end if;
  if enrolment.uses_left is not null and not is_repeated then
    update agents.enrolments e
    set uses_left = e.uses_left - 1
    where e.enrolment_id = enrolment.enrolment_id and e.uses_left > 0;
    if not found then
      return agents.refuse_enrolment(caller, enrolment.enrolment_id, 'used_up');
    end if;
  end if;
  -- Of two ways in that come at the same time, only the first gets the name.
  if refusal is null and not agents.enter_name(enrol.agent_id, enrolment) then
    refusal := 'agent_name_taken';
    if tells_why then
      raise sqlstate 'PT409' using message = refusal;
    end if;
  end if;
  if refusal is not null then
    return agents.refuse_enrolment(caller, enrolment.enrolment_id, refusal);
  end if;
  -- A holder that has left nothing is forgotten now.
  select * into known from agents.enrolled_agents a where a.agent_id = enrol.agent_id;
  is_taken_over := known.enrolment_id <> enrolment.enrolment_id;

  update agents.keys k
  set revoked_at = enrolled_at, superseded_at = enrolled_at
  where is_repeated and k.key_id = newest.key_id;
  if is_taken_over then
    -- The keys and tags of the other enrolment end now, because its revocation no longer finds this
    -- agent.
    update agents.keys k
    set revoked_at = enrolled_at, superseded_at = enrolled_at
    where k.agent_id = enrol.agent_id
      and k.enrolment_id = known.enrolment_id
      and k.revoked_at is null;
    perform agents.end_enrolled_tags(caller, enrol.agent_id);
    -- Its later revocation can still end the grants that were given until now.
    insert into agents.former_holders (agent_id, enrolment_id)
    select known.agent_id, known.enrolment_id
    where known.cut < 2
    on conflict on constraint former_holders_pkey do update set taken_in = excluded.taken_in;
    -- If this enrolment has the agent again, its revocation ends all grants.
    delete from agents.former_holders f
    where f.agent_id = enrol.agent_id and f.enrolment_id = enrolment.enrolment_id;
  end if;
  insert into agents.keys (
    key_id, agent_id, key_hash, expires_at, enrolment_id, generation, instance
  )
  values (
    made_id,
    enrol.agent_id,
    encode(sha256(convert_to(agent_key, 'UTF8')), 'hex'),
    enrolled_at + make_interval(secs => enrolment.session_seconds),
    enrolment.enrolment_id,
    agents.next_generation(enrolment.enrolment_id, known, enrol.instance),
    enrol.instance
  )
  returning * into made;
  insert into agents.enrolled_agents as a (agent_id, enrolment_id, generation, enrolled_at, due_at)
  values (
    made.agent_id,
    made.enrolment_id,
    case
      when agents.is_same_place(made.enrolment_id, null, made.instance) then made.generation
      else coalesce(known.generation, 0)
    end,
    enrolled_at,
    enrolled_at + make_interval(secs => enrolment.ephemeral_seconds)
  )
  on conflict on constraint enrolled_agents_pkey do update
  set enrolment_id = excluded.enrolment_id,
    generation = excluded.generation,
    enrolled_at = excluded.enrolled_at,
    due_at = excluded.due_at,
    ended_at = null,
    kept_until = null,
    cut = 0;
  perform agents.record_event(
    caller, null, 'agent.enrolled', made.agent_id, made.key_id,
    jsonb_strip_nulls(jsonb_build_object(
      'enrolment_id', made.enrolment_id, 'generation', made.generation, 'instance', made.instance
    ))
  );
  perform agents.replace_tags(caller, made.agent_id, enrolment.tags, made.enrolment_id);
  if exists (
    select from agents.names n
    where n.agent_id = made.agent_id and n.held_since = agents.present_transaction()
  ) then
    perform mesh.rest_addresses(array[made.agent_id]);
  end if;
  if known.enrolment_id is distinct from made.enrolment_id then
    -- Last, because registrations with both enrolments wait from here on.
    perform artifacts.count_for_enrolment(made.agent_id);
  end if;

  return json_build_object(
    'agent_id', made.agent_id,
    'key', agent_key,
    'key_id', made.key_id,
    'expires_at', agents.iso_timestamp(made.expires_at),
    'tags', agents.tags_of(made.agent_id),
    'generation', made.generation,
    'ephemeral_seconds', enrolment.ephemeral_seconds
  );
end
$$;
comment on function agents.enrol(jsonb, agents.enrolments, text, text, text, timestamptz) is
  'Creates the agent key of the next generation of an agent, or of its instance, under the '
  'enrolment''s lock. The previous key stays live until the new one is used. If the previous key was never used, it ends now, and '
  'this does not count as another use of the enrolment. If another enrolment held the agent, the '
  'keys from that one end now, too. Raises agent_name_taken, limit_exceeded.';

create function public.agent_api_enrol_with_key(
  caller jsonb,
  enrolment_key_hash text,
  agent_name text default null,
  instance text default null
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  named_id constant text := (
    select e.enrolment_id
    from agents.enrolments e
    where e.key_hash = agent_api_enrol_with_key.enrolment_key_hash
  );
  enrolment agents.enrolments;
begin
  if named_id is null then
    return agents.refuse_enrolment(agent_api_enrol_with_key.caller, null, 'unknown_enrolment_key');
  end if;
  enrolment := agents.live_enrolment(named_id);
  if enrolment.enrolment_id is null then
    return agents.refuse_enrolment(agent_api_enrol_with_key.caller, named_id, 'ended');
  end if;
  if enrolment.agent_id is null and agent_api_enrol_with_key.agent_name is null then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_name", "message": "Required: this enrolment names no agent."}]}';
  end if;
  if enrolment.agent_id <> agent_api_enrol_with_key.agent_name then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "agent_name", "message": "This enrolment is for another agent. Leave the name out."}]}';
  end if;
  return agents.enrol(
    agent_api_enrol_with_key.caller, enrolment,
    agents.name_by_key(enrolment, agent_api_enrol_with_key.agent_name),
    agent_api_enrol_with_key.instance
  );
end
$$;
comment on function public.agent_api_enrol_with_key(jsonb, text, text, text) is
  'Enrols by an enrolment key: {agent_id, key, key_id, expires_at, tags, generation, '
  'ephemeral_seconds | null}, or {refused}, with {maximum} if agents or instances are too many. '
  'Raises invalid_request, agent_name_taken, limit_exceeded.';

create function public.agent_api_enrol_with_token(
  caller jsonb,
  enrolment_id text,
  agent_id text,
  token_id text,
  token_expires_at timestamptz,
  instance text default null
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  enrolment constant agents.enrolments := agents.live_enrolment(agent_api_enrol_with_token.enrolment_id);
begin
  if enrolment.kind is distinct from 'trust'
    or enrolment.agent_id <> agent_api_enrol_with_token.agent_id
  then
    return agents.refuse_enrolment(agent_api_enrol_with_token.caller, agent_api_enrol_with_token.enrolment_id, 'ended');
  end if;
  return agents.enrol(
    agent_api_enrol_with_token.caller, enrolment, agent_api_enrol_with_token.agent_id,
    agent_api_enrol_with_token.instance,
    agent_api_enrol_with_token.token_id, agent_api_enrol_with_token.token_expires_at
  );
end
$$;
comment on function public.agent_api_enrol_with_token(jsonb, text, text, text, timestamptz, text) is
  'Enrols by a token that the function has verified, and whose claims meet the enrolment''s '
  'conditions and give this agent_id. Answers and raises as agent_api_enrol_with_key does.';

-- schemas/enrolment/first_use.sql

-- The first use of a key from an enrolment, which ends the keys of the generations before it, and
-- of a name by a user.

create function public.agent_api_note_first_use(caller jsonb) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  used agents.keys;
  superseded agents.keys;
begin
  if agent_api_note_first_use.caller ->> 'kind' = 'user' then
    -- Gives the name to the project's users.
    perform agents.admit(agent_api_note_first_use.caller);
    return json_build_object('superseded', 0);
  end if;
  select * into used
  from agents.keys k
  where k.key_hash = agent_api_note_first_use.caller ->> 'key_hash';
  perform agents.end_access(used.agent_id);
  update agents.keys k
  set first_used_at = clock_timestamp()
  where k.key_id = used.key_id
    and k.enrolment_id is not null
    and k.first_used_at is null
    and k.revoked_at is null;
  if not found then
    return json_build_object('superseded', 0);
  end if;
  for superseded in
    update agents.keys k
    set revoked_at = clock_timestamp(), superseded_at = clock_timestamp()
    where k.agent_id = used.agent_id
      and k.generation < used.generation
      and agents.is_same_place(used.enrolment_id, k.instance, used.instance)
      and k.revoked_at is null
    returning *
  loop
    perform agents.record_event(
      agent_api_note_first_use.caller, used.agent_id, 'key.superseded', superseded.agent_id,
      superseded.key_id,
      jsonb_strip_nulls(jsonb_build_object(
        'generation', superseded.generation, 'instance', superseded.instance
      ))
    );
  end loop;
  return json_build_object('superseded', 1);
end
$$;
comment on function public.agent_api_note_first_use(jsonb) is
  'Records that the calling key from an enrolment was used, and ends the keys of earlier '
  'generations of this instance; or that a user was the first to use a name. Idempotent.';

-- schemas/enrolment/limits.sql

-- The operator changes how many agents and bytes an enrolment may have, and sees which are near.

create function public.agent_api_set_enrolment_limits(
  caller jsonb,
  enrolment_id text,
  limits jsonb
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  limited agents.enrolments;
begin
  perform agents.authenticate_operator(agent_api_set_enrolment_limits.caller);
  -- Waits for running enrolments, which go by the former limits.
  perform pg_advisory_xact_lock(agents.enrolment_lock(agent_api_set_enrolment_limits.enrolment_id));
  if coalesce((agent_api_set_enrolment_limits.limits ->> 'max_agents')::bigint, 1) not between 1 and 100000 then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "max_agents", "message": "Must be a whole number from 1 to 100000."}]}';
  end if;
  if (agent_api_set_enrolment_limits.limits ->> 'quota_bytes')::bigint < 0 then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "quota_bytes", "message": "Must be a number of bytes, at least 0."}]}';
  end if;
  update agents.enrolments e
  set max_agents = coalesce((agent_api_set_enrolment_limits.limits ->> 'max_agents')::integer, e.max_agents),
    quota_bytes = case
      when agent_api_set_enrolment_limits.limits ? 'quota_bytes'
        then (agent_api_set_enrolment_limits.limits ->> 'quota_bytes')::bigint
      else e.quota_bytes
    end
  where e.enrolment_id = agent_api_set_enrolment_limits.enrolment_id
  returning * into limited;
  if not found then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "enrolment_id", "message": "There is no such enrolment."}]}';
  end if;
  perform agents.record_event(
    agent_api_set_enrolment_limits.caller, null, 'enrolment.limited', null, limited.enrolment_id,
    jsonb_build_object('max_agents', limited.max_agents, 'quota_bytes', limited.quota_bytes)
  );
  return agents.enrolment_json(limited);
end
$$;
comment on function public.agent_api_set_enrolment_limits(jsonb, text, jsonb) is
  'Changes limits of an enrolment: {max_agents, quota_bytes: bytes | 0 (any number) | null (the '
  'default again)}; what is left out stays. Nothing ends: agents and files beyond a lower limit '
  'stay, and only new ones are refused. Returns the enrolment. Raises invalid_request, and '
  'forbidden for an agent.';

create function agents.count_live_agents(enrolment_id text, most integer) returns bigint
language plpgsql
stable
set search_path = ''
as $$
begin
  return (
    select count(*)
    from (
      select
      from agents.enrolled_agents a
      where a.enrolment_id = count_live_agents.enrolment_id and a.cut = 0 and a.ended_at is null
      order by a.enrolment_id, a.cut, a.ended_at, a.agent_id
      limit count_live_agents.most
    ) live
  );
end
$$;
comment on function agents.count_live_agents(text, integer) is
  'How many agents of an enrolment have not ended, up to a number: after max_agents was lowered, '
  'there may be very many.';

create function public.agent_api_count_use_of_enrolments(enrolment_ids text[]) returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
begin
  return (
    select coalesce(
      json_object_agg(i.enrolment_id, json_build_object(
        'agents', agents.count_live_agents(i.enrolment_id, 100000),
        'held_bytes', (
          select coalesce(sum(t.bytes), 0)
          from artifacts.enrolment_totals t
          where t.enrolment_id = i.enrolment_id
        )
      )),
      '{}'
    )
    from unnest(agent_api_count_use_of_enrolments.enrolment_ids) as i (enrolment_id)
  );
end
$$;
comment on function public.agent_api_count_use_of_enrolments(text[]) is
  'How many agents these enrolments have, up to 100,000 each, and how many bytes these hold '
  'together: {enrolment_id: {agents, held_bytes}}.';

create function public.agent_api_list_full_enrolments(quota_bytes bigint, max_entries integer default 1000)
returns json
language plpgsql
stable
security invoker
set search_path = ''
as $$
begin
  return (
    select coalesce(
      json_agg(json_build_object(
        'enrolment_id', f.enrolment_id,
        'label', f.label,
        'agents', f.agents,
        'max_agents', f.max_agents,
        'held_bytes', f.held_bytes,
        'quota_bytes', f.quota
      ) order by f.created_at, f.enrolment_id),
      '[]'
    )
    from (
      select e.enrolment_id, e.label, e.agent_id, e.max_agents, e.created_at,
        -- No more than decide.
        agents.count_live_agents(e.enrolment_id, e.max_agents) as agents,
        held.bytes as held_bytes,
        artifacts.quota_of_enrolment(e.quota_bytes, agent_api_list_full_enrolments.quota_bytes) as quota
      from (
        select *
        from agents.enrolments i
        where not agents.has_ended(i)
        order by i.created_at, i.enrolment_id
        limit agent_api_list_full_enrolments.max_entries
      ) e
      cross join lateral (
        select coalesce(sum(t.bytes), 0) as bytes
        from artifacts.enrolment_totals t
        where t.enrolment_id = e.enrolment_id
      ) held
    ) f
    -- An enrolment for one agent needs no second place.
    where f.agent_id is null and f.agents * 10 >= f.max_agents * 9
      or f.quota > 0 and f.held_bytes * 10 >= f.quota * 9
  );
end
$$;
comment on function public.agent_api_list_full_enrolments(bigint, integer) is
  'The live enrolments whose agents are at least nine tenths of max_agents, or whose bytes are nine '
  'tenths of the quota, oldest first, among the max_entries oldest: [{enrolment_id, label | null, '
  'agents, max_agents, held_bytes, quota_bytes (0: none)}]. quota_bytes is the project''s quota for '
  'one agent.';

-- schemas/enrolment/ends.sql

-- How agents of an enrolment end: an agent leaves, an ephemeral agent loses contact, or an
-- enrolment is revoked. A transaction ends the peer of only one agent, because each locks a part of
-- the mesh.

create function agents.end_keys(caller jsonb, caller_agent text, agent_id text) returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
  revoked agents.keys;
  revoked_count integer := 0;
  -- The others lapse at their own time.
  most_takes constant integer := 2000;
begin
  for revoked in
    update agents.keys k
    set revoked_at = clock_timestamp()
    where k.agent_id = end_keys.agent_id and k.revoked_at is null
    returning *
  loop
    perform agents.record_event(
      end_keys.caller, end_keys.caller_agent, 'key.revoked', revoked.agent_id, revoked.key_id
    );
    revoked_count := revoked_count + 1;
  end loop;
  update agents.enrolled_agents a
  set ended_at = clock_timestamp()
  where a.agent_id = end_keys.agent_id and a.ended_at is null;
  perform artifacts.give_back_takes(end_keys.agent_id, most_takes);
  return revoked_count;
end
$$;
comment on function agents.end_keys(jsonb, text, text) is
  'Revokes every key of an agent, under end_access(agent_id), and gives back what it has taken; '
  'returns how many keys.';

create function public.agent_api_leave(caller jsonb, agent_id text default null) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  leaving text;
  caller_agent text;
begin
  perform agents.end_access(coalesce(agents.actor_of(agent_api_leave.caller), agent_api_leave.agent_id));
  caller_agent := agents.authenticate(agent_api_leave.caller);
  leaving := agents.require_self(caller_agent, agent_api_leave.agent_id);
  perform mesh.enter_policy(agents.tags_of(leaving));
  perform public.agent_api_remove_peer(agent_api_leave.caller, leaving);
  perform agents.end_keys(agent_api_leave.caller, caller_agent, leaving);
  perform agents.end_enrolled_tags(agent_api_leave.caller, leaving);
  perform agents.record_event(agent_api_leave.caller, caller_agent, 'agent.left', leaving);
  return json_build_object('agent_id', leaving, 'left', true);
end
$$;
comment on function public.agent_api_leave(jsonb, text) is
  'Ends an agent''s keys, its peer and its rules: {agent_id, left: true}. What it has taken waits '
  'for other agents again. Its files and grants stay until their own end. Raises unauthenticated, superseded, forbidden, invalid_request.';

create function public.agent_api_revoke_enrolment(
  caller jsonb,
  enrolment_id text,
  max_agents integer default 200,
  undo_grants boolean default false
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  -- What a call before this one may have ended: see enrolled_agents.cut.
  wanted_cut constant smallint := case when agent_api_revoke_enrolment.undo_grants then 2 else 1 end;
  live_ids text[];
  ended_id text;
  lock_key bigint;
  ended_agents integer := 0;
  revoked_keys integer := 0;
begin
  perform agents.authenticate_operator(agent_api_revoke_enrolment.caller);
  -- Waits for running enrolments. Later ones wait for this lock, and are then refused.
  perform pg_advisory_xact_lock(agents.enrolment_lock(agent_api_revoke_enrolment.enrolment_id));
  if not exists (
    select from agents.enrolments e where e.enrolment_id = agent_api_revoke_enrolment.enrolment_id
  ) then
    raise sqlstate 'PT422' using
      message = 'invalid_request',
      detail = '{"issues": [{"path": "enrolment_id", "message": "There is no such enrolment."}]}';
  end if;
  update agents.enrolments e
  set revoked_at = clock_timestamp()
  where e.enrolment_id = agent_api_revoke_enrolment.enrolment_id and e.revoked_at is null;
  if found then
    perform agents.record_event(
      agent_api_revoke_enrolment.caller, null, 'enrolment.revoked', null,
      agent_api_revoke_enrolment.enrolment_id
    );
  end if;

  -- End keys first, of many agents at once, because keys give access.
  live_ids := array(
    select a.agent_id
    from agents.enrolled_agents a
    where a.enrolment_id = agent_api_revoke_enrolment.enrolment_id and a.cut = 0 and a.ended_at is null
    order by a.agent_id
    limit agent_api_revoke_enrolment.max_agents
  );
  for lock_key in
    select distinct agents.access_lock(l.agent_id) from unnest(live_ids) as l (agent_id) order by 1
  loop
    perform pg_advisory_xact_lock(lock_key);
  end loop;
  foreach ended_id in array live_ids loop
    -- Before its access was locked, the agent may have left, or another enrolment taken it over.
    continue when not exists (
      select
      from agents.enrolled_agents a
      where a.agent_id = ended_id
        and a.enrolment_id = agent_api_revoke_enrolment.enrolment_id
        and a.ended_at is null
    );
    ended_agents := ended_agents + 1;
    revoked_keys := revoked_keys + agents.end_keys(agent_api_revoke_enrolment.caller, null, ended_id);
  end loop;

  return json_build_object(
    'revoked', true,
    'agents', ended_agents,
    'keys', revoked_keys,
    'to_end', (
      select coalesce(json_agg(e.agent_id), '[]')
      from (
        (
          select a.agent_id
          from agents.enrolled_agents a
          where a.enrolment_id = agent_api_revoke_enrolment.enrolment_id
            and a.cut < wanted_cut
            and a.ended_at is not null
          order by a.cut, a.ended_at, a.agent_id
          limit agent_api_revoke_enrolment.max_agents
        )
        union all
        (
          select f.agent_id
          from agents.former_holders f
          where f.enrolment_id = agent_api_revoke_enrolment.enrolment_id and agent_api_revoke_enrolment.undo_grants
          order by f.enrolment_id, f.agent_id
          limit agent_api_revoke_enrolment.max_agents
        )
      ) e
    ),
    'remaining', (
      select count(*)
      from (
        (
          select from agents.enrolled_agents a
          where a.enrolment_id = agent_api_revoke_enrolment.enrolment_id and a.cut < wanted_cut
          order by a.cut, a.ended_at, a.agent_id
          limit 10000
        )
        union all
        (
          select from agents.former_holders f
          where f.enrolment_id = agent_api_revoke_enrolment.enrolment_id and agent_api_revoke_enrolment.undo_grants
          order by f.enrolment_id, f.agent_id
          limit 10000
        )
      ) r
    )
  );
end
$$;
comment on function public.agent_api_revoke_enrolment(jsonb, text, integer, boolean) is
  'Ends an enrolment, and the agent keys of up to max_agents of its agents: {revoked, agents, '
  'keys, to_end: [agent_id], remaining}. The agents in to_end have no key left; '
  'agent_api_end_enrolled_agent ends what else they have. With undo_grants, these are also agents '
  'whose grants an earlier revocation left, and those that another enrolment took. Repeat both '
  'until remaining is 0; it counts up to 10,000 agents. Raises invalid_request, and forbidden for '
  'an agent.';

-- schemas/enrolment/cuts.sql

-- What is left of the agents of a revoked enrolment once their keys have ended: how much that is,
-- and its end, one agent per call. Also for agents that another enrolment has taken since.

create function public.agent_api_count_enrolled(
  enrolment_id text,
  max_entries integer default 10000
) returns json
language sql
stable
security invoker
set search_path = ''
as $$
  select json_build_object(
    'agents', count(*) filter (where e.ended_at is null),
    'keys', coalesce(sum(c.keys) filter (where e.ended_at is null), 0),
    'peers', coalesce(sum(c.peers), 0),
    'grants', coalesce(sum(c.grants), 0) + (
      select coalesce(sum(o.grants), 0)
      from (
        select f.agent_id, f.taken_in
        from agents.former_holders f
        where f.enrolment_id = agent_api_count_enrolled.enrolment_id
        order by f.enrolment_id, f.agent_id
        limit agent_api_count_enrolled.max_entries
      ) f
      cross join lateral (
        select count(*) as grants
        from (
          select from artifacts.grants g
          where g.from_agent = f.agent_id and g.live_until > now() and g.transaction_id < f.taken_in
          order by g.from_agent, g.live_until
          limit 100
        ) g
      ) o
    )
  )
  from (
    select a.agent_id, a.ended_at
    from agents.enrolled_agents a
    where a.enrolment_id = agent_api_count_enrolled.enrolment_id
    order by a.enrolment_id, a.cut, a.ended_at, a.agent_id
    limit agent_api_count_enrolled.max_entries
  ) e
  -- A few index lookups per agent. A join might read whole tables.
  cross join lateral (
    select
      (select count(*) from agents.keys k where k.agent_id = e.agent_id and k.revoked_at is null) as keys,
      (select count(*) from mesh.peers p where p.agent_id = e.agent_id) as peers,
      (
        select count(*)
        from (
          select from artifacts.grants g
          where g.from_agent = e.agent_id and g.live_until > now()
          order by g.from_agent, g.live_until
          limit 100
        ) g
      ) as grants
  ) c
$$;
comment on function public.agent_api_count_enrolled(text, integer) is
  'What agent_api_revoke_enrolment and agent_api_end_enrolled_agent would end of the agents of an '
  'enrolment: {agents, keys, peers, grants}. It counts up to max_entries agents, and up to 100 '
  'grants of each.';

create function agents.end_grants_given(
  agent_id text,
  max_entries integer,
  before_transaction xid8 default null
) returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
  -- A variable: an index does not help with a volatile function.
  checked_at constant timestamptz := clock_timestamp();
  live_ids constant text[] := array(
    select g.grant_id
    from artifacts.grants g
    where g.from_agent = end_grants_given.agent_id
      and g.live_until > checked_at
      and (before_transaction is null or g.transaction_id < before_transaction)
    order by g.from_agent, g.live_until
    limit end_grants_given.max_entries
  );
begin
  return agents.end_grants_named(live_ids);
end
$$;
comment on function agents.end_grants_given(text, integer, xid8) is
  'Ends up to max_entries live grants that an agent gave, in transactions before the given one if '
  'there is one; returns how many.';

create function public.agent_api_end_enrolled_agent(
  caller jsonb,
  enrolment_id text,
  agent_id text,
  undo_grants boolean default false,
  max_entries integer default 500
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  taken_in xid8;
  has_peer boolean;
  ended_grants integer := 0;
begin
  perform agents.authenticate_operator(agent_api_end_enrolled_agent.caller);
  perform agents.end_access(agent_api_end_enrolled_agent.agent_id);
  if not exists (
    select from agents.enrolments e
    where e.enrolment_id = agent_api_end_enrolled_agent.enrolment_id and e.revoked_at is not null
  ) then
    return json_build_object('peer', false, 'grants', 0);
  end if;
  if not exists (
    select
    from agents.enrolled_agents a
    where a.agent_id = agent_api_end_enrolled_agent.agent_id
      and a.enrolment_id = agent_api_end_enrolled_agent.enrolment_id
      and a.ended_at is not null
  ) then
    if agent_api_end_enrolled_agent.undo_grants then
      select f.taken_in into taken_in
      from agents.former_holders f
      where f.agent_id = agent_api_end_enrolled_agent.agent_id
        and f.enrolment_id = agent_api_end_enrolled_agent.enrolment_id;
    end if;
    -- Only the grants are left of it. The peer, the rules and the tags are another enrolment's.
    if taken_in is not null then
      perform artifacts.lock_sweep();
      ended_grants := artifacts.end_standing_of(
        agent_api_end_enrolled_agent.agent_id, agent_api_end_enrolled_agent.max_entries, true, taken_in
      );
      ended_grants := greatest(ended_grants, agents.end_grants_given(
        agent_api_end_enrolled_agent.agent_id, agent_api_end_enrolled_agent.max_entries, taken_in
      ));
      delete from agents.former_holders f
      where f.agent_id = agent_api_end_enrolled_agent.agent_id
        and f.enrolment_id = agent_api_end_enrolled_agent.enrolment_id
        and ended_grants < agent_api_end_enrolled_agent.max_entries;
    end if;
    return json_build_object('peer', false, 'grants', ended_grants);
  end if;
  perform mesh.enter_policy(agents.tags_of(agent_api_end_enrolled_agent.agent_id));
  has_peer := (
    public.agent_api_remove_peer(agent_api_end_enrolled_agent.caller, agent_api_end_enrolled_agent.agent_id) ->> 'removed'
  )::boolean;
  perform agents.end_enrolled_tags(agent_api_end_enrolled_agent.caller, agent_api_end_enrolled_agent.agent_id);
  if agent_api_end_enrolled_agent.undo_grants then
    perform artifacts.lock_sweep();
    ended_grants := artifacts.end_standing_of(
      agent_api_end_enrolled_agent.agent_id, agent_api_end_enrolled_agent.max_entries, true
    );
    ended_grants := greatest(ended_grants, agents.end_grants_given(
      agent_api_end_enrolled_agent.agent_id, agent_api_end_enrolled_agent.max_entries
    ));
  end if;
  -- The row stays: a later call may still have to end the grants.
  update agents.enrolled_agents a
  set cut = greatest(a.cut, case when agent_api_end_enrolled_agent.undo_grants then 2 else 1 end)
  where a.agent_id = agent_api_end_enrolled_agent.agent_id
    and a.enrolment_id = agent_api_end_enrolled_agent.enrolment_id
    and ended_grants < agent_api_end_enrolled_agent.max_entries;
  return json_build_object('peer', has_peer, 'grants', ended_grants);
end
$$;
comment on function public.agent_api_end_enrolled_agent(jsonb, text, text, boolean, integer) is
  'Ends the peer, the rules and the enrolment''s tags of an agent whose enrolment is revoked, and '
  'with undo_grants up to max_entries grants that it gave: {peer, grants}. If another enrolment took '
  'the agent, only the grants from before that end. Repeat it until the agent is no longer listed '
  'by agent_api_revoke_enrolment. Raises forbidden for an agent.';

-- schemas/enrolment/sweeping.sql

-- What the sweep does for enrolments: it ends ephemeral agents that lost contact, and deletes old
-- rows.

create function agents.last_contact(agent_id text, are_uses_written boolean) returns timestamptz
language sql
stable
set search_path = ''
as $$
  select greatest(
    (select a.enrolled_at from agents.enrolled_agents a where a.agent_id = last_contact.agent_id),
    (
      select max(greatest(k.first_used_at, u.last_used_at))
      from agents.keys k
      left join lateral (
        select i.last_used_at from agents.key_uses i where i.key_id = k.key_id limit 1
      ) u on true
      where k.agent_id = last_contact.agent_id
    ),
    (select l.last_seen from mesh.liveness l where l.agent_id = last_contact.agent_id),
    (
      select max(k.expires_at)
      from agents.keys k
      where not last_contact.are_uses_written
        and k.agent_id = last_contact.agent_id
        and k.revoked_at is null
        and k.first_used_at is not null
    )
  )
$$;
comment on function agents.last_contact(text, boolean) is
  'When an agent enrolled, last used a key, or was last seen in the mesh, whichever is latest, to '
  'about a minute. If uses are not written, an agent may have used its key until the key expires, '
  'so that time counts.';

create function agents.is_idle(agent_id text, use_written_seconds integer) returns boolean
language plpgsql
volatile
set search_path = ''
as $$
declare
  -- A waiting request is counted after up to 140 seconds, and the count is written some time later.
  slack constant interval := interval '3 minutes'
    + make_interval(secs => is_idle.use_written_seconds);
  ephemeral_after interval;
  next_due_at timestamptz;
begin
  select make_interval(secs => e.ephemeral_seconds) into ephemeral_after
  from agents.enrolled_agents a
  join agents.enrolments e on e.enrolment_id = a.enrolment_id
  where a.agent_id = is_idle.agent_id and a.ended_at is null and e.ephemeral_seconds is not null;
  if not found then
    return false;
  end if;
  next_due_at := agents.last_contact(is_idle.agent_id, is_idle.use_written_seconds > 0)
    + ephemeral_after + slack;
  update agents.enrolled_agents a
  set due_at = next_due_at
  where a.agent_id = is_idle.agent_id;
  return next_due_at <= clock_timestamp();
end
$$;
comment on function agents.is_idle(text, integer) is
  'Whether an ephemeral agent has been without contact for too long. Stores when to check it '
  'again. Call it under end_access(agent_id).';

create function agents.forget_names(max_entries integer) returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
  ended_id text;
  last_end timestamptz;
  forgotten_ids text[] := array[]::text[];
  tasks_per_agent constant integer := 2000;
begin
  for ended_id in
    select a.agent_id
    from agents.enrolled_agents a
    where a.ended_at is not null
      and greatest(a.ended_at, a.kept_until) < now() - interval '30 days'
    order by greatest(a.ended_at, a.kept_until)
    limit forget_names.max_entries
  loop
    -- An agent that is enrolling, or whose access is ending, is not forgotten now.
    continue when not pg_try_advisory_xact_lock(agents.access_lock(ended_id));
    last_end := agents.leads_until(ended_id);
    if last_end is not null or agents.is_remembered(ended_id) then
      update agents.enrolled_agents a
      -- What is far away may end earlier: a grant ends with its file.
      set kept_until = least(greatest(last_end, now()), now() + interval '60 days'),
        -- A revocation need not look at it.
        cut = case when last_end is null then 2 else a.cut end
      where a.agent_id = ended_id and a.ended_at is not null;
      continue;
    end if;
    -- If it has more, the next call goes on.
    continue when artifacts.release_tasks(ended_id, tasks_per_agent) = tasks_per_agent;
    -- A name that the operator or users share stays theirs.
    delete from agents.names n
    where n.agent_id = ended_id
      and not n.ways && '{operator,users}'
      and n.ways <> '{}'
      and exists (
        select from agents.enrolled_agents a where a.agent_id = ended_id and a.ended_at is not null
      );
    if found then
      perform agents.forget_holder(ended_id);
      forgotten_ids := forgotten_ids || ended_id;
    else
      update agents.enrolled_agents a
      set kept_until = now(), cut = 2
      where a.agent_id = ended_id and a.ended_at is not null;
    end if;
  end loop;
  perform mesh.rest_addresses(forgotten_ids);
end
$$;
comment on function agents.forget_names(integer) is
  'Forgets up to max_entries agents that ended 30 days ago, and to which nothing leads any more: no '
  'artifact, grant, tag, rule, event or count. The others are looked at again after 30 to 90 days.';

create function public.agent_api_forget_enrolled(caller jsonb, max_entries integer) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  most_idle constant integer := least(agent_api_forget_enrolled.max_entries, 200);
begin
  perform agents.authenticate_operator(agent_api_forget_enrolled.caller);
  -- Keep tokens for a minute after they expire, because clocks may differ by that much.
  delete from agents.used_tokens u
  -- Found by ctid, which cannot change while the row is locked. Otherwise the planner, which does
  -- not know the number of rows, may read the whole table.
  where u.ctid = any (array(
    select o.ctid
    from agents.used_tokens o
    where o.expires_at < now() - interval '1 minute'
    order by o.expires_at
    limit agent_api_forget_enrolled.max_entries
    for update skip locked
  ));
  -- Within a day, the older of two clones learns that it is superseded.
  delete from agents.keys k
  where k.key_id = any (array(
    select o.key_id
    from agents.keys o
    where o.enrolment_id is not null and o.expires_at < now() - interval '1 day'
    order by o.expires_at
    limit agent_api_forget_enrolled.max_entries
    for update skip locked
  ));
  perform agents.forget_names(most_idle);
  delete from agents.enrolment_refusals r where r.minute < now() - interval '1 day';
  return json_build_object(
    'idle', (
      select coalesce(json_agg(d.agent_id), '[]')
      from (
        select a.agent_id
        from agents.enrolled_agents a
        where a.due_at <= now() and a.ended_at is null
        order by a.due_at
        limit most_idle
      ) d
    ),
    'remaining', (
      select count(*)
      from (
        (
          select from agents.used_tokens u
          where u.expires_at < now() - interval '1 minute'
          order by u.expires_at
          limit 1000
        )
        union all
        (
          select from agents.keys k
          where k.enrolment_id is not null and k.expires_at < now() - interval '1 day'
          order by k.expires_at
          limit 1000
        )
        union all
        (
          select from agents.enrolled_agents a
          where a.due_at <= now() and a.ended_at is null
          order by a.due_at
          offset most_idle
          limit 1000
        )
        union all
        -- Those that forget_names has looked at are not due any more.
        (
          select from agents.enrolled_agents a
          where a.ended_at is not null
            and greatest(a.ended_at, a.kept_until) < now() - interval '30 days'
          order by greatest(a.ended_at, a.kept_until)
          limit 1000
        )
      ) later
    )
  );
end
$$;
comment on function public.agent_api_forget_enrolled(jsonb, integer) is
  'Deletes what enrolments leave behind: expired tokens and keys, and the names of agents that '
  'ended 30 days ago and have left nothing. Returns {idle: [agent_id], remaining}: idle are at most 200 ephemeral agents '
  'that agent_api_end_idle_agent must check. Raises forbidden for an agent.';

create function public.agent_api_end_idle_agent(
  caller jsonb,
  agent_id text,
  use_written_seconds integer default 60
) returns json
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
  perform agents.authenticate_operator(agent_api_end_idle_agent.caller);
  -- Waits until the agent's running writes are done; is_idle then sees them.
  perform agents.end_access(agent_api_end_idle_agent.agent_id);
  if not agents.is_idle(agent_api_end_idle_agent.agent_id, agent_api_end_idle_agent.use_written_seconds) then
    return json_build_object('ended', 0);
  end if;
  perform mesh.enter_policy(agents.tags_of(agent_api_end_idle_agent.agent_id));
  perform public.agent_api_remove_peer(agent_api_end_idle_agent.caller, agent_api_end_idle_agent.agent_id);
  perform agents.end_keys(agent_api_end_idle_agent.caller, null, agent_api_end_idle_agent.agent_id);
  perform agents.end_enrolled_tags(agent_api_end_idle_agent.caller, agent_api_end_idle_agent.agent_id);
  perform agents.record_event(
    agent_api_end_idle_agent.caller, null, 'agent.expired', agent_api_end_idle_agent.agent_id
  );
  return json_build_object('ended', 1);
end
$$;
comment on function public.agent_api_end_idle_agent(jsonb, text, integer) is
  'Ends the keys, the peer and the rules of an ephemeral agent without contact; otherwise stores '
  'when to check it again. use_written_seconds is how often the functions write uses; 0: never. '
  'Its files and grants stay until their own end. {ended: 1 | 0}. Raises forbidden for an agent.';

-- schemas/table_privileges.sql

-- Privileges of schemas, tables and sequences: only service_role may use anything. Projects differ
-- in their default grants, so every privilege is stated here. Row level security is on everywhere,
-- with no policy. privileges.sql states the privileges of functions.

revoke all on schema agents, artifacts, mesh from public, anon, authenticated;
grant usage on schema agents, artifacts, mesh to service_role;

revoke all on all tables in schema agents, artifacts, mesh from public, anon, authenticated, service_role;
grant select, update on agents.epochs to service_role;
grant select, insert, update, delete on agents.keys to service_role;
grant select, insert, delete on agents.removed_agents to service_role;
grant select on agents.name_secret to service_role;
grant select, insert, update, delete on agents.names to service_role;
grant select, insert, delete on agents.erased_names to service_role;
grant select, insert, update, delete on agents.agent_tags to service_role;
grant select, insert, update, delete on agents.enrolments to service_role;
grant select, insert, update, delete on agents.enrolled_agents to service_role;
grant select, insert on agents.replayed_endings to service_role;
grant select, insert, update, delete on agents.former_holders to service_role;
grant select, insert, update, delete on agents.used_tokens to service_role;
grant select, insert, update, delete on agents.enrolment_refusals to service_role;
grant select, insert, update, delete on agents.events to service_role;
grant select on agents.structure to service_role;
grant select, insert, update, delete on agents.reads to service_role;
grant select, insert, update, delete on agents.repeated_changes to service_role;
grant select, insert, update, delete on agents.changed_things to service_role;
grant select, insert, update on agents.key_uses to service_role;
grant select, insert, update on agents.activity to service_role;
grant select, insert, update, delete on agents.usage to service_role;
grant select, insert, update, delete on agents.refusals to service_role;
grant select, insert, update, delete on agents.webhooks to service_role;
grant select, insert, update, delete on agents.webhook_deliveries to service_role;
grant select, update on agents.webhook_kicks to service_role;
grant select on artifacts.current_objects to service_role;
grant select, insert, update, delete on artifacts.agent_limits to service_role;
grant select, insert, update, delete on artifacts.artifacts to service_role;
grant select, insert, update, delete on artifacts.verifications to service_role;
grant select, insert, update, delete on artifacts.grants to service_role;
grant select, insert, update on artifacts.grant_downloads to service_role;
grant select, insert, update, delete on artifacts.tasks to service_role;
grant select, insert, update, delete on artifacts.task_queues to service_role;
grant select, insert, delete on artifacts.hand_overs to service_role;
grant select, insert, update, delete on artifacts.inbox_views to service_role;
grant select, insert, delete on artifacts.blocked_senders to service_role;
grant select, insert, update, delete on artifacts.standing_grants to service_role;
grant select, insert, update, delete on artifacts.spent_versions to service_role;
grant select, insert, update, delete on artifacts.totals to service_role;
grant select, insert, update, delete on artifacts.enrolment_totals to service_role;
grant select, insert, update on artifacts.project_totals to service_role;
grant select, insert, update on artifacts.walks to service_role;
grant select, insert, update, delete on artifacts.orphans to service_role;
grant select, update on artifacts.sweeps to service_role;
grant select, update (ipv4_network) on mesh.settings to service_role;
grant select, insert, update, delete on mesh.address_leases to service_role;
grant select, insert, update, delete on mesh.peers to service_role;
grant select, insert, update on mesh.liveness to service_role;
grant select, insert, update, delete on mesh.rules to service_role;
grant select, insert, update, delete on mesh.declined_requests to service_role;
grant select, insert, update on mesh.policies to service_role;
grant select, insert, delete on mesh.policy_lines to service_role;
grant select, insert, update, delete on mesh.pairs to service_role;
grant select, insert, update, delete on mesh.path_reports to service_role;
grant select, insert, update, delete on mesh.config_versions to service_role;
grant select, insert, update on mesh.counters to service_role;
grant select, insert, update, delete on mesh.censuses to service_role;

alter table agents.epochs enable row level security;
alter table agents.keys enable row level security;
alter table agents.removed_agents enable row level security;
alter table agents.name_secret enable row level security;
alter table agents.names enable row level security;
alter table agents.erased_names enable row level security;
alter table agents.agent_tags enable row level security;
alter table agents.enrolments enable row level security;
alter table agents.enrolled_agents enable row level security;
alter table agents.replayed_endings enable row level security;
alter table agents.former_holders enable row level security;
alter table agents.used_tokens enable row level security;
alter table agents.enrolment_refusals enable row level security;
alter table agents.events enable row level security;
alter table agents.structure enable row level security;
alter table agents.structure_before enable row level security;
alter table agents.reads enable row level security;
alter table agents.repeated_changes enable row level security;
alter table agents.changed_things enable row level security;
alter table agents.key_uses enable row level security;
alter table agents.activity enable row level security;
alter table agents.usage enable row level security;
alter table agents.refusals enable row level security;
alter table agents.webhooks enable row level security;
alter table agents.webhook_deliveries enable row level security;
alter table agents.webhook_kicks enable row level security;
alter table artifacts.agent_limits enable row level security;
alter table artifacts.artifacts enable row level security;
alter table artifacts.verifications enable row level security;
alter table artifacts.grants enable row level security;
alter table artifacts.grant_downloads enable row level security;
alter table artifacts.tasks enable row level security;
alter table artifacts.task_queues enable row level security;
alter table artifacts.hand_overs enable row level security;
alter table artifacts.inbox_views enable row level security;
alter table artifacts.blocked_senders enable row level security;
alter table artifacts.standing_grants enable row level security;
alter table artifacts.spent_versions enable row level security;
alter table artifacts.totals enable row level security;
alter table artifacts.enrolment_totals enable row level security;
alter table artifacts.project_totals enable row level security;
alter table artifacts.walks enable row level security;
alter table artifacts.orphans enable row level security;
alter table artifacts.sweeps enable row level security;
alter table mesh.settings enable row level security;
alter table mesh.address_leases enable row level security;
alter table mesh.peers enable row level security;
alter table mesh.liveness enable row level security;
alter table mesh.rules enable row level security;
alter table mesh.declined_requests enable row level security;
alter table mesh.policies enable row level security;
alter table mesh.policy_lines enable row level security;
alter table mesh.pairs enable row level security;
alter table mesh.path_reports enable row level security;
alter table mesh.config_versions enable row level security;
alter table mesh.counters enable row level security;
alter table mesh.censuses enable row level security;

revoke all on all sequences in schema agents from public, anon, authenticated, service_role;
-- The doctor compares the sequence with the rows.
grant select on all sequences in schema agents to service_role;

-- schemas/privileges.sql

-- Privileges of functions: only service_role may execute anything. Privileges of tables are in
-- table_privileges.sql. Also here: how long a function may wait for a lock.

revoke all on all functions in schema agents, artifacts, mesh from public, anon, authenticated;
grant execute on all functions in schema agents, artifacts, mesh to service_role;

-- The records of migrations. The Supabase CLI writes them; without it, they do not exist.
do $$
begin
  if to_regclass('supabase_migrations.schema_migrations') is not null then
    grant usage on schema supabase_migrations to service_role;
    grant select on supabase_migrations.schema_migrations to service_role;
  end if;
exception when insufficient_privilege then
  raise notice '%', sqlerrm;
end
$$;

-- Ours in `public` begin with agent_api_. pg_restore may let everybody execute functions, so the
-- operator can call this again.
create function agents.close_functions() returns integer
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  operation record;
  open_count integer := 0;
  -- Functions that only the operator calls. They may wait as long as the project lets a call last.
  -- A call that waits for a lock holds a connection that others need. So every other function gives
  -- up after a second (55P03), and the caller is told to retry.
  patient constant regproc[] := array[
    'public.agent_api_create_agent_key',
    'public.agent_api_create_agent_keys',
    'public.agent_api_revoke_agent_key',
    'public.agent_api_revoke_agent_keys',
    'public.agent_api_end_artifacts',
    'public.agent_api_record_surplus_uploads',
    'public.agent_api_collect_dead_objects',
    'public.agent_api_forget_ended',
    'public.agent_api_settle_tasks',
    'public.agent_api_settle_reads',
    'public.agent_api_settle_changes',
    'public.agent_api_forget_events',
    'public.agent_api_forget_usage',
    'public.agent_api_forget_paths',
    'public.agent_api_schedule_sweep',
    'public.agent_api_reencrypt_psks',
    'public.agent_api_set_agent_quota',
    'public.agent_api_set_enrolment_limits',
    'public.agent_api_set_agent_tags',
    'public.agent_api_count_tag_losses',
    'public.agent_api_apply_policy',
    'public.agent_api_set_mesh_network',
    'public.agent_api_put_enrolment',
    'public.agent_api_count_enrolled',
    'public.agent_api_revoke_enrolment',
    'public.agent_api_end_enrolled_agent',
    'public.agent_api_forget_enrolled',
    'public.agent_api_end_idle_agent',
    'public.agent_api_remove_agent',
    'public.agent_api_share_agent',
    'public.agent_api_take_over_agent',
    'public.agent_api_erase_agent',
    'public.agent_api_readmit_agent',
    'public.agent_api_keep_out_erased',
    'public.agent_api_after_restore',
    'public.agent_api_note_replayed_event',
    'public.agent_api_replace_pubkey',
    'public.agent_api_mark_lost_artifacts',
    'public.agent_api_repair_totals',
    'public.agent_api_repair_project_totals'
  ]::regproc[];
begin
  for operation in
    select f.oid, f.oid::regprocedure as name, f.provolatile
    from pg_catalog.pg_proc f
    where f.pronamespace = 'public'::regnamespace and starts_with(f.proname, 'agent_api_')
  loop
    open_count := open_count + case
      when has_function_privilege('anon', operation.oid, 'execute')
        or has_function_privilege('authenticated', operation.oid, 'execute')
      then 1 else 0
    end;
    execute format('revoke all on function %s from public, anon, authenticated', operation.name);
    execute format('grant execute on function %s to service_role', operation.name);
    -- A function that is not volatile takes no lock that another could hold against it.
    if operation.provolatile = 'v' and operation.oid <> all (patient) then
      execute format('alter function %s set lock_timeout = %L', operation.name, '1s');
    end if;
  end loop;
  return open_count;
end
$$;
comment on function agents.close_functions() is
  'Lets only service_role execute our functions in public, whatever the project''s default '
  'privileges are; returns how many others could execute. The owner calls it after pg_restore.';
revoke all on function agents.close_functions() from public, anon, authenticated, service_role;

do $$
begin
  perform agents.close_functions();
end
$$;

-- Must be the last statement: from now on, the doctor expects what exists here.
do $$
begin
  perform agents.record_structure();
end
$$;
