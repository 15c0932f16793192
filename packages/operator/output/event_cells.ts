import type { EventRow } from "../reads/rows.ts";
import { instantCell } from "./cells.ts";

/** An event in four columns: when, what, by whom, and everything else. */
export function eventCells(
  { event_id: _, type, at, actor_kind, actor, request_id: __, other_agent_id, final, ...facts }:
    EventRow,
): string[] {
  const told = Object.entries(facts).filter(([, value]) => value !== null);
  // Most events name the other agent in a field of its own.
  if (other_agent_id !== undefined && !told.some(([, value]) => value === other_agent_id)) {
    told.push(["other_agent_id", other_agent_id]);
  }
  return [
    instantCell(at),
    type,
    actor ?? actor_kind,
    [
      ...told.map(([name, value]) => `${name}=${value}`),
      ...(final === false ? ["(not final)"] : []),
    ].join(" "),
  ];
}
