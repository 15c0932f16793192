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
