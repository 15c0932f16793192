import assert from "node:assert/strict";
import type postgres from "postgres";
import { fill } from "../bench/fill/fill.ts";
import { SUPERUSER_URL, withProjectDatabase } from "./connection.ts";
import { CALLS, HUB, type PlannedCall } from "./plans/calls.ts";
import { fillLog } from "./plans/log_rows.ts";
import { type Explainer, openExplainer, PLAN_KINDS, type PlanKind } from "./plans/explain.ts";

/** Tables with a row per artifact, grant, event, agent, peer, rule or object. */
const GROWING = new Set([
  "agents.events",
  "agents.keys",
  "agents.reads",
  "artifacts.artifacts",
  "artifacts.blocked_senders",
  "artifacts.grants",
  "artifacts.totals",
  "artifacts.verifications",
  "mesh.address_leases",
  "mesh.config_versions",
  "mesh.declined_requests",
  "mesh.liveness",
  "mesh.pairs",
  "mesh.peers",
  "mesh.rules",
  "storage.objects",
]);
/** What these functions read is bounded by what the operator asks for, not by the tables. */
const WITHOUT_PLAN = new Set([
  // It writes to Vault and cron, which not every project has.
  "schedule_sweep",
  // It counts all rows of a few agents in one snapshot, which is what it is for.
  "list_wrong_totals",
]);

Deno.test("each SQL function, in tables of 100,000 rows → reads ranges of indexes, and a bounded number of rows and pages", async () => {
  await withProjectDatabase({}, async (sql) => {
    await fill(sql, { artifacts: 100_000, peers: 20_000, hubs: [HUB] });
    await fillLog(sql, { artifacts: 100_000 });
    assert.deepEqual(await complaintsIn(sql), []);
    const named = [...CALLS.map(({ functionName }) => functionName), ...WITHOUT_PLAN];
    assert.deepEqual(await functionsOf(sql), Array.from(new Set(named)).sort());
  });
});

// Where the planner is most tempted: reading a whole table seems to cost as much as a thousand
// looks into an index.
Deno.test("each SQL function, in tables of 20,000 rows → the same", async () => {
  await withProjectDatabase({}, async (sql) => {
    await fill(sql, { artifacts: 20_000, peers: 10_000, hubs: [HUB] });
    await fillLog(sql, { artifacts: 20_000 });
    assert.deepEqual(await complaintsIn(sql), []);
  });
});

/** What the calls do that they must not, in words. */
async function complaintsIn(sql: postgres.Sql): Promise<string[]> {
  const explainer = await openExplainer(await urlOf(sql));
  try {
    const complaints: string[] = [];
    for (const call of CALLS) {
      for (const plans of PLAN_KINDS) {
        complaints.push(...await complaintsOf(explainer, call, plans));
      }
    }
    return complaints;
  } finally {
    await explainer.end();
  }
}

/** What a call does that it must not, in words. */
async function complaintsOf(
  explainer: Explainer,
  call: PlannedCall,
  plans: PlanKind,
): Promise<string[]> {
  const { statements, rows, pages, refusal } = await explainer.explain(call, plans);
  const complaints = statements.flatMap(({ text, sequentialScans }) =>
    sequentialScans
      .filter((table) => GROWING.has(table))
      .map((table) => `reads all of ${table} in ${text.trim()}`)
  );
  if (rows > call.bounds.rows) complaints.push(`reads ${rows} rows`);
  if (pages !== null && pages > call.bounds.pages) complaints.push(`reads ${pages} pages`);
  if ((refusal !== null) !== call.refused) complaints.push(`ends with ${refusal}`);
  return complaints.map((what) => `${call.functionName} ${call.circumstances} (${plans}) ${what}`);
}

async function urlOf(sql: postgres.Sql): Promise<string> {
  const [row] = await sql<[{ name: string }]>`select current_database() as name`;
  const url = new URL(SUPERUSER_URL);
  url.pathname = `/${row.name}`;
  return url.href;
}

async function functionsOf(sql: postgres.Sql): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select distinct p.proname::text collate "C" as name
    from pg_proc p
    where p.pronamespace = 'public'::regnamespace
      and has_function_privilege('service_role', p.oid, 'execute')
    order by 1`;
  return rows.map(({ name }) => name);
}
