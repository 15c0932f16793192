-- Privileges of functions: only service_role may execute anything. Privileges of tables are in
-- table_privileges.sql. Also here: how long a function may wait for a lock.

revoke all on all functions in schema agents, artifacts, mesh from public, anon, authenticated;
grant execute on all functions in schema agents, artifacts, mesh to service_role;

-- The records of migrations, for inspect_deployment. The Supabase CLI writes them; without it, they
-- do not exist.
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

-- `public` may also have functions of others. These are ours, each in one of two lists. None is
-- overloaded, so its name is enough. pg_restore creates functions with the default privileges of
-- the project, which may let everybody execute them. So the operator can call this again.
create function agents.close_functions() returns integer
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
  operation regproc;
  open_count integer := 0;
  -- Functions that are called for agents, or that only read. A call that waits for a lock holds a
  -- connection that others need. So these give up after a second (55P03), and the caller is told to
  -- retry.
  impatient constant regproc[] := array[
    'public.describe_caller',
    'public.check_operator',
    'public.check_health',
    'public.check_bucket',
    'public.list_artifacts',
    'public.delete_artifact',
    'public.register_artifact',
    'public.discard_registration',
    'public.begin_commit',
    'public.leave_move',
    'public.save_commit_progress',
    'public.finish_commit',
    'public.release_commit',
    'public.grant_artifact',
    'public.revoke_grants',
    'public.block_sender',
    'public.unblock_sender',
    'public.list_inbox',
    'public.list_grants',
    'public.redeem_grant_token',
    'public.check_grant_token',
    'public.return_download',
    'public.open_artifact',
    'public.list_artifacts_without_bytes',
    'public.list_objects_without_artifact',
    'public.count_archived_versions',
    'public.list_shares_of_artifacts',
    'public.list_shares_of_grants',
    'public.list_totals',
    'public.list_wrong_totals',
    'public.list_sealed_artifacts',
    'public.check_project_totals',
    'public.record_heartbeat',
    'public.read_heartbeat',
    'public.read_relay_name',
    'public.remove_peer',
    'public.put_rule',
    'public.revoke_rule',
    'public.store_psks',
    'public.rotate_psk',
    'public.list_psks_to_reencrypt',
    'public.register_peer',
    'public.read_netmap',
    'public.read_wg_config',
    'public.list_events',
    'public.find_changes',
    'public.begin_wait',
    'public.read_news',
    'public.record_usage',
    'public.read_artifacts_metrics',
    'public.read_mesh_metrics',
    'public.find_events',
    'public.find_artifacts_named',
    'public.read_artifact',
    'public.find_artifact_of_grant',
    'public.find_agent_of_key',
    'public.count_mentions',
    'public.check_erasure',
    'public.list_agents',
    'public.read_agent',
    'public.read_ways',
    'public.list_usage',
    'public.list_busiest',
    'public.list_refusals',
    'public.list_newest_refusals',
    'public.list_all_grants',
    'public.list_peers',
    'public.list_mesh_rules',
    'public.check_mesh',
    'public.list_paths',
    'public.plan_policy',
    'public.read_policy',
    'public.inspect_deployment',
    'public.find_restore_signs',
    'public.read_project',
    'public.find_lost_events',
    'public.find_hashed_names',
    'public.list_live_keys',
    'public.list_enrolments',
    'public.list_trusts',
    'public.enrol_with_key',
    'public.enrol_with_token',
    'public.refuse_token',
    'public.note_first_use',
    'public.leave'
  ]::regproc[];
  -- Functions that only the operator calls. They may wait as long as the project lets a call last.
  patient constant regproc[] := array[
    'public.create_agent_key',
    'public.create_agent_keys',
    'public.revoke_agent_key',
    'public.revoke_agent_keys',
    'public.end_artifacts',
    'public.record_surplus_uploads',
    'public.collect_dead_objects',
    'public.forget_ended',
    'public.settle_reads',
    'public.settle_changes',
    'public.forget_events',
    'public.forget_usage',
    'public.forget_paths',
    'public.schedule_sweep',
    'public.reencrypt_psks',
    'public.set_agent_quota',
    'public.set_agent_tags',
    'public.count_tag_losses',
    'public.apply_policy',
    'public.put_enrolment',
    'public.count_enrolled',
    'public.revoke_enrolment',
    'public.end_enrolled_agent',
    'public.forget_enrolled',
    'public.end_idle_agent',
    'public.remove_agent',
    'public.share_agent',
    'public.take_over_agent',
    'public.erase_agent',
    'public.readmit_agent',
    'public.keep_out_erased',
    'public.after_restore',
    'public.note_replayed_event',
    'public.replace_pubkey',
    'public.mark_lost_artifacts',
    'public.repair_totals',
    'public.repair_project_totals'
  ]::regproc[];
begin
  foreach operation in array impatient || patient loop
    open_count := open_count + case
      when has_function_privilege('anon', operation, 'execute')
        or has_function_privilege('authenticated', operation, 'execute')
      then 1 else 0
    end;
    execute format('revoke all on function %s from public, anon, authenticated', operation);
    execute format('grant execute on function %s to service_role', operation);
    -- A function that is not volatile takes no lock that another could hold against it.
    if operation = any (impatient)
      and (select f.provolatile from pg_catalog.pg_proc f where f.oid = operation) = 'v'
    then
      execute format('alter function %s set lock_timeout = %L', operation, '1s');
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
