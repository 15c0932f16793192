/** Fills the tables that all operations share: agent keys and the event log. */
import type postgres from "postgres";
import {
  agentKeyOf,
  FLEET,
  FLEET_ISSUER,
  FLEET_KEY,
  FLEET_TRUST,
  HOARDER,
  sha256,
  type Size,
  TAGGED,
  TAGS,
} from "./cast.ts";
import { fillInChunks } from "./chunks.ts";

/**
 * Creates one agent key for each agent of the cast, for each peer, and for one agent per ten
 * artifacts. Also creates as many removed agents, each with its own quota and tags.
 */
export async function fillKeys(
  sql: postgres.Sql,
  { artifacts, peers, hubs = [] }: Size,
  cast: readonly string[],
): Promise<void> {
  const agents = Math.max(peers, Math.ceil(artifacts / 10));
  await fillInChunks(sql, agents, (transaction, { from, to }) =>
    transaction`
      insert into agents.removed_agents (agent_id)
      select 'removed-' || i from generate_series(${from}::integer, ${to}::integer - 1) i`);
  await fillInChunks(sql, agents, (transaction, { from, to }) =>
    transaction`
      insert into agents.erased_names (name_hash)
      select agents.hash_of_name('erased-' || i)
      from generate_series(${from}::integer, ${to}::integer - 1) i`);
  await fillInChunks(sql, agents, (transaction, { from, to }) =>
    transaction`
      insert into agents.agent_tags (agent_id, tag)
      select 'removed-' || i, 'tag:fleet-' || t
      from generate_series(${from}::integer, ${to}::integer - 1) i, generate_series(1, 2) t`);
  await fillInChunks(sql, agents, (transaction, { from, to }) =>
    transaction`
      insert into artifacts.agent_limits (agent_id, quota_bytes)
      select 'removed-' || i, 1e9 from generate_series(${from}::integer, ${to}::integer - 1) i`);
  await fillInChunks(
    sql,
    agents,
    (transaction, { from, to }) =>
      transaction`
      insert into agents.keys (key_id, agent_id, key_hash)
      select 'key_' || md5(k.agent_id), k.agent_id, encode(sha256(convert_to(
        'ak_' || encode(sha256(convert_to('key of ' || k.agent_id, 'UTF8')), 'hex'), 'UTF8'
      )), 'hex')
      from generate_series(${from}::integer, ${to}::integer - 1) i
      cross join lateral (select 'peer-' || i) k (agent_id)`,
  );
  await sql`
    insert into agents.agent_tags (agent_id, tag) select ${TAGGED}, unnest(${TAGS}::text[])`;
  await fillEnrolled(sql, agents);
  for (const agentId of [...cast, ...hubs.map((hub) => hub.agentId)]) {
    await sql`
      insert into agents.keys (key_id, agent_id, key_hash)
      values ('key_' || md5(${agentId}), ${agentId}, ${sha256(agentKeyOf(agentId))})`;
  }
}

/** Creates one enrolment key with many agents that enrolled with it, and one trusted issuer. */
async function fillEnrolled(sql: postgres.Sql, agents: number): Promise<void> {
  await sql`
    insert into agents.enrolments (enrolment_id, kind, key_hash, session_seconds, ephemeral_seconds)
    values (${FLEET}, 'key', ${sha256(FLEET_KEY)}, 3600, 3600)`;
  await sql`
    insert into agents.enrolments (
      enrolment_id, kind, issuer, audience, conditions, agent_template, session_seconds,
      single_use_tokens
    )
    values (
      ${FLEET_TRUST}, 'trust', ${FLEET_ISSUER}, 'us', '[{"claim": "sub", "equals": "a"}]', '{sub}',
      3600, true
    )`;
  await fillInChunks(sql, agents, (transaction, { from, to }) =>
    transaction`
      insert into agents.enrolled_agents (agent_id, enrolment_id, generation, enrolled_at, due_at)
      select 'enrolled-' || i, ${FLEET}, 1, now(), now() + i * interval '1 second'
      from generate_series(${from}::integer, ${to}::integer - 1) i`);
  await fillInChunks(sql, agents, (transaction, { from, to }) =>
    transaction`
      insert into agents.names (agent_id, ways)
      select 'enrolled-' || i, array[${FLEET}]
      from generate_series(${from}::integer, ${to}::integer - 1) i`);
  // More than one sweep forgets: they ended long ago, and left nothing.
  await sql`
    insert into agents.enrolled_agents (agent_id, enrolment_id, generation, enrolled_at, ended_at)
    select 'left-' || i, ${FLEET}, 1, now() - interval '50 days', now() - interval '40 days'
    from generate_series(1, 300) i`;
  await sql`
    insert into agents.names (agent_id, ways)
    select 'left-' || i, array[${FLEET}] from generate_series(1, 300) i`;
  await fillInChunks(
    sql,
    agents,
    (transaction, { from, to }) =>
      transaction`
      insert into agents.keys (
        key_id, agent_id, key_hash, expires_at, enrolment_id, generation, first_used_at
      )
      select 'key_' || md5(k.agent_id), k.agent_id, encode(sha256(convert_to(
        'ak_' || encode(sha256(convert_to('key of ' || k.agent_id, 'UTF8')), 'hex'), 'UTF8'
      )), 'hex'), now() + i * interval '1 second', ${FLEET}, 1, now()
      from generate_series(${from}::integer, ${to}::integer - 1) i
      cross join lateral (select 'enrolled-' || i) k (agent_id)`,
  );
  await fillInChunks(sql, agents, (transaction, { from, to }) =>
    transaction`
      insert into agents.used_tokens (enrolment_id, token_id, key_id, expires_at)
      select ${FLEET_TRUST}, encode(sha256(convert_to('token ' || i, 'UTF8')), 'hex'), 'key_' || md5('enrolled-' || i), now() + i * interval '1 second'
      from generate_series(${from}::integer, ${to}::integer - 1) i`);
}

/**
 * Calls agents.record_event, as every operation does, so it does not depend on the log's tables.
 */
export async function fillEvents(sql: postgres.Sql, { artifacts }: Size): Promise<void> {
  await fillInChunks(sql, artifacts, (transaction, { from, to }) =>
    transaction`
      select count(agents.record_event(
        '{"kind": "operator", "request_id": "9b1f4e2e-8f0e-4c7c-9d1a-7a1f0f3a5b6c"}', null,
        'artifact.committed', ${HOARDER}, 'art_' || md5('artifact ' || i),
        jsonb_build_object('sha256', repeat('0', 64), 'superseded', null)
      ))
      from generate_series(${from}::integer, ${to}::integer - 1) i`);
}
