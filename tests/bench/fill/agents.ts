/** Fills the tables that all operations share: agent keys and the log of events. */
import type postgres from "postgres";
import { agentKeyOf, HOARDER, sha256, type Size } from "./cast.ts";
import { fillInChunks } from "./chunks.ts";

/**
 * One agent key of each agent of the cast, of each peer, and of one agent per ten artifacts; as
 * many agents who were removed, and who have a quota and tags of their own.
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
  for (const agentId of [...cast, ...hubs.map((hub) => hub.agentId)]) {
    await sql`
      insert into agents.keys (key_id, agent_id, key_hash)
      values ('key_' || md5(${agentId}), ${agentId}, ${sha256(agentKeyOf(agentId))})`;
  }
}

/** By the function that every operation calls, whatever the log is made of. */
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
