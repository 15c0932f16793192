import { type Caller, callerId } from "../../identity/callers/caller.ts";
import { ServiceError } from "../errors.ts";
import type { Identity } from "../request_record.ts";
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
  /** What was known of the caller when the request came. Null: nothing. */
  readonly identity: Identity | null;
  /** Frees the place while `wait` runs, then takes it again, even if that exceeds the limit. */
  whileFree<Result>(wait: () => Promise<Result>): Promise<Result>;
  /** Frees the place for good. Further calls do nothing. */
  leave(): void;
}

/** The slot of a request that no limit applies to. */
export const UNLIMITED: Slot = { identity: null, whileFree: (wait) => wait(), leave() {} };

type Settings = SettingsOf<typeof RATE_LIMIT_VARIABLES>;

interface Options {
  /** A clock in milliseconds that never goes back. */
  readonly now?: () => number;
  /** What is known of a caller before the database is asked. */
  readonly identityOf?: (caller: Caller) => Identity | null;
}

/**
 * Limits requests per caller, and per enrolment, in this process alone: a deployment of several
 * processes allows that many times more.
 */
export class RateLimits {
  readonly #callers: Limiter;
  readonly #enrolments: Limiter;
  readonly #identityOf: (caller: Caller) => Identity | null;

  constructor(
    settings:
      & Pick<Settings, "rateLimitRequestsPerMinute" | "rateLimitRequestsAtOnce">
      & Partial<Settings>,
    { now = () => performance.now(), identityOf = () => null }: Options = {},
  ) {
    this.#callers = new Limiter({
      names: ["requests_per_minute", "requests_at_once"],
      perMinute: settings.rateLimitRequestsPerMinute,
      atOnce: settings.rateLimitRequestsAtOnce,
      now,
    });
    this.#enrolments = new Limiter({
      names: ["requests_per_minute_of_enrolment", "requests_at_once_of_enrolment"],
      perMinute: settings.rateLimitEnrolmentPerMinute ?? 0,
      atOnce: settings.rateLimitEnrolmentAtOnce ?? 0,
      now,
    });
    this.#identityOf = identityOf;
  }

  /** Lets a request of an identified caller in. Throws rate_limited; never for the operator. */
  enter(caller: Caller): Slot {
    if (caller.kind === "operator") return UNLIMITED;
    const identity = this.#identityOf(caller);
    const enrolmentId = identity?.enrolmentId ?? null;
    this.#callers.check(callerId(caller));
    if (enrolmentId !== null) this.#enrolments.check(enrolmentId);
    const places = [this.#callers.take(callerId(caller))];
    if (enrolmentId !== null) places.push(this.#enrolments.take(enrolmentId));
    return slotOf(places, identity);
  }

  /** Lets a request in and counts it, or throws rate_limited. A refused request does not count. */
  enterAs(callerId: string): Slot {
    this.#callers.check(callerId);
    return slotOf([this.#callers.take(callerId)], null);
  }
}

interface Limits {
  /** How an error calls the two limits. */
  readonly names: readonly [perMinute: string, atOnce: string];
  /** 0: no limit. */
  readonly perMinute: number;
  /** 0: no limit. */
  readonly atOnce: number;
  readonly now: () => number;
}

/** Adds a request to those under way, or takes it away again. */
type Count = (change: 1 | -1) => void;

/** The requests of callers of one kind. */
class Limiter {
  readonly #limits: Limits;
  /**
   * By caller: when its token bucket, which holds a minute's requests and refills evenly, will be
   * full again.
   */
  #fullAt = new Map<string, number>();
  /** The previous generation of `#fullAt`. Dropping a whole generation needs no search. */
  #fullAtBefore: ReadonlyMap<string, number> = new Map();
  /** Has no more entries than there are requests under way. */
  readonly #underWay = new Map<string, number>();

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** Throws rate_limited if there is no room for another request. */
  check(id: string): void {
    const { names: [perMinuteName, atOnceName], perMinute, atOnce, now } = this.#limits;
    if (atOnce > 0 && (this.#underWay.get(id) ?? 0) >= atOnce) {
      throw rateLimited(atOnceName, atOnce, 1);
    }
    if (perMinute === 0) return;
    const missing = this.#fullAtAfterOneMore(id) - now() - MINUTE_IN_MILLISECONDS;
    // Tolerates rounding errors of floating-point sums.
    if (missing > 0.001) throw rateLimited(perMinuteName, perMinute, Math.ceil(missing / 1000));
  }

  /** Counts a request. */
  take(id: string): Count {
    if (this.#limits.perMinute > 0) {
      this.#fullAt.set(id, this.#fullAtAfterOneMore(id));
      if (this.#fullAt.size === REMEMBERED_CALLERS) {
        this.#fullAtBefore = this.#fullAt;
        this.#fullAt = new Map();
      }
    }
    const count: Count = (change) => {
      const underWay = (this.#underWay.get(id) ?? 0) + change;
      if (underWay === 0) this.#underWay.delete(id);
      else this.#underWay.set(id, underWay);
    };
    count(1);
    return count;
  }

  #fullAtAfterOneMore(id: string): number {
    const known = this.#fullAt.get(id) ?? this.#fullAtBefore.get(id) ?? 0;
    return Math.max(known, this.#limits.now()) + MINUTE_IN_MILLISECONDS / this.#limits.perMinute;
  }
}

function slotOf(counts: readonly Count[], identity: Identity | null): Slot {
  let place: "taken" | "free" | "left" = "taken";
  const count = (change: 1 | -1) => counts.forEach((one) => one(change));
  return {
    identity,
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

function rateLimited(
  limit: string,
  maximum: number,
  retryAfterSeconds: number,
): ServiceError {
  return new ServiceError("rate_limited", { details: { limit, maximum }, retryAfterSeconds });
}
