import { onProcessEnd } from "../process_end.ts";
import type { CallerArgument } from "../request/caller.ts";
import { recordInto, RequestRecord } from "../request_record.ts";
import type { CallDatabase } from "../upstream/database.ts";
import type { Place } from "./places.ts";

/** What a request waits for, as the SQL function find_changes takes it. */
export type Wait =
  & {
    readonly caller: CallerArgument;
    /** Null: the calling agent; of events, from the operator, everybody. */
    readonly agent_id: string | null;
  }
  & (
    | { readonly kind: "inbox"; readonly from_agent: string | null; readonly after: string }
    | { readonly kind: "configuration"; readonly version: number }
    | { readonly kind: "events"; readonly types: readonly string[]; readonly after: string }
    | AllNews
  );

/** What /wait waits for; null: not for that. */
interface AllNews {
  readonly kind: "all";
  readonly version: number | null;
  readonly inbox_after: string | null;
  readonly events_after: string | null;
}

/**
 * How a wait ends: there is something to tell; its time is over; nobody listens any more; or it has
 * to end now, whatever there is.
 */
export type WaitEnd = "changed" | "over" | "gone" | "dismissed";

interface Waiter {
  wait: Wait;
  readonly end: (how: WaitEnd) => void;
}

/** What find_changes answers. */
interface Changes {
  /** By their places in the question. */
  readonly changed: readonly number[];
  readonly inbox_position: string;
  readonly events_position: string;
}

const POLL_MILLISECONDS = 1000;

/** How long answers may take to leave a process that ends. */
const ANSWERING_MILLISECONDS = 1000;

/**
 * Everybody who waits in this process. While somebody does, the database is asked once a second for
 * all of them.
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

  /** Resolves when the wait ends. Nothing is asked for it from then on. */
  wait(
    wait: Wait,
    { milliseconds, listener, place }: {
      readonly milliseconds: number;
      /** Aborted when nobody listens any more. */
      readonly listener: AbortSignal;
      readonly place: Place;
    },
  ): Promise<WaitEnd> {
    if (listener.aborted) return Promise.resolve("gone");
    if (this.#isOver) return Promise.resolve("dismissed");
    return new Promise((resolve) => {
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
      if (!place.keep(() => waiter.end("dismissed"))) waiter.end("dismissed");
      else if (!this.#isPolling) this.#poll();
    });
  }

  async #poll(): Promise<void> {
    this.#isPolling = true;
    // Who waits has asked just now, so the first question can wait as well.
    while (await pause(POLL_MILLISECONDS), this.#waiters.size > 0) {
      // Apart from the log of the request that happened to come first.
      await recordInto(new RequestRecord(), () => this.#ask());
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

  /** Once for a row of failures: it is tried again every second. */
  #logFailure(error: unknown): void {
    if (!this.#hasFailed) {
      const cause = error instanceof Error ? `${error.name}: ${error.message}` : typeof error;
      console.error(JSON.stringify({ time: new Date().toISOString(), error: "no_poll", cause }));
    }
    this.#hasFailed = true;
  }

  /** Whether there was anybody. */
  #dismissAll(): boolean {
    this.#isOver = true;
    const dismissed = [...this.#waiters];
    for (const waiter of dismissed) waiter.end("dismissed");
    return dismissed.length > 0;
  }
}

/** The wait for what happens from the question on, which found nothing. */
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
    case "configuration":
      return wait;
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
