import assert from "node:assert/strict";
import type postgres from "postgres";
import { fill } from "../bench/fill/fill.ts";
import { withProjectDatabase } from "./connection.ts";
import { CALLS } from "./plans/calls.ts";
import { complaintsIn } from "./plans/complaints.ts";
import { HUB } from "./plans/planned_call.ts";
import { fillLog } from "./plans/log_rows.ts";
import { fillOrphans } from "./plans/orphan_rows.ts";
import { functionsPlannedByCalls } from "./plans/planned_functions.ts";

/** What these functions read is bounded by what the operator asks for, not by the tables. */
const WITHOUT_PLAN = new Set([
  // It writes to Vault and cron, which not every project has.
  "schedule_sweep",
  // It counts all rows of a few agents in one snapshot, which is what it is for.
  "list_wrong_totals",
  "repair_totals",
  // They add up one row per agent.
  "check_project_totals",
  "repair_project_totals",
  // It raises the config_version of every agent, which is what it is for.
  "after_restore",
  // It looks at one row per peer and per orphan, for the doctor.
  "find_restore_signs",
]);

// Where the planner is most tempted: reading a whole table seems to cost as much as a thousand
// looks into an index.
Deno.test("each SQL function, in tables of 20,000 rows → reads ranges of indexes, a bounded number of rows and pages, and keeps its plans", async () => {
  await withProjectDatabase({}, async (sql) => {
    await fill(sql, { artifacts: 20_000, peers: 10_000, hubs: [HUB] });
    await fillLog(sql, { artifacts: 20_000 });
    await fillOrphans(sql, { artifacts: 20_000 });
    assert.deepEqual(await complaintsIn(sql), []);
    assert.deepEqual(await functionsPlannedByCalls(sql), []);
    const named = [...CALLS.map(({ functionName }) => functionName), ...WITHOUT_PLAN];
    assert.deepEqual(await functionsOf(sql), Array.from(new Set(named)).sort());
  });
});

async function functionsOf(sql: postgres.Sql): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select distinct p.proname::text collate "C" as name
    from pg_proc p
    where p.pronamespace = 'public'::regnamespace
      and has_function_privilege('service_role', p.oid, 'execute')
    order by 1`;
  return rows.map(({ name }) => name);
}
