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
