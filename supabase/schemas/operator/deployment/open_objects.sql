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
