import type { MendedFault } from "./mended_fault.ts";
import { SHARED_FAULTS } from "./shared_faults.ts";

export const DATABASE_FAULTS: readonly MendedFault[] = [
  {
    fault: "applying a policy stopped midway",
    put: `
      insert into mesh.policies (source, fingerprint) values ('{ "rules": [] }', repeat('0', 64));
      insert into mesh.rules (from_agent, to_agent, proto, port, policy_since)
      values ('a', 'b', 'tcp', 443, now());
      update mesh.policies set rules = 1 where only_row`,
    check: "policy",
    message: /^The policy was only partly applied/,
    cleanUp: "delete from mesh.policies; delete from mesh.config_versions",
  },
  ...SHARED_FAULTS,
  {
    fault: "the sequence of the events is behind its rows",
    put: `insert into agents.events (actor_kind, action) values ('operator', 'policy.applied');
      select setval('agents.events_event_id_seq', 1)`,
    check: "structure",
    message: /^The sequence of agents\.events is behind its rows: /,
  },
  {
    fault: "a function runs as its owner",
    put: "alter function public.agent_api_list_agents security definer",
    check: "schema",
    message: /^The SQL function public\.agent_api_list_agents runs as its owner\.$/,
  },
  {
    fault: "a function that must run as its owner does not",
    put: "alter function agents.open_writers security invoker",
    check: "schema",
    message: /^The SQL function agents\.open_writers runs as its caller\.$/,
  },
  ...["view", "materialized view"].map((kind): MendedFault => ({
    fault: `a ${kind} of the app over our tables, by default privileges`,
    put: `set role postgres;
      create ${kind} public.files_overview as select agent_id, key, sha256 from artifacts.artifacts;
      reset role`,
    check: "privileges",
    message:
      /^Everybody with the publishable key may read our tables .* view public\.files_overview\.$/,
    cleanUp: `drop ${kind} public.files_overview`,
  })),
  {
    fault: "a view of the app, in a schema of its own, over a view over our tables",
    put: `set role postgres;
      create schema app;
      create view app.keys as select agent_id from agents.keys;
      create view app.agents as select distinct agent_id from app.keys;
      grant usage on schema app to authenticated;
      grant select (agent_id) on app.agents to authenticated;
      reset role`,
    check: "privileges",
    message: /^Everybody with the publishable key may read our tables .* view app\.agents\.$/,
    cleanUp: "drop schema app cascade",
  },
  {
    fault: "a function of the app that runs as its owner over our tables",
    put: `set role postgres;
      create function public.my_files(agent text) returns bigint language plpgsql
      security definer as $$ begin
        return (select count(*) from artifacts . artifacts a where a.agent_id = agent);
      end $$;
      reset role`,
    check: "privileges",
    message:
      /^Everybody with the publishable key may call public\.my_files\(text\), which runs as its owner /,
    cleanUp: "drop function public.my_files",
  },
  {
    fault:
      "a function of the app with an SQL-standard body, that runs as its owner over our tables",
    put: `set role postgres;
      create function public.count_files() returns bigint language sql security definer
      return (select count(*) from artifacts.artifacts);
      reset role`,
    check: "privileges",
    message:
      /^Everybody with the publishable key may call public\.count_files\(\), which runs as its owner /,
    cleanUp: "drop function public.count_files",
  },
  {
    fault: "our own functions are open to everybody, as after pg_restore",
    put: "grant execute on all functions in schema mesh to public",
    check: "privileges",
    message: /^Tables or functions in the schema mesh are open to anon or authenticated, /,
  },
  {
    fault: "a table of ours is granted to anon",
    put: "grant select (key_id) on agents.keys to anon",
    check: "privileges",
    message: /^Tables or functions in the schema agents are open to anon or authenticated, /,
  },
  {
    fault: "a role was granted service_role",
    put: "set role postgres; create role reporting; grant service_role to reporting; reset role",
    check: "privileges",
    message: /^The role reporting is a member of service_role, /,
    cleanUp: "drop role reporting",
  },
  {
    fault: "a policy on the table of agent keys",
    put: "create policy open on agents.keys for select to anon using (true)",
    check: "policies",
    message: /^The policy "open" on agents\.keys is not ours: /,
  },
  {
    fault: "a function was dropped",
    put: "drop function public.agent_api_list_inbox",
    check: "schema",
    message: /^The SQL function public\.agent_api_list_inbox is missing\.$/,
  },
  {
    fault: "a function that others call was dropped",
    put: "drop function mesh.lock_pairs",
    check: "schema",
    message: /^The SQL function mesh\.lock_pairs is missing\.$/,
  },
  {
    fault: "a function is that of an older schema, as after a rollback",
    put:
      `create or replace function public.agent_api_delete_artifact(caller jsonb, artifact_id text) returns json
      language plpgsql volatile set search_path = '' as $$ begin return null; end $$`,
    check: "schema",
    message: /^The SQL function public\.agent_api_delete_artifact is not what this checkout has\.$/,
  },
  {
    fault: "a function's privilege was revoked",
    put: "revoke execute on function public.agent_api_read_netmap from service_role",
    check: "SQL functions",
    message: /^service_role cannot call agent_api_read_netmap: /,
  },
  {
    fault: "inspect_deployment was dropped",
    put: "drop function public.agent_api_inspect_deployment",
    check: "schema",
    message: /^The SQL function public\.agent_api_inspect_deployment is missing\.$/,
  },
  {
    fault: "service_role may not call inspect_deployment",
    put: "revoke execute on function public.agent_api_inspect_deployment from service_role",
    check: "SQL functions",
    message: /^service_role cannot call agent_api_inspect_deployment: /,
  },
  {
    fault: "all functions in public are granted to anon",
    put: "grant execute on all functions in schema public to anon",
    check: "privileges",
    message:
      /^Everybody with the publishable key may use agent_api_after_restore, .* and \d+ more\.$/,
  },
  {
    fault: "anon may use the schema of the agent keys",
    put: "grant usage on schema agents to anon",
    check: "privileges",
    message: /^Everybody with the publishable key may use the schema agents\.$/,
  },
  {
    fault: "nobody may read which migrations were applied",
    put: "revoke select on supabase_migrations.schema_migrations from service_role",
    check: "migrations",
    level: "note",
    message: /^Nobody recorded which migrations this database has\.$/,
  },
  {
    fault: "the sweep has been silent for longer than its schedule",
    put: `update artifacts.sweeps set swept_at = now() - interval '20 minutes'`,
    check: "sweep",
    message: /^The last sweep ended 20 minutes ago; pg_cron was given \*\/2 \* \* \* \*\.$/,
  },
  {
    fault: "the schedule of the sweep has never reached the function",
    put: `update artifacts.sweeps set swept_at = null, installed_at = now() - interval '1 hour'`,
    check: "sweep",
    message: /^Nobody has swept for 60 minutes; pg_cron was given \*\/2 \* \* \* \*\.$/,
  },
  {
    fault: "a task is parked",
    put: `
      insert into artifacts.artifacts (artifact_id, agent_id, key, mime, size_bytes, ttl_days, state,
        sha256, committed_at, expires_at, commit_attempts, sealed_attempt, version)
      values ('art_' || md5('parked'), 'planner', 'plan', 'text/plain', 1, 7, 'committed',
        encode(sha256('x'), 'hex'), now(), now() + interval '7 days', 1, 1, 1);
      insert into artifacts.grants (grant_id, artifact_id, from_agent, to_agent, token_hash, expires_at)
      values ('grant_' || md5('parked'), 'art_' || md5('parked'), 'planner', 'builder',
        repeat('0', 64), now() + interval '1 day');
      insert into artifacts.tasks (grant_id, agent_id, state, attempt, taken_by, reason)
      values ('grant_' || md5('parked'), 'builder', 'parked', 5, 'builder', 'It has no roof.')`,
    check: "tasks",
    level: "note",
    message: /^1 task is parked: it failed too often, or for good, and waits for its giver\.$/,
    cleanUp: "delete from artifacts.artifacts where artifact_id = 'art_' || md5('parked')",
  },
];
