-- What others made that opens our tables or stops our writes. The catalogue tells what an object
-- depends on; it does not tell what dynamic SQL in a function of others reads.

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
  ), called as (
    select string_agg(format('%s\s*\.\s*%s', n.nspname, o.relname), '|') as pattern
    from pg_catalog.pg_class o
    join pg_catalog.pg_namespace n on n.oid = o.relnamespace
    where n.nspname = any (agents.own_schemas()) and o.relkind in ('r', 'p', 'v')
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
    cross join called
    where p.prosecdef
      and n.nspname <> all (agents.own_schemas())
      and has_schema_privilege(r.oid, p.pronamespace, 'usage')
      and has_function_privilege(r.oid, p.oid, 'execute')
      and (
        p.prosrc ~* format('\m(%s)\M', called.pattern)
        or exists (
          select from unnest(p.proconfig) s (setting)
          where s.setting ~ '^search_path=.*\m(agents|artifacts|mesh)\M'
        )
        or exists (
          select from pg_catalog.pg_depend d
          where d.objid = p.oid
            and d.classid = 'pg_catalog.pg_proc'::regclass
            and d.refobjid in (select o.oid from ours o)
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
