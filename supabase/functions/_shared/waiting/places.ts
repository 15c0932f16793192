import { ServiceError } from "../errors.ts";
import type { CallerArgument } from "../request/caller.ts";

/** How many requests of one agent key, or one agent's users, may wait. One more ends the oldest. */
const MAX_PLACES_OF_ONE = 32;

/** A random delay, so that requests that were refused together do not come back together. */
const SHORTEST_RETRY_SECONDS = 60;
const LONGEST_RETRY_SECONDS = 120;

/** A request's place among those that wait, from before its first question until its answer. */
export interface Place {
  /** Keeps the place, once the database has authenticated the caller. False: the place is lost. */
  keep(onLoss: () => void): boolean;
  /** Frees the place. Does nothing if it was freed or lost before. */
  leave(): void;
}

/**
 * The places of one process for requests that wait. They are limited, because each takes memory.
 * They are shared fairly: when all are taken, the caller that has the most loses one to a caller
 * with at least two fewer.
 */
export class Places {
  readonly #maximum: number;
  /** The places of each caller, oldest first. A caller without places has no entry. */
  readonly #byCaller = new Map<string, Set<OwnPlace>>();
  #taken = 0;
  #kept = 0;

  constructor(maximum: number) {
    this.#maximum = maximum;
  }

  /** Throws upstream_unavailable if there is no room. */
  enter(caller: CallerArgument): Place {
    const callerId = `${caller.kind} ${caller.key_hash ?? caller.agent_id ?? ""}`;
    const own = this.#byCaller.get(callerId) ?? new Set();
    if (own.size >= MAX_PLACES_OF_ONE && caller.kind !== "operator") oldestOf(own).lose();
    else if (this.#taken >= this.#maximum && this.#mostOfOne().size <= own.size + 1) {
      throw noRoom(this.#maximum);
    }
    const place = new OwnPlace({
      keep: () => {
        this.#kept++;
        // Only after authentication: invented agent keys must not displace callers that wait.
        while (this.#kept > this.#maximum) oldestOf(this.#mostOfOne()).lose();
      },
      free: (wasKept) => {
        if (wasKept) this.#kept--;
        this.#taken--;
        own.delete(place);
        if (own.size === 0) this.#byCaller.delete(callerId);
      },
    });
    own.add(place);
    this.#byCaller.set(callerId, own);
    this.#taken++;
    return place;
  }

  #mostOfOne(): ReadonlySet<OwnPlace> {
    let most: ReadonlySet<OwnPlace> = new Set();
    for (const places of this.#byCaller.values()) if (places.size > most.size) most = places;
    return most;
  }
}

class OwnPlace implements Place {
  readonly #room: { readonly keep: () => void; readonly free: (wasKept: boolean) => void };
  #state: "taken" | "kept" | "left" = "taken";
  #onLoss = () => {};

  constructor(room: { readonly keep: () => void; readonly free: (wasKept: boolean) => void }) {
    this.#room = room;
  }

  keep(onLoss: () => void): boolean {
    this.#onLoss = onLoss;
    if (this.#state === "taken") {
      this.#state = "kept";
      this.#room.keep();
    }
    return this.#state === "kept";
  }

  lose(): void {
    this.leave();
    this.#onLoss();
  }

  leave(): void {
    if (this.#state === "left") return;
    const wasKept = this.#state === "kept";
    this.#state = "left";
    this.#room.free(wasKept);
  }
}

/** `places` has at least one. */
function oldestOf(places: ReadonlySet<OwnPlace>): OwnPlace {
  const [oldest] = places;
  return oldest!;
}

function noRoom(maximum: number): ServiceError {
  const range = LONGEST_RETRY_SECONDS - SHORTEST_RETRY_SECONDS + 1;
  return new ServiceError("upstream_unavailable", {
    message:
      "Too many requests are waiting here. Retry later, or send this one without `wait_seconds`.",
    details: { limit: "waits_at_once", maximum },
    retryAfterSeconds: SHORTEST_RETRY_SECONDS + Math.floor(Math.random() * range),
  });
}
