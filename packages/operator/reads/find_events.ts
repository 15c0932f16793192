import { callAsOperator } from "../operator_call.ts";
import type { HeldLog } from "./held_log.ts";
import type { EventRow } from "./rows.ts";

/** The most events that one call is asked for. */
export const PAGE_SIZE = 1000;
/** The most events that a search for the newest ones reads, beside those that it finds. */
const MOST_LOOKED_AT = 100_000;

/**
 * The arguments of the SQL function find_events. A field that is left out does not narrow the
 * search.
 */
export interface EventsQuestion {
  readonly max_entries: number;
  readonly after?: string | null;
  readonly before?: string | null;
  readonly since?: string | null;
  readonly until?: string | null;
  readonly agent_id?: string | null;
  readonly artifact_id?: string | null;
  readonly types?: readonly string[] | null;
}

export interface EventsPage {
  readonly events: readonly EventRow[];
  /** From here on, a later search misses nothing, and repeats the events that are not final. */
  readonly latest: string;
  /** The `after` of the next page; null: that has no events yet. */
  readonly next: string | null;
  /** Why events of this page are not final; null: all are. */
  readonly held: HeldLog | null;
  /**
   * The `before` of the page of older events. Null if none are left, or if this page goes forwards.
   */
  readonly earlier: string | null;
  /** How many events the search read for this page, of every type. */
  readonly looked_at: number;
  /** When the oldest event that was read happened. */
  readonly looked_back_to: string | null;
}

/** The newest events, oldest first, and how far back the search went. */
export interface NewestEvents {
  readonly events: readonly EventRow[];
  /** The position from which to go on without missing a newer event. */
  readonly latest: string;
  /** Why some of the events are not final; null: all are. */
  readonly held: HeldLog | null;
  readonly lookedAt: number;
  readonly lookedBackTo: string | null;
  /** Whether the search stopped before it found enough, though older events are left. */
  readonly hasStopped: boolean;
  /** Whether older events are left to read. */
  readonly hasOlder: boolean;
}

/** Throws CommandError. */
export async function findEvents(question: EventsQuestion): Promise<EventsPage> {
  return await callAsOperator("find_events", { ...question }) as EventsPage;
}

/** Reads the log backwards, page by page, until `limit` events are found. Throws CommandError. */
export async function findNewestEvents(
  question: Pick<EventsQuestion, "agent_id" | "artifact_id" | "types" | "until">,
  limit: number,
): Promise<NewestEvents> {
  const pages: EventsPage[] = [];
  let [found, lookedAt] = [0, 0];
  let before: string | null = null;
  do {
    const max_entries = Math.min(limit - found, PAGE_SIZE);
    const page: EventsPage = await findEvents({ ...question, before, max_entries });
    pages.push(page);
    found += page.events.length;
    lookedAt += page.looked_at;
    before = page.earlier;
  } while (before !== null && found < limit && lookedAt - found < MOST_LOOKED_AT);
  return {
    events: pages.toReversed().flatMap(({ events }) => events),
    latest: pages[0]!.latest,
    held: pages[0]!.held,
    lookedAt,
    lookedBackTo: pages.at(-1)!.looked_back_to,
    hasStopped: before !== null && found < limit,
    hasOlder: before !== null,
  };
}
