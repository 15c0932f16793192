import { onProcessEnd } from "../process_end.ts";
import type { CallerArgument } from "../request/caller.ts";
import { recordInto, RequestRecord } from "../request/request_record.ts";
import type { CallDatabase } from "../upstream/database.ts";

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
  );

/**
 * How a wait ends: there is something to tell; its signal was aborted; or it has to end now,
 * whatever there is.
 */
export type WaitEnd = "changed" | "aborted" | "dismissed";

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

/** A key, or an agent's users, that waits more often than that at once loses its oldest wait. */
const MAX_WAITS = 32;

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
  wait(wait: Wait, signal: AbortSignal): Promise<WaitEnd> {
    if (signal.aborted) return Promise.resolve("aborted");
    if (this.#isOver) return Promise.resolve("dismissed");
    this.#dismissOldestOf(wait.caller);
    return new Promise((resolve) => {
      const onAbort = () => waiter.end("aborted");
      const waiter: Waiter = {
        wait,
        end: (how) => {
          this.#waiters.delete(waiter);
          signal.removeEventListener("abort", onAbort);
          resolve(how);
        },
      };
      signal.addEventListener("abort", onAbort);
      this.#waiters.add(waiter);
      if (!this.#isPolling) this.#poll();
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

  #dismissOldestOf({ kind, key_hash, agent_id }: CallerArgument): void {
    if (kind === "operator") return;
    const own = [...this.#waiters].filter(({ wait: { caller } }) =>
      caller.kind === kind && caller.key_hash === key_hash && caller.agent_id === agent_id
    );
    if (own.length >= MAX_WAITS) own[0]?.end("dismissed");
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
    case "configuration":
      return wait;
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
