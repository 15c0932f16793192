import { html } from "hono/html";
import type { RefusalRow, UsageRow } from "../../reads/rows.ts";
import { agent, bytes, instant, type Markup, table } from "./cells.ts";

/** What agents did today and what they were refused, in the order given. */
export function usageFragment(
  { usage, refusals }: {
    readonly usage: readonly UsageRow[];
    readonly refusals: readonly RefusalRow[];
  },
): Markup {
  return html`${
    table(usage, {
      name: "what agents did today",
      none: "No agent has sent a request today. Counts are updated once a minute.",
      columns: [
        { head: "agent", cell: (row) => agent(row.agent_id) },
        { head: "requests", isNumber: true, cell: (row) => row.requests },
        { head: "refusals", isNumber: true, cell: (row) => row.refusals },
        { head: "artifacts", isNumber: true, cell: (row) => row.artifacts },
        { head: "bytes", isNumber: true, cell: (row) => bytes(row.bytes) },
        { head: "grants", isNumber: true, cell: (row) => row.grants },
      ],
    })
  }<h3>Refused in the last day</h3>${refusalsTable(refusals, { withAgent: true })}`;
}

/** What was refused, by hour. */
export function refusalsTable(
  refusals: readonly RefusalRow[],
  { withAgent }: { readonly withAgent: boolean },
): Markup {
  return table(refusals, {
    name: "what was refused",
    none: "Nothing.",
    columns: [
      ...(withAgent ? [{ head: "agent", cell: (row: RefusalRow) => agent(row.agent_id) }] : []),
      { head: "hour", cell: (row) => instant(row.hour) },
      { head: "refused with", cell: (row) => row.kind },
      { head: "times", isNumber: true, cell: (row) => row.count },
    ],
  });
}
