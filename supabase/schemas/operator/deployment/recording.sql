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
