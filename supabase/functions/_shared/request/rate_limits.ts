import { type Caller, callerId } from "./caller.ts";
import { ServiceError } from "../errors.ts";
import type { RATE_LIMIT_VARIABLES } from "../settings/rate_limits.ts";
import type { SettingsOf } from "../settings/variables.ts";

/**
 * How many callers are remembered at least; at most twice as many. The caller that was silent
 * longest is forgotten, and starts from zero. To be forgotten on purpose, a caller has to send this
 * many requests in other names.
 */
const REMEMBERED_CALLERS = 20_000;

const MINUTE_IN_MILLISECONDS = 60_000;

/** A request's place among those of its caller that are under way. */
export interface Slot {
  /** Frees the place while `wait` runs. After that it is taken again, and never refused. */
  whileFree<Result>(wait: () => Promise<Result>): Promise<Result>;
  /** Frees the place for good. Again: does nothing. */
  leave(): void;
}

/** The place of a request that no limit counts. */
export const UNLIMITED: Slot = { whileFree: (wait) => wait(), leave() {} };

/**
 * Counts requests by caller, in this process alone: nothing is written, and a deployment of several
 * processes allows as many times more.
 */
export class RateLimits {
  readonly #requestsPerMinute: number;
  readonly #requestsAtOnce: number;
  readonly #now: () => number;
  /**
   * A caller has a bucket of a minute's requests, which fills up evenly. Here is when it will be
   * full again: one number tells all.
   */
  #fullAt = new Map<string, number>();
  /** As `#fullAt` was before it had all that it holds. To forget it at once takes no search. */
  #fullAtBefore: ReadonlyMap<string, number> = new Map();
  /** Has no more entries than there are requests under way. */
  readonly #underWay = new Map<string, number>();

  /** `now` is a clock in milliseconds that never goes back. */
  constructor(
    settings: Pick<
      SettingsOf<typeof RATE_LIMIT_VARIABLES>,
      "rateLimitRequestsPerMinute" | "rateLimitRequestsAtOnce"
    >,
    now: () => number = () => performance.now(),
  ) {
    this.#requestsPerMinute = settings.rateLimitRequestsPerMinute;
    this.#requestsAtOnce = settings.rateLimitRequestsAtOnce;
    this.#now = now;
  }

  /** Lets a request of an identified caller in. Throws rate_limited; never for the operator. */
  enter(caller: Caller): Slot {
    return caller.kind === "operator" ? UNLIMITED : this.enterAs(callerId(caller));
  }

  /** Lets a request in and counts it, or throws rate_limited. A refused request does not count. */
  enterAs(callerId: string): Slot {
    const underWay = this.#underWay.get(callerId) ?? 0;
    if (this.#requestsAtOnce > 0 && underWay >= this.#requestsAtOnce) {
      throw rateLimited("requests_at_once", this.#requestsAtOnce, 1);
    }
    if (this.#requestsPerMinute > 0) this.#takeFromBucket(callerId);
    return this.#takePlace(callerId);
  }

  #takeFromBucket(callerId: string): void {
    const now = this.#now();
    const known = this.#fullAt.get(callerId) ?? this.#fullAtBefore.get(callerId) ?? 0;
    const fullAt = Math.max(known, now) +
      MINUTE_IN_MILLISECONDS / this.#requestsPerMinute;
    const missing = fullAt - now - MINUTE_IN_MILLISECONDS;
    // Sums of fractions are off by less than this.
    if (missing > 0.001) {
      throw rateLimited("requests_per_minute", this.#requestsPerMinute, Math.ceil(missing / 1000));
    }
    this.#fullAt.set(callerId, fullAt);
    if (this.#fullAt.size === REMEMBERED_CALLERS) {
      this.#fullAtBefore = this.#fullAt;
      this.#fullAt = new Map();
    }
  }

  #takePlace(callerId: string): Slot {
    const count = (change: 1 | -1) => {
      const underWay = (this.#underWay.get(callerId) ?? 0) + change;
      if (underWay === 0) this.#underWay.delete(callerId);
      else this.#underWay.set(callerId, underWay);
    };
    let place: "taken" | "free" | "left" = "taken";
    count(1);
    return {
      async whileFree(wait) {
        if (place !== "taken") return await wait();
        place = "free";
        count(-1);
        try {
          return await wait();
        } finally {
          // Not where the request has ended meanwhile.
          if (place === "free") {
            place = "taken";
            count(1);
          }
        }
      },
      leave() {
        if (place === "taken") count(-1);
        place = "left";
      },
    };
  }
}

function rateLimited(
  limit: "requests_per_minute" | "requests_at_once",
  maximum: number,
  retryAfterSeconds: number,
): ServiceError {
  return new ServiceError("rate_limited", { details: { limit, maximum }, retryAfterSeconds });
}
