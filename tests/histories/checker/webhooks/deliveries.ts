/** Rules of webhooks: what concerns one arrives, nothing else does, and with ids alone. */
import { Webhook } from "standardwebhooks";
import { DELIVERY, didHappen, type Entry, mayHappen, type Rule } from "../../history.ts";

/** What the operator sees of an event in the log. */
interface LoggedEvent {
  readonly event_id: string;
  readonly type: string;
  readonly at: string;
  readonly agent_id: string | null;
  readonly other_agent_id?: string;
  readonly actor: string | null;
  readonly grant_id?: string;
  readonly artifact_id?: string;
}

interface Hook {
  readonly put: Entry;
  readonly secrets: readonly string[];
  /** Requests that ended it, or may have. */
  readonly ends: readonly Entry[];
}

/** One answer of the event log, with the time by the service's clock when the history began. */
interface Log {
  readonly entry: Entry;
  readonly began: number;
  readonly events: ReadonlyMap<string, LoggedEvent>;
  /** The agents of each tag, which do not change in a run. */
  readonly tagged: ReadonlyMap<string, ReadonlySet<string>>;
}

/** The service has a clock of its own, and its times have no more than milliseconds. */
const CLOCK_MILLISECONDS = 1_000;
/** An attempt that was under way when the webhook ended is over by then: the lease has ended. */
const UNDER_WAY_MILLISECONDS = 60_000;
/** How old a message may be (Standard Webhooks: the tolerance of its libraries). */
const TOLERANCE_MILLISECONDS = 300_000;

const IDS: Readonly<Record<string, RegExp>> = {
  event_id: /^evt_\d+$/,
  agent_id: /^[a-z0-9-]+$/,
  grant_id: /^grant_[0-9a-f]{32}$/,
  artifact_id: /^art_[0-9a-f]{32}$/,
  position: /^[0-9a-f]+-\d+\.\d+$/,
};

/**
 * Every event that concerns a webhook arrives, unless the webhook may have ended. Of an event that
 * its receiver always refuses, attempts arrive. None is parked: that takes a day.
 */
export const eventsAreDelivered: Rule = (history) => {
  const log = logIn(history);
  if (log === null) return [];
  const arrived = Map.groupBy(entriesOfHooks(history), (entry) => `${entry.agent} ${idOf(entry)}`);
  return hooksIn(history).filter(({ put, ends }) => didHappen(put) && ends.length === 0)
    .flatMap(({ put }) => {
      const due = [...log.events.values()].filter((event) =>
        timeIn(log, event) > put.end + CLOCK_MILLISECONDS && concerns(log, put, event)
      );
      return due.filter(({ event_id }) => {
        const attempts = arrived.get(`${nameOf(put)} ${event_id}`) ?? [];
        return !attempts.some(({ status, request }) => status < 300 || request["always_refused"]);
      }).map(() => ({ rule: "an event has not reached a webhook", entries: [put, log.entry] }));
    });
};

/** Nothing else is sent: an event of others, of another type, or from before the webhook. */
export const nothingElseIsSent: Rule = (history) => {
  const log = logIn(history);
  if (log === null) return [];
  const hooks = new Map(hooksIn(history).map((hook) => [nameOf(hook.put), hook]));
  return loggedDeliveries(history, log).filter((delivery) => {
    const event = log.events.get(idOf(delivery));
    const hook = hooks.get(delivery.agent);
    return event === undefined || hook === undefined ||
      timeIn(log, event) < hook.put.start - CLOCK_MILLISECONDS ||
      !concerns(log, hook.put, event);
  }).map((entry) => ({ rule: "a webhook got what does not concern it", entries: [entry] }));
};

/** A body has one event, as it is in the log, and ids alone. */
export const deliveriesHaveIdsAlone: Rule = (history) => {
  const log = logIn(history);
  if (log === null) return [];
  return loggedDeliveries(history, log).filter((delivery) => {
    const event = log.events.get(idOf(delivery));
    const { type, timestamp, data, ...more } = JSON.parse(String(delivery.request["body"]));
    const fields = Object.entries(data as Record<string, string | null>);
    const isAsLogged = event === undefined || (
      type === event.type && timestamp === event.at && data.agent_id === event.agent_id &&
      data.grant_id === event.grant_id && data.artifact_id === event.artifact_id
    );
    return !isAsLogged || data.event_id !== idOf(delivery) || Object.keys(more).length > 0 ||
      fields.some(([name, value]) => !(value === null || IDS[name]?.test(value)));
  }).map((entry) => ({ rule: "a delivery has something else than ids", entries: [entry] }));
};

