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
