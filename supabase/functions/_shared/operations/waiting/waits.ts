import { onProcessEnd } from "../../request/process_end.ts";
import type { CallerArgument } from "../../identity/callers/caller.ts";
import { notedIdentity, recordInto, RequestRecord } from "../../request/request_record.ts";
import type { CallDatabase } from "../../data/database.ts";
import type { Place } from "./places.ts";

/** What a request waits for, as the SQL function find_changes takes it. */
export type Wait =
  & {
    readonly caller: CallerArgument;
    /** Null: the calling agent. For events, if the operator calls: all agents. */
    readonly agent_id: string | null;
  }
  & (
    | { readonly kind: "inbox"; readonly from_agent: string | null; readonly after: string }
    | {
      readonly kind: "tasks";
      readonly from_agent: string | null;
      readonly prefix: string | null;
    }
    | { readonly kind: "configuration"; readonly version: number }
    | { readonly kind: "events"; readonly types: readonly string[]; readonly after: string }
    | AllNews
  );

/** What /wait waits for. It does not wait for a field that is null. */
interface AllNews {
  readonly kind: "all";
  readonly version: number | null;
  readonly inbox_after: string | null;
  readonly events_after: string | null;
}

/**
 * How a wait ends: something has changed; its time is over; the client has disconnected (`gone`);
 * or it lost its place or the process ends (`dismissed`).
 */
export type WaitEnd = "changed" | "over" | "gone" | "dismissed";

interface Waiter {
  wait: Wait;
  readonly end: (how: WaitEnd) => void;
}

/** What find_changes answers. */
interface Changes {
  /** The indexes of the changed waits in the question. */
  readonly changed: readonly number[];
  readonly inbox_position: string;
  readonly events_position: string;
}

/** From the beginning of one poll to the beginning of the next. */
const POLL_MILLISECONDS = 1000;

/** The shortest pause after a poll, however long it took: the database also has other work. */
const PAUSE_MILLISECONDS = 250;

/** How long a process that ends waits for its answers to be sent. */
const ANSWERING_MILLISECONDS = 1000;

/**
 * All waiting requests of this process. While there are any, one poll per second asks the database
 * for all of them.
 */
export class Waits {
  readonly #waiters = new Set<Waiter>();
  readonly #callDatabase: CallDatabase;
  #isPolling = false;
  #hasFailed = false;
  #isOver = false;

  constructor(callDatabase: CallDatabase) {
    this.#callDatabase = callDatabase;
    onProcessEnd(() => this.#dismissAll() ? pause(ANSWERING_MILLISECONDS) : null);
  }

  /** Resolves when the wait ends. Later polls do not ask for it. Throws as `place.keep` does. */
  wait(
    wait: Wait,
    { milliseconds, listener, place }: {
      readonly milliseconds: number;
      /** Aborted when the client disconnects. */
      readonly listener: AbortSignal;
      readonly place: Place;
    },
  ): Promise<WaitEnd> {
    if (listener.aborted) return Promise.resolve("gone");
    if (this.#isOver) return Promise.resolve("dismissed");
    return new Promise((resolve, reject) => {
      const onGone = () => waiter.end("gone");
      const timer = setTimeout(() => waiter.end("over"), milliseconds);
      const waiter: Waiter = {
        wait,
        end: (how) => {
          this.#waiters.delete(waiter);
          clearTimeout(timer);
          listener.removeEventListener("abort", onGone);
          resolve(how);
        },
      };
      listener.addEventListener("abort", onGone);
      this.#waiters.add(waiter);
      try {
        const isKept = place.keep(() => waiter.end("dismissed"), notedIdentity());
        if (!isKept) waiter.end("dismissed");
        else if (!this.#isPolling) this.#poll();
      } catch (error) {
        reject(error);
        waiter.end("dismissed");
      }
    });
  }

  async #poll(): Promise<void> {
    this.#isPolling = true;
    // Every waiting request has just asked by itself, so the first poll comes after a pause.
    let polledFor = 0;
    while (
      await pause(Math.max(POLL_MILLISECONDS - polledFor, PAUSE_MILLISECONDS)),
        this.#waiters.size > 0
    ) {
      const began = performance.now();
      // A new record: the call must not be in the log line of the request that started the poll.
      await recordInto(new RequestRecord(), () => this.#ask());
      polledFor = performance.now() - began;
    }
    this.#isPolling = false;
  }

  async #ask(): Promise<void> {
    const asked = [...this.#waiters];
    let changes: Changes;
    try {
      changes = await this.#callDatabase<Changes>("find_changes", {
        waits: asked.map(({ wait }) => wait),
      });
      this.#hasFailed = false;
    } catch (error) {
      this.#logFailure(error);
      return;
    }
    const changed = new Set(changes.changed);
    for (const [place, waiter] of asked.entries()) {
      if (changed.has(place)) waiter.end("changed");
      else waiter.wait = moveOn(waiter.wait, changes);
    }
  }

  /** Logs only the first of several failures in a row: the poll is repeated every second. */
  #logFailure(error: unknown): void {
    if (!this.#hasFailed) {
      const cause = error instanceof Error ? `${error.name}: ${error.message}` : typeof error;
      console.error(JSON.stringify({ time: new Date().toISOString(), error: "no_poll", cause }));
    }
    this.#hasFailed = true;
  }

  /** Ends all waits. False: there was none. */
  #dismissAll(): boolean {
    this.#isOver = true;
    const dismissed = [...this.#waiters];
    for (const waiter of dismissed) waiter.end("dismissed");
    return dismissed.length > 0;
  }
}

/** Continues a wait from the positions of a poll that found nothing for it. */
function moveOn(wait: Wait, { inbox_position, events_position }: Changes): Wait {
  switch (wait.kind) {
    case "inbox":
      return { ...wait, after: inbox_position };
    case "events":
      return { ...wait, after: events_position };
    case "all":
      return {
        ...wait,
        inbox_after: wait.inbox_after && inbox_position,
        events_after: wait.events_after && events_position,
      };
    case "tasks":
    case "configuration":
      return wait;
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
