import assert from "node:assert/strict";
import type postgres from "postgres";
import { fill } from "../bench/fill/fill.ts";
import { GRANTEE, HOARDER, peerIdOf } from "../bench/fill/cast.ts";
import { callAsService, withProjectDatabase } from "./connection.ts";

/** The most entries that one call ends, by default. */
const MAX_ENTRIES = 2_000;

Deno.test("remove_agent of an agent with more artifacts than one call ends → calls of 2,000, each within a hosted project's 8 seconds, until nothing is left", async () => {
  await withProjectDatabase({}, async (sql) => {
    await fill(sql, { artifacts: 4_000, peers: 100 });
    const held = await heldBy(sql, HOARDER);
    assert.ok(
      held.artifacts > MAX_ENTRIES && held.artifacts < 2 * MAX_ENTRIES,
      `${held.artifacts}`,
    );

    const first = await remove(sql, HOARDER);
    assert.deepEqual([first.artifacts, first.remaining], [MAX_ENTRIES, true]);
    const second = await remove(sql, HOARDER);
    assert.deepEqual([second.artifacts, second.remaining], [held.artifacts - MAX_ENTRIES, false]);
    assert.deepEqual(await heldBy(sql, HOARDER), { artifacts: 0, grants: 0, keys: 0 });
    const totals = await sql`select agent_id from artifacts.totals`;
    assert.ok(totals.length > 1);
    const agent_ids = totals.map(({ agent_id }) => agent_id);
    assert.deepEqual(await callAsService(sql, "list_wrong_totals", { agent_ids }), []);
  });
});

Deno.test("remove_agent → one event for each key, peer, rule, grant and artifact that it ended", async () => {
  await withProjectDatabase({}, async (sql) => {
    await fill(sql, { artifacts: 1_000, peers: 100 });
    const peer = peerIdOf(50);
    const [rules] = await sql<[{ count: number }]>`
      select count(*)::integer as count from mesh.rules where ${peer} in (from_agent, to_agent)`;
    for (const agent of [GRANTEE, HOARDER, peer]) {
      const [before] = await sql<[{ last: string }]>`
        select coalesce(max(event_id), 0)::text as last from agents.events`;
      const [standing] = await sql<[{ count: number }]>`
        select count(*)::integer as count from artifacts.standing_grants
        where ${agent} in (from_agent, to_agent) and live_until > now()`;
      const [visible] = await sql<[{ count: number }]>`
        select cardinality(mesh.visible_peers(${agent})) as count`;
      const removed = await remove(sql, agent);
      const events = await sql<{ action: string; count: number }[]>`
        select action, count(*)::integer as count from agents.events
        where event_id > ${before.last}::bigint group by action`;
      const expected: Record<string, number> = {
        "key.revoked": removed.keys,
        "peer.removed": removed.peer ? 1 : 0,
        "peer.vanished": removed.peer ? visible.count : 0,
        "rule.revoked": agent === peer ? rules.count : 0,
        "grant.revoked": removed.grants,
        "standing.ended": standing.count,
        "artifact.deleted": removed.artifacts,
        "agent.removed": 1,
      };
      assert.deepEqual(
        Object.fromEntries(events.map(({ action, count }) => [action, count])),
        Object.fromEntries(Object.entries(expected).filter(([, count]) => count > 0)),
        agent,
      );
    }
  });
});

Deno.test("two agents that granted to each other are removed at once, again and again → neither waits for the other in a circle", async () => {
  await withProjectDatabase({}, async (sql) => {
    await fill(sql, { artifacts: 2_000, peers: 100 });
    const agents = [HOARDER, GRANTEE, "owner-0", "owner-10"];
    const removals = await Promise.all(agents.map((agent) => remove(sql, agent)));
    assert.equal(removals.filter(({ remaining }) => remaining).length, 0);
    for (const agent of agents) {
      assert.deepEqual(await heldBy(sql, agent), { artifacts: 0, grants: 0, keys: 0 });
    }
  });
});

interface Removal {
  readonly keys: number;
  readonly peer: boolean;
  readonly grants: number;
  readonly artifacts: number;
  readonly remaining: boolean;
}

/** Calls remove_agent with the statement timeout of a hosted project. */
async function remove(sql: postgres.Sql, agent_id: string): Promise<Removal> {
  return await sql.begin(async (transaction) => {
    await transaction`set local statement_timeout = '8s'`;
    await transaction`set local role service_role`;
    const [row] = await transaction`select public.agent_api_remove_agent(${agent_id}) as removal`;
    return row!["removal"] as Removal;
  }) as Removal;
}

async function heldBy(sql: postgres.Sql, agent: string) {
  const [held] = await sql<[{ artifacts: number; grants: number; keys: number }]>`
    select
      (select count(*) from artifacts.artifacts a
        where a.agent_id = ${agent} and a.state <> 'deleted' and a.ended_at is null)::integer as artifacts,
      (select count(*) from artifacts.grants g
        where ${agent} in (g.from_agent, g.to_agent) and g.live_until > now())::integer as grants,
      (select count(*) from agents.keys k
        where k.agent_id = ${agent} and k.revoked_at is null)::integer as keys`;
  return { ...held };
}
