import { type Caller, callerId } from "./caller.ts";
import { ServiceError } from "../errors.ts";
import type { RATE_LIMIT_VARIABLES } from "../settings/rate_limits.ts";
import type { SettingsOf } from "../settings/variables.ts";

/**
 * At least this many callers are remembered, at most twice as many. Those that were silent longest
 * are forgotten, and start from zero. To be forgotten on purpose, a caller has to send this many
 * requests in other names.
 */
const REMEMBERED_CALLERS = 20_000;

const MINUTE_IN_MILLISECONDS = 60_000;

/** A request's place in its caller's limit of requests at once. */
export interface Slot {
  /** Frees the place while `wait` runs, then takes it again, even if that exceeds the limit. */
  whileFree<Result>(wait: () => Promise<Result>): Promise<Result>;
  /** Frees the place for good. Further calls do nothing. */
  leave(): void;
}

/** The slot of a request that no limit applies to. */
export const UNLIMITED: Slot = { whileFree: (wait) => wait(), leave() {} };

/**
 * Limits requests per caller, in this process alone: a deployment of several processes allows that
 * many times more.
 */
export class RateLimits {
  readonly #requestsPerMinute: number;
  readonly #requestsAtOnce: number;
  readonly #now: () => number;
  /**
   * By caller: when its token bucket, which holds a minute's requests and refills evenly, will be
   * full again.
   */
  #fullAt = new Map<string, number>();
  /** The previous generation of `#fullAt`. Dropping a whole generation needs no search. */
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
    // Tolerates rounding errors of floating-point sums.
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
          // Unless the request has ended meanwhile.
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
