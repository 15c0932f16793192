-- What protects and speeds up our tables: row level security, constraints, defaults, indexes and
-- triggers.
-- The migrations record what they created, so that the doctor can tell what is missing later.

create table agents.structure (
  part text collate "C" primary key,
  statement text not null
);
comment on table agents.structure is
  'What the newest migration left in the schemas agents, artifacts and mesh. Its last statement '
  'calls record_structure.';
comment on column agents.structure.part is
  'The name of the part in words, such as "index agents.events_by_agent".';
comment on column agents.structure.statement is
  'The statement that creates the part again if it is missing or was changed.';

create function agents.present_structure() returns table (part text, statement text)
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
  )
  select 'row level security of ' || t.name, format('alter table %s enable row level security;', t.name)
  from tables t
  where t.relrowsecurity
  union all
  select 'enabled triggers of ' || t.name, format('alter table %s enable trigger user;', t.name)
  from tables t
  where not exists (
    select from pg_catalog.pg_trigger g
    where g.tgrelid = t.oid and not g.tgisinternal and g.tgenabled not in ('O', 'A')
  )
  union all
  select format('trigger %s of %s', g.tgname, t.name),
    format('drop trigger if exists %I on %s; %s;', g.tgname, t.name, pg_get_triggerdef(g.oid))
  from tables t
  join pg_catalog.pg_trigger g on g.tgrelid = t.oid and not g.tgisinternal
  union all
  select format('constraint %s of %s', k.conname, t.name),
    -- A constraint that was changed or never validated must go first.
    format(
      'alter table %1$s drop constraint if exists %2$I, add constraint %2$I %3$s;',
      t.name, k.conname, pg_get_constraintdef(k.oid)
    )
  from tables t
  join pg_catalog.pg_constraint k on k.conrelid = t.oid
  -- Not-null constraints are read from pg_attribute: not every PostgreSQL release has them here.
  where k.contype in ('p', 'u', 'f', 'c', 'x') and k.convalidated
  union all
  select format('not null of %s.%I', t.name, a.attname),
    format('alter table %s alter column %I set not null;', t.name, a.attname)
  from tables t
  join pg_catalog.pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
  where a.attnotnull
  union all
  select format('default of %s.%I', t.name, a.attname), format(
      'alter table %s alter column %I set default %s;', t.name, a.attname, pg_get_expr(d.adbin, d.adrelid)
    )
  from tables t
  join pg_catalog.pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
  join pg_catalog.pg_attrdef d on d.adrelid = t.oid and d.adnum = a.attnum
  where a.attgenerated = ''
  union all
  select format('identity of %s.%I', t.name, a.attname), format(
      'alter table %s alter column %I add generated %s as identity;', t.name, a.attname,
      case a.attidentity when 'a' then 'always' else 'by default' end
    )
  from tables t
  join pg_catalog.pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
  where a.attidentity <> ''
  union all
  select 'index ' || i.indexrelid::regclass,
    -- An index that was changed or is not valid has the name.
    format('drop index if exists %s; %s;', i.indexrelid::regclass, pg_get_indexdef(i.indexrelid))
  from tables t
  join pg_catalog.pg_index i on i.indrelid = t.oid and i.indisvalid
  where not exists (
    select from pg_catalog.pg_constraint k
    where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x')
  )
$$;
comment on function agents.present_structure() is
  'What agents.structure would record now. A disabled trigger, an index that is not valid, and '
  'a constraint that was not validated count as missing.';

create function agents.record_structure() returns void
language plpgsql
volatile
set search_path = ''
as $$
begin
  delete from agents.structure s where s.part <> all (array(select p.part from agents.present_structure() p));
  insert into agents.structure as s (part, statement)
  select p.part, p.statement
  from agents.present_structure() p
  on conflict on constraint structure_pkey do update set statement = excluded.statement;
end
$$;
comment on function agents.record_structure() is
  'Replaces the rows of agents.structure with the present structure. Only migrations call it, as '
  'their last statement.';

create function agents.missing_structure() returns json
language sql
stable
set search_path = ''
as $$
  select coalesce(
    json_agg(
      json_build_object('part', s.part, 'statement', s.statement, 'is_changed', p.part is not null)
      -- Parts that others depend on come first: a foreign key needs a primary key.
      order by s.statement like '% foreign key %', s.part
    ),
    '[]'
  )
  from agents.structure s
  left join agents.present_structure() p on p.part = s.part
  where p.part is null
    -- An identity of the other kind also numbers our rows, and its statement would fail.
    or p.statement <> s.statement and s.part not like 'identity of %'
$$;
comment on function agents.missing_structure() is
  'The recorded parts that no longer exist under the same name, or are different (is_changed): '
  '[{part, statement that creates it again, is_changed}].';
