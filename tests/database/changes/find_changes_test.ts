import assert from "node:assert/strict";
import type postgres from "postgres";
import { withProjectDatabase } from "../connection.ts";

const OPERATOR = { kind: "operator", request_id: "test" };
const WAITS = 500;

interface Changes {
  readonly changed: readonly number[];
  readonly inbox_position: string;
  readonly events_position: string;
}

type Position = Omit<Changes, "changed">;

/** One wait of each of many agents, of all kinds that read feeds. */
function waitsOf({ inbox_position, events_position }: Position) {
  return Array.from({ length: WAITS }, (_, index) => {
    const wait = { caller: OPERATOR, agent_id: `agent-${index}` };
    const kinds = [
      { kind: "inbox", from_agent: null, after: inbox_position },
      { kind: "events", types: ["grant.created"], after: events_position },
      { kind: "all", version: null, inbox_after: inbox_position, events_after: events_position },
    ];
    return { ...wait, ...kinds[index % kinds.length] };
  });
}

/** Also how often the functions were called that read an agent's feed in detail. */
async function findChanges(sql: postgres.Sql, waits: readonly object[]) {
  return await sql.begin(async (transaction) => {
    await transaction`set local track_functions = 'all'`;
    await transaction`set local role service_role`;
    const [found] = await transaction<[{ changes: Changes }]>`
      select agent_api_find_changes(${transaction.json(waits as never)}) as changes`;
    await transaction`reset role`;
    const [row] = await transaction`
      select coalesce(sum(calls), 0)::int as calls
      from pg_stat_xact_user_functions
      where funcname in ('has_new_grant', 'has_new_event')`;
    return { ...found.changes, detailed: row!["calls"] as number };
  });
}

async function record(sql: postgres.Sql, agentId: string): Promise<void> {
  await sql`
    select agents.record_event(${
    sql.json(OPERATOR)
  }, null, 'grant.created', ${agentId}, null, '{}')`;
}

Deno.test("find_changes of 500 waits → reads in detail only the feeds in which something is new", async () => {
  await withProjectDatabase({}, async (sql) => {
    await record(sql, "agent-4");
    const { inbox_position, events_position } = await findChanges(sql, []);
    const waits = waitsOf({ inbox_position, events_position });
    const before = await findChanges(sql, waits);
    assert.deepEqual([before.changed, before.detailed], [[], 0]);

    await record(sql, "agent-4");
    const after = await findChanges(sql, waits);
    assert.deepEqual([after.changed, after.detailed], [[4], 1]);
  });
});
