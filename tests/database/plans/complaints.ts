import type postgres from "postgres";
import { urlOf } from "../connection.ts";
import { TABLES } from "../tables/tables.ts";
import { CALLS } from "./calls.ts";
import type { PlannedCall } from "./planned_call.ts";
import { type Explainer, openExplainer, PLAN_KINDS, type PlanKind } from "./explain.ts";

/** Storage's table grows with ours. */
function grows(table: string): boolean {
  return table === "storage.objects" || TABLES[table]?.size === "grows";
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