/** By a secret that the operator was told. If the answer that tells it is lost, nobody knows it. */
export const deliveriesAreSigned: Rule = (history) => {
  const began = logIn(history)?.began ?? null;
  const secrets = new Map(hooksIn(history).map(({ put, secrets }) => [nameOf(put), secrets]));
  return entriesOfHooks(history).filter(({ agent, start, request }) => {
    const known = secrets.get(agent) ?? [];
    if (known.length === 0 || began === null) return false;
    const sentAt = new Date(1000 * Number(request["timestamp"]));
    const signatures = String(request["signature"]).split(" ");
    const isSigned = known.some((secret) =>
      signatures.includes(
        new Webhook(secret).sign(String(request["id"]), sentAt, String(request["body"])),
      )
    );
    return !isSigned || Math.abs(Number(sentAt) - began - start) > TOLERANCE_MILLISECONDS;
  }).map((entry) => ({ rule: "a delivery is not signed", entries: [entry] }));
};

/** After the answer that ended a webhook, it gets no newer event; a little later, nothing. */
export const endedWebhooksAreLeftAlone: Rule = (history) => {
  const log = logIn(history);
  if (log === null) return [];
  return hooksIn(history).flatMap(({ put, ends }) => {
    const end = ends.find(didHappen);
    if (end === undefined) return [];
    return entriesOfHooks(history).filter((delivery) => {
      const event = log.events.get(idOf(delivery));
      return delivery.agent === nameOf(put) && (
        delivery.start > end.end + UNDER_WAY_MILLISECONDS ||
        event !== undefined && timeIn(log, event) > end.end + CLOCK_MILLISECONDS
      );
    }).map((delivery) => ({ rule: "an ended webhook got an event", entries: [end, delivery] }));
  });
};

function hooksIn(history: readonly Entry[]): Hook[] {
  const puts = history.filter(({ operation }) => operation === "/agent-artifacts/webhooks/put");
  const deletions = history.filter((entry) =>
    entry.operation === "rpc/delete_webhook" && mayHappen(entry)
  );
  return puts.filter(({ request }) => request["url"] !== undefined).map((put) => {
    const id = put.answer?.["webhook_id"];
    const rotations = puts.filter(({ request }) =>
      id !== undefined && request["webhook_id"] === id
    );
    return {
      put,
      secrets: [put, ...rotations].filter(didHappen).map(({ answer }) => String(answer!["secret"])),
      ends: deletions.filter(({ request }) => id !== undefined && request["webhook_id"] === id),
    };
  });
}

/** Whether an event matches the filter of a webhook. */
function concerns({ tagged }: Log, { request }: Entry, event: LoggedEvent): boolean {
  const { agent_id, tag, types } = request;
  const concerned = [event.agent_id, event.other_agent_id, event.actor];
  const members = tagged.get(String(tag));
  return (types === undefined || (types as unknown[]).includes(event.type)) &&
    (agent_id === undefined || concerned.includes(String(agent_id))) &&
    (tag === undefined || concerned.some((agent) => members?.has(String(agent))));
}

/** All pages of the event log that were read at the end. Null: it was not read. */
function logIn(history: readonly Entry[]): Log | null {
  const pages = history.filter((entry) =>
    entry.operation === "rpc/find_events" && didHappen(entry)
  );
  const [entry] = pages;
  if (entry === undefined) return null;
  const events = pages.flatMap(({ answer }) => answer!["events"] as unknown as LoggedEvent[]);
  return {
    entry,
    began: Date.parse(String(entry.request["since"])),
    events: new Map(events.map((event) => [event.event_id, event])),
    tagged: taggedIn(history),
  };
}

function taggedIn(history: readonly Entry[]): Map<string, Set<string>> {
  const tagged = new Map<string, Set<string>>();
  for (const { operation, request } of history) {
    if (operation !== "rpc/set_agent_tags") continue;
    for (const tag of request["tags"] as string[]) {
      tagged.set(tag, (tagged.get(tag) ?? new Set()).add(String(request["agent_id"])));
    }
  }
  return tagged;
}

function entriesOfHooks(history: readonly Entry[]): Entry[] {
  return history.filter(({ operation }) => operation === DELIVERY);
}

/** The deliveries of events that must be in the log. */
function loggedDeliveries(history: readonly Entry[], log: Log): Entry[] {
  return entriesOfHooks(history).filter(({ start }) => start < log.entry.start);
}

/** When an event was written, in milliseconds since the history began. */
function timeIn({ began }: Log, { at }: LoggedEvent): number {
  return Date.parse(at) - began;
}

/** What the receiver is called: the path of the webhook's URL. */
function nameOf({ request }: Entry): string {
  return new URL(String(request["url"])).pathname.slice(1);
}

function idOf({ request }: Entry): string {
  return String(request["id"]);
}
