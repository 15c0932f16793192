import assert from "node:assert/strict";
import type postgres from "postgres";
import { withProjectDatabase } from "./connection.ts";
import { CALLS } from "./plans/calls.ts";

/** Functions without a checked plan, and why. */
const WITHOUT_PLAN = new Set([
  // Writes to Vault and cron, which not every project has.
  "schedule_sweep",
  // Their purpose is to count all rows of a few agents in one snapshot.
  "list_wrong_totals",
  "repair_totals",
  // Add up one row per agent.
  "check_project_totals",
  "repair_project_totals",
  // Its purpose is to raise the config_version of every agent.
  "after_restore",
  // Reads one row per peer and per orphan, for the doctor.
  "find_restore_signs",
]);

// tests/long/schema/plans_test.ts checks how much the calls read.
Deno.test("each SQL function → has a call whose plan is looked at", async () => {
  await withProjectDatabase({}, async (sql) => {
    const named = new Set([...CALLS.map(({ functionName }) => functionName), ...WITHOUT_PLAN]);
    const there = new Set(await functionsOf(sql));
    assert.deepEqual(
      Array.from(
        there.difference(named),
        (name) =>
          `${name} has no call: add one to its operation's card in tests/operations/, or to ` +
          `tests/database/plans/`,
      ),
      [],
    );
    assert.deepEqual(Array.from(named.difference(there)), [], "calls of functions that are gone");
  });
});

async function functionsOf(sql: postgres.Sql): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select distinct split_part(p.proname, 'agent_api_', 2) collate "C" as name
    from pg_proc p
    where p.pronamespace = 'public'::regnamespace
      and has_function_privilege('service_role', p.oid, 'execute')
    order by 1`;
  return rows.map(({ name }) => name);
}
