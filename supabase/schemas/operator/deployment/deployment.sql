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
