import type postgres from "postgres";
import { namesOfSchemas, readSchemaFiles } from "../../../local/postgres/schema_files.ts";
import { urlOf } from "../connection.ts";
import { CALLS } from "./calls.ts";
import type { PlannedCall } from "./planned_call.ts";
import { type Explainer, openExplainer, PLAN_KINDS, type PlanKind } from "./explain.ts";

/** The project's tables that stay small, however much the service holds. All others grow. */
const BOUNDED = new Set([
  "agents.epochs",
  // The operator creates these one by one.
  "agents.enrolments",
  "agents.former_holders",
  // One row per enrolment and reason, for a day.
  "agents.enrolment_refusals",
  "agents.activity",
  "agents.name_secret",
  "agents.structure",
  "artifacts.project_totals",
  "artifacts.sweeps",
  "artifacts.walks",
  "mesh.censuses",
  "mesh.counters",
  "mesh.policies",
  // The operator's policy has at most 10,000 lines.
  "mesh.policy_lines",
  "mesh.settings",
]);

const OWN_SCHEMAS = namesOfSchemas(await readSchemaFiles());

function grows(table: string): boolean {
  const isOwn = OWN_SCHEMAS.includes(table.split(".")[0]!);
  return (isOwn || table === "storage.objects") && !BOUNDED.has(table);
}

/**
 * The violations of the calls' limits, as sentences. The tables are `size` times as large as when
 * the bounds were measured, so a call that may read a whole table may read that many times more.
 */
export async function complaintsIn(sql: postgres.Sql, { size = 1 } = {}): Promise<string[]> {
  const explainer = await openExplainer(await urlOf(sql));
  try {
    const complaints: string[] = [];
    for (const call of CALLS) {
      for (const plans of PLAN_KINDS) {
        complaints.push(...await complaintsOf(explainer, { call, plans, size }));
      }
    }
    return complaints;
  } finally {
    await explainer.end();
  }
}

/** The violations of one call's limits, as sentences. */
async function complaintsOf(
  explainer: Explainer,
  { call, plans, size }: {
    readonly call: PlannedCall;
    readonly plans: PlanKind;
    readonly size: number;
  },
): Promise<string[]> {
  const { statements, rows, pages, refusal } = await explainer.explain(call, plans);
  const complaints = statements.flatMap(({ text, sequentialScans }) =>
    sequentialScans
      .filter((table) => grows(table) && !call.readsAll.includes(table))
      .map((table) => `reads all of ${table} in ${text.trim()}`)
  );
  const times = call.readsAll.length > 0 ? size : 1;
  if (rows > call.bounds.rows * times) complaints.push(`reads ${rows} rows`);
  if (pages !== null && pages > call.bounds.pages * times) complaints.push(`reads ${pages} pages`);
  if ((refusal !== null) !== call.refused) complaints.push(`ends with ${refusal}`);
  return complaints.map((what) => `${call.functionName} ${call.circumstances} (${plans}) ${what}`);
}
