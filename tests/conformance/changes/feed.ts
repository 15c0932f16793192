/** Reads feeds of events without missing any. */
import assert from "node:assert/strict";
import { askUntil } from "../ask_until.ts";
import { type Answer, post, type Sender, succeed } from "../client.ts";

export interface Event {
  readonly event_id: string;
  readonly type: string;
  readonly at: string;
  readonly actor_kind: string;
  readonly actor: string | null;
  readonly agent_id: string | null;
  readonly [name: string]: unknown;
}

export interface EventPage {
  readonly events: readonly Event[];
  readonly latest: string;
  readonly more: boolean;
}

export type Group = "agent-artifacts" | "agent-mesh";

export function askEvents(
  group: Group,
  as: Sender,
  body: object = {},
): Promise<Answer<EventPage>> {
  return post<EventPage>(`/${group}/events`, { as, body });
}

export function eventsOf(group: Group, as: Sender, body: object = {}): Promise<EventPage> {
  return succeed<EventPage>(`/${group}/events`, { as, body });
}

/**
 * The next `count` events after a position; fails if it gets more. An event becomes visible when
 * all transactions that began before it have ended.
 */
export async function nextEvents(
  group: Group,
  as: Sender,
  { after, count, ...body }: { after: string; count: number; types?: readonly string[] },
): Promise<{ events: Event[]; latest: string }> {
  const events: Event[] = [];
  let latest = after;
  for (let asked = 0; events.length < count && asked < 30; asked++) {
    const page = await eventsOf(group, as, { ...body, after: latest, wait_seconds: 5 });
    events.push(...page.events);
    latest = page.latest;
  }
  assert.equal(events.length, count, JSON.stringify(events));
  return { events, latest };
}

/**
 * The position after an event of this type that has already happened. The event becomes visible
 * when all transactions that began before it have ended.
 */
export async function positionBehind(group: Group, as: Sender, type: string): Promise<string> {
  const { latest } = await askUntil(
    ({ events }) => events.some((event) => event.type === type),
    () => eventsOf(group, as),
  );
  return latest;
}

/** The predictable fields of events, without the id of the agent key that was used. */
export function known(events: readonly Event[]): Record<string, unknown>[] {
  return events.map(({ event_id, at, key_id: _, ...rest }) => {
    assert.match(event_id, /^evt_\d+$/);
    assert.match(at, /Z$/);
    return rest;
  });
}
