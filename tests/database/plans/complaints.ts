import type postgres from "postgres";
import { urlOf } from "../connection.ts";
import { CALLS } from "./calls.ts";
import type { PlannedCall } from "./planned_call.ts";
import { type Explainer, openExplainer, PLAN_KINDS, type PlanKind } from "./explain.ts";

/** The project's tables whose rows are few, however much the service holds. Every other grows. */
const BOUNDED = new Set([
  "agents.epochs",
  "agents.activity",
  "agents.structure",
  "artifacts.project_totals",
  "artifacts.sweeps",
  "artifacts.walks",
  "mesh.censuses",
  "mesh.counters",
  "mesh.settings",
]);

function grows(table: string): boolean {
  return /^(?:agents|artifacts|mesh)\.|^storage\.objects$/.test(table) && !BOUNDED.has(table);
}

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
      .filter((table) => grows(table) && !call.readsAll.includes(table))
      .map((table) => `reads all of ${table} in ${text.trim()}`)
  );
  if (rows > call.bounds.rows) complaints.push(`reads ${rows} rows`);
  if (pages !== null && pages > call.bounds.pages) complaints.push(`reads ${pages} pages`);
  if ((refusal !== null) !== call.refused) complaints.push(`ends with ${refusal}`);
  return complaints.map((what) => `${call.functionName} ${call.circumstances} (${plans}) ${what}`);
}
