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
