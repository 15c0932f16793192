-- Made of supabase/schemas/privileges.sql by `deno task schema:squash`.

-- Who may use what: service_role, and nobody else. Projects differ in what they grant by default,
-- so every privilege is stated here. Row level security is on everywhere, with no policy.

revoke all on schema agents, artifacts, mesh from public, anon, authenticated;
grant usage on schema agents, artifacts, mesh to service_role;

revoke all on all tables in schema agents, artifacts, mesh from public, anon, authenticated, service_role;
grant select, insert, update on agents.keys to service_role;
grant select, insert on agents.events to service_role;
grant select, insert, update, delete on artifacts.artifacts to service_role;
grant select, insert, update, delete on artifacts.verifications to service_role;
grant select, insert, update, delete on artifacts.grants to service_role;
grant select, insert, update on artifacts.totals to service_role;
grant select, insert, update on artifacts.walks to service_role;
grant select on mesh.settings to service_role;
grant select, insert, update on mesh.address_leases to service_role;
grant select, insert, update, delete on mesh.peers to service_role;
grant select, insert, update on mesh.liveness to service_role;
grant select, insert, update, delete on mesh.rules to service_role;
grant select, insert, update, delete on mesh.pairs to service_role;
grant select, insert, update on mesh.config_versions to service_role;

alter table agents.keys enable row level security;
alter table agents.events enable row level security;
alter table artifacts.artifacts enable row level security;
alter table artifacts.verifications enable row level security;
alter table artifacts.grants enable row level security;
alter table artifacts.totals enable row level security;
alter table artifacts.walks enable row level security;
alter table mesh.settings enable row level security;
alter table mesh.address_leases enable row level security;
alter table mesh.peers enable row level security;
alter table mesh.liveness enable row level security;
alter table mesh.rules enable row level security;
alter table mesh.pairs enable row level security;
alter table mesh.config_versions enable row level security;

revoke all on all sequences in schema agents from public, anon, authenticated, service_role;
revoke all on all functions in schema agents, artifacts, mesh from public, anon, authenticated;
grant execute on all functions in schema agents, artifacts, mesh to service_role;

-- `public` may hold functions of others: these are ours.
revoke all on function
  public.create_agent_key(text, text, timestamptz, integer),
  public.revoke_agent_key(text),
  public.revoke_agent_keys(text),
  public.check_operator(jsonb),
  public.check_health(),
  public.list_artifacts(jsonb, text, text, integer, text),
  public.delete_artifact(jsonb, text),
  public.register_artifact(jsonb, text, text, text, text, bigint, integer, bigint, integer),
  public.discard_registration(jsonb, text),
  public.begin_commit(jsonb, text, text, integer),
  public.save_commit_progress(text, uuid, uuid, text, bigint, text),
  public.finish_commit(jsonb, text, uuid, text, bigint, text),
  public.release_commit(text, uuid),
  public.grant_artifact(jsonb, text, text, timestamptz, text, text, integer),
  public.revoke_grants(jsonb, text, text, text),
  public.list_inbox(jsonb, text, integer, text),
  public.redeem_grant_token(jsonb, text, integer),
  public.open_artifact(jsonb, text, integer),
  public.end_artifacts(jsonb, integer, integer),
  public.find_dead_objects(jsonb, integer, boolean),
  public.forget_ended(jsonb, integer),
  public.schedule_sweep(text, text, text),
  public.list_artifacts_without_bytes(integer, text),
  public.list_objects_without_artifact(integer, text),
  public.list_wrong_totals(integer, text),
  public.record_heartbeat(jsonb, text, bigint),
  public.remove_peer(jsonb, text),
  public.put_rule(jsonb, text, text, integer, text, integer, integer),
  public.revoke_rule(jsonb, text, text, integer, text),
  public.store_psks(jsonb, text, jsonb),
  public.rotate_psk(jsonb, text, text),
  public.list_psks_to_reencrypt(text, integer),
  public.reencrypt_psks(jsonb),
  public.register_peer(jsonb, text, text, text, inet, integer, integer),
  public.read_netmap(jsonb, text, integer, integer),
  public.read_wg_config(jsonb, text)
from public, anon, authenticated;

grant execute on function
  public.create_agent_key(text, text, timestamptz, integer),
  public.revoke_agent_key(text),
  public.revoke_agent_keys(text),
  public.check_operator(jsonb),
  public.check_health(),
  public.list_artifacts(jsonb, text, text, integer, text),
  public.delete_artifact(jsonb, text),
  public.register_artifact(jsonb, text, text, text, text, bigint, integer, bigint, integer),
  public.discard_registration(jsonb, text),
  public.begin_commit(jsonb, text, text, integer),
  public.save_commit_progress(text, uuid, uuid, text, bigint, text),
  public.finish_commit(jsonb, text, uuid, text, bigint, text),
  public.release_commit(text, uuid),
  public.grant_artifact(jsonb, text, text, timestamptz, text, text, integer),
  public.revoke_grants(jsonb, text, text, text),
  public.list_inbox(jsonb, text, integer, text),
  public.redeem_grant_token(jsonb, text, integer),
  public.open_artifact(jsonb, text, integer),
  public.end_artifacts(jsonb, integer, integer),
  public.find_dead_objects(jsonb, integer, boolean),
  public.forget_ended(jsonb, integer),
  public.schedule_sweep(text, text, text),
  public.list_artifacts_without_bytes(integer, text),
  public.list_objects_without_artifact(integer, text),
  public.list_wrong_totals(integer, text),
  public.record_heartbeat(jsonb, text, bigint),
  public.remove_peer(jsonb, text),
  public.put_rule(jsonb, text, text, integer, text, integer, integer),
  public.revoke_rule(jsonb, text, text, integer, text),
  public.store_psks(jsonb, text, jsonb),
  public.rotate_psk(jsonb, text, text),
  public.list_psks_to_reencrypt(text, integer),
  public.reencrypt_psks(jsonb),
  public.register_peer(jsonb, text, text, text, inet, integer, integer),
  public.read_netmap(jsonb, text, integer, integer),
  public.read_wg_config(jsonb, text)
to service_role;
