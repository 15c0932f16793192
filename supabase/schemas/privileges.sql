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
