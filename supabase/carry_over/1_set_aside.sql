-- For a database of the time before the first release, whose migrations were squashed since. This
-- sets its tables aside, so that `supabase db push` can make the schema anew. Nothing is lost: the
-- rows come back by 2_bring_back.sql. docs/deployment.md has all the steps.

begin;

alter schema agents rename to agents_before;
alter schema artifacts rename to artifacts_before;
alter schema mesh rename to mesh_before;

do $$
declare
  old_function regprocedure;
begin
  for old_function in
    select p.oid::regprocedure
    from pg_catalog.pg_proc p
    where p.pronamespace = 'public'::regnamespace
      and p.proname in (
        'begin_commit',
        'check_health',
        'create_agent_key',
        'delete_artifact',
        'discard_registration',
        'finish_commit',
        'grant_artifact',
        'list_artifacts',
        'list_artifacts_without_bytes',
        'list_inbox',
        'list_objects_without_artifact',
        'list_psks_to_reseal',
        'open_artifact',
        'put_rule',
        'read_netmap',
        'read_wg_config',
        'record_heartbeat',
        'redeem_grant_token',
        'register_artifact',
        'register_peer',
        'release_commit',
        'remove_peer',
        'reseal_psks',
        'revoke_agent_key',
        'revoke_agent_keys',
        'revoke_grants',
        'revoke_rule',
        'rotate_psk',
        'save_commit_progress',
        'schedule_sweep',
        'store_psks',
        'sweep_artifacts'
      )
  loop
    execute format('drop function %s', old_function);
  end loop;
end
$$;

-- The versions of the migrations that are no more.
delete from supabase_migrations.schema_migrations
where version between '20261120100000' and '20261121100500';

commit;
