import { ServiceError } from "../../_shared/errors.ts";
import { RateLimits } from "../../_shared/request/rate_limits.ts";

/** A host asks once an hour, and once more where it starts or changes its network. */
const MOST_A_MINUTE = 10;

/** Keeps one agent from asking a relay for credentials without end, in this process. */
export class AskingLimit {
  readonly #limits: RateLimits;

  /** `now` is a clock in milliseconds that never goes back. */
  constructor(now?: () => number) {
    const settings = { rateLimitRequestsPerMinute: MOST_A_MINUTE, rateLimitRequestsAtOnce: 0 };
    this.#limits = new RateLimits(settings, now);
  }

  /** Counts a request in the name of an agent. Throws limit_exceeded. */
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
