import type { EventRow } from "../../reads/rows.ts";
import { html } from "hono/html";
import { type HeldLog, heldText } from "../../reads/held_log.ts";
import { agent, clock, foreign, type Markup, table } from "./cells.ts";

/** The newest events, newest first. */
export function eventsFragment(
  { events, held }: { readonly events: readonly EventRow[]; readonly held: HeldLog | null },
): Markup {
  const text = heldText(held);
  return html`${text === null ? "" : html`<p class="none">${text}</p>`}${eventsTable(events)}`;
}

function eventsTable(events: readonly EventRow[]): Markup {
  return table(events.toReversed(), {
    name: "events",
    none: "Nothing has happened yet.",
    columns: [
      { head: "at", cell: ({ at }) => clock(at) },
      { head: "what", cell: ({ type }) => type },
      { head: "by", cell: ({ actor, actor_kind }) => actor === null ? actor_kind : agent(actor) },
      { head: "of", cell: ({ agent_id }) => agent(agent_id) },
      { head: "", isLong: true, cell: (event) => foreign(describe(event)) },
    ],
  });
}

/** Fields that other columns show, or that nobody needs here. */
const ELSEWHERE = new Set([
  "event_id",
  "type",
  "at",
  "actor_kind",
  "actor",
  "agent_id",
  "request_id",
  "sha256",
  "final",
]);

/** The event's other fields in one line, each value once: `artifact_id art_…, key notes.md`. */
function describe(event: EventRow): string {
  const shown = new Set<unknown>([event.actor, event.agent_id, null]);
  const told = Object.entries(event)
    .filter(([name, value]) => {
      const isNew = !ELSEWHERE.has(name) && !shown.has(value);
      shown.add(value);
      return isNew;
    })
    .map(([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`);
  return [...told, ...(event.final === false ? ["not final"] : [])].join(", ");
}
