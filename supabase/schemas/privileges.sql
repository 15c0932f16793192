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

-- Ours in `public` begin with agent_api_; each is in one of two lists, and none is overloaded.
-- pg_restore may let everybody execute functions, so the operator can call this again.
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
    'public.agent_api_describe_caller',
    'public.agent_api_check_operator',
    'public.agent_api_check_health',
    'public.agent_api_check_bucket',
    'public.agent_api_list_artifacts',
    'public.agent_api_list_versions',
    'public.agent_api_delete_artifact',
    'public.agent_api_register_artifact',
    'public.agent_api_discard_registration',
    'public.agent_api_begin_commit',
    'public.agent_api_leave_move',
    'public.agent_api_save_commit_progress',
    'public.agent_api_finish_commit',
    'public.agent_api_release_commit',
    'public.agent_api_grant_artifact',
    'public.agent_api_revoke_grants',
    'public.agent_api_block_sender',
    'public.agent_api_unblock_sender',
    'public.agent_api_list_inbox',
    'public.agent_api_list_grants',
    'public.agent_api_redeem_grant_token',
    'public.agent_api_check_grant_token',
    'public.agent_api_return_download',
    'public.agent_api_open_artifact',
    'public.agent_api_list_artifacts_without_bytes',
    'public.agent_api_list_objects_without_artifact',
    'public.agent_api_count_archived_versions',
    'public.agent_api_list_shares_of_artifacts',
    'public.agent_api_list_shares_of_grants',
    'public.agent_api_list_totals',
    'public.agent_api_list_wrong_totals',
    'public.agent_api_list_sealed_artifacts',
    'public.agent_api_check_project_totals',
    'public.agent_api_record_heartbeat',
    'public.agent_api_read_heartbeat',
    'public.agent_api_read_relay_name',
    'public.agent_api_remove_peer',
    'public.agent_api_put_rule',
    'public.agent_api_revoke_rule',
    'public.agent_api_store_psks',
    'public.agent_api_rotate_psk',
    'public.agent_api_list_psks_to_reencrypt',
    'public.agent_api_register_peer',
    'public.agent_api_read_netmap',
    'public.agent_api_read_wg_config',
    'public.agent_api_list_events',
    'public.agent_api_find_changes',
    'public.agent_api_begin_wait',
    'public.agent_api_read_news',
    'public.agent_api_record_usage',
    'public.agent_api_read_artifacts_metrics',
    'public.agent_api_read_mesh_metrics',
    'public.agent_api_find_events',
    'public.agent_api_find_artifacts_named',
    'public.agent_api_read_artifact',
    'public.agent_api_find_artifact_of_grant',
    'public.agent_api_find_agent_of_key',
    'public.agent_api_count_mentions',
    'public.agent_api_check_erasure',
    'public.agent_api_list_agents',
    'public.agent_api_read_agent',
    'public.agent_api_read_ways',
    'public.agent_api_list_usage',
    'public.agent_api_list_busiest',
    'public.agent_api_list_refusals',
    'public.agent_api_list_newest_refusals',
    'public.agent_api_list_all_grants',
    'public.agent_api_list_peers',
    'public.agent_api_list_mesh_rules',
    'public.agent_api_check_mesh',
    'public.agent_api_list_paths',
    'public.agent_api_plan_policy',
    'public.agent_api_read_policy',
    'public.agent_api_inspect_deployment',
    'public.agent_api_describe_schema',
    'public.agent_api_find_restore_signs',
    'public.agent_api_read_project',
    'public.agent_api_find_lost_events',
    'public.agent_api_find_hashed_names',
    'public.agent_api_list_live_keys',
    'public.agent_api_list_enrolments',
    'public.agent_api_list_full_enrolments',
    'public.agent_api_count_use_of_enrolments',
    'public.agent_api_list_trusts',
    'public.agent_api_enrol_with_key',
    'public.agent_api_enrol_with_token',
    'public.agent_api_refuse_token',
    'public.agent_api_note_first_use',
    'public.agent_api_leave'
  ]::regproc[];
  -- Functions that only the operator calls. They may wait as long as the project lets a call last.
  patient constant regproc[] := array[
    'public.agent_api_create_agent_key',
    'public.agent_api_create_agent_keys',
    'public.agent_api_revoke_agent_key',
    'public.agent_api_revoke_agent_keys',
    'public.agent_api_end_artifacts',
    'public.agent_api_record_surplus_uploads',
    'public.agent_api_collect_dead_objects',
    'public.agent_api_forget_ended',
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
