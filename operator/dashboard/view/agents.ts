import { html } from "hono/html";
import type { Page } from "../../pages.ts";
import type { AgentRow, RefusalRow, UsageRow } from "../../reads/rows.ts";
import { agent, bytes, instant, type Markup, table } from "./cells.ts";

/** A page of agents, with the way to the next. */
export function agentsFragment(
  { found, next }: Page<AgentRow>,
  { isFirst }: { readonly isFirst: boolean },
): Markup {
  return html`${
    table(found, {
      none: "No agent yet: deno task agent:create makes the first.",
      columns: [
        { head: "agent", cell: (row) => agent(row.agent_id) },
        { head: "keys", isNumber: true, cell: keys },
        { head: "last used", cell: (row) => instant(row.last_used_at) },
        { head: "artifacts", isNumber: true, cell: (row) => row.artifacts },
        { head: "bytes", isNumber: true, cell: (row) => bytes(row.bytes) },
        { head: "peer", cell: (row) => row.has_peer ? instant(row.last_seen, "never seen") : "" },
      ],
    })
  }<p class="pages">${isFirst ? "" : html`<button data-after="">first page</button>`} ${
    next === null ? "" : html`<button data-after="${next}">next page</button>`
  }</p>`;
}

/** What agents did today and what they were refused, in the order in which they are given. */
export function usageFragment(
  { usage, refusals }: {
    readonly usage: readonly UsageRow[];
    readonly refusals: readonly RefusalRow[];
  },
): Markup {
  return html`${
    table(usage, {
      none: "No agent has asked for anything today. What agents do is written once a minute.",
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
    none: "Nothing.",
    columns: [
      ...(withAgent ? [{ head: "agent", cell: (row: RefusalRow) => agent(row.agent_id) }] : []),
      { head: "hour", cell: (row) => instant(row.hour) },
      { head: "refused with", cell: (row) => row.kind },
      { head: "times", isNumber: true, cell: (row) => row.count },
    ],
  });
}

function keys({ live_keys, expired_keys }: AgentRow): Markup | string {
  return expired_keys === 0
    ? String(live_keys)
    : html`<span title="${live_keys} live, ${expired_keys} expired">${live_keys} + ${expired_keys}</span>`;
}
