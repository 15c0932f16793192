import { ServiceError } from "../../_shared/request/errors.ts";
import { RateLimits } from "../../_shared/request/limits/rate_limits.ts";

/** Enough for a host: it asks once an hour, when it starts, and when its network changes. */
const MOST_A_MINUTE = 10;

/** Limits how often one agent may ask a relay for credentials. Counts in this process alone. */
export class AskingLimit {
  readonly #limits: RateLimits;

  /** `now` is a clock in milliseconds that never goes back. */
  constructor(now?: () => number) {
    const settings = { rateLimitRequestsPerMinute: MOST_A_MINUTE, rateLimitRequestsAtOnce: 0 };
    this.#limits = new RateLimits(settings, now === undefined ? {} : { now });
  }

  /** Counts a request of the agent with this name. Throws limit_exceeded. */
  count(name: string): void {
    try {
      this.#limits.enterAs(name).leave();
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      throw new ServiceError("limit_exceeded", {
        message: "The agent asks for credentials of the relay too often. Use those that it has.",
        details: { limit: "relay_requests_per_minute", maximum: MOST_A_MINUTE },
      });
    }
  }
}
