import type postgres from "postgres";
import { SUPERUSER_URL } from "../connection.ts";
import { CALLS } from "./calls.ts";
import type { PlannedCall } from "./planned_call.ts";
import { type Explainer, openExplainer, PLAN_KINDS, type PlanKind } from "./explain.ts";

/** Tables with a row per artifact, grant, event, agent, peer, rule or object. */
const GROWING = new Set([
  "agents.events",
  "agents.key_uses",
  "agents.keys",
  "agents.changed_things",
  "agents.reads",
  "agents.refusals",
  "agents.removed_agents",
  "agents.repeated_changes",
  "agents.usage",
  "artifacts.artifacts",
  "artifacts.blocked_senders",
  "artifacts.grants",
  "artifacts.orphans",
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
/** What the calls do that they must not, in words. */
export async function complaintsIn(sql: postgres.Sql): Promise<string[]> {
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
