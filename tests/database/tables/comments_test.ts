import assert from "node:assert/strict";
import { withStackDatabase } from "../connection.ts";
import { readCatalog } from "./catalog.ts";

/** Names that mean the same in every table, and need no comment. */
const CLEAR_NAMES = `
  agent_id from_agent to_agent low_agent high_agent subject_agent_id other_agent_id actor_agent_id
  actor artifact_id grant_id key_id enrolment_id event_id request_id object_id object_name
  object_version encryption_key_id function_name from_name to_name key_hash name_hash token_hash
  applied_at begun_at blocked_at committed_at counted_at created_at declined_at deleted_at
  enrolled_at erased_at expires_at from_agreed_at granted_at hour_began_at installed_at last_at
  last_read_at last_used_at lease_expires_at occurred_at recorded_at registered_at removed_at revoked_at
  surplus_seen_at taken_at to_agreed_at updated_at last_seen day hour minute
  committed_bytes pending_bytes quota_bytes size_bytes superseded_bytes surplus_bytes verified_bytes
  max_token_age_seconds session_seconds ttl_days
  webhook_id
  count grants requests committed pending superseded online offline never_seen things
  action actor_kind kind details reason state active declined_by single_use_tokens
  key mime label tag tags port proto pubkey listen_port audience issuer jwks
  ipv4 ipv6 ipv4_network ipv6_network secret epoch only_row shard counter value version
  attempt walk position round census
`.trim().split(/\s+/);

Deno.test("every column has a comment, or a name that says everything", async () => {
  const { columns } = await withStackDatabase(readCatalog);
  const bare = columns.filter(({ hasComment }) => !hasComment);
  assert.deepEqual(
    bare.filter(({ column }) => !CLEAR_NAMES.includes(column))
      .map(({ table, column }) =>
        `${table}.${column} has no comment in supabase/schemas/. If its name says everything, list ` +
        `the name in tests/database/tables/comments_test.ts`
      ),
    [],
  );
  assert.deepEqual(CLEAR_NAMES.filter((name) => !bare.some(({ column }) => column === name)), []);
});
