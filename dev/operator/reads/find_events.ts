import { callAsOperator } from "../operator_call.ts";
import type { EventRow } from "./rows.ts";

/** What the SQL function find_events is asked; what is left out does not narrow. */
export interface EventsQuestion {
  readonly max_entries: number;
  readonly after?: string | null;
  readonly since?: string | null;
  readonly agent_id?: string | null;
  readonly artifact_id?: string | null;
  readonly types?: readonly string[] | null;
}

export interface EventsPage {
  readonly events: readonly EventRow[];
  /** The `after` of the next page. */
  readonly latest: string;
  /** Whether the next page is there already. */
  readonly more: boolean;
}

/** Throws CommandError. */
export async function findEvents(question: EventsQuestion): Promise<EventsPage> {
  return await callAsOperator("find_events", { ...question }) as EventsPage;
}
