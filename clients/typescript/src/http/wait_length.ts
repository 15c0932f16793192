import type { AgentError } from "../errors/agent_error.ts";

/** The longest that the service takes: the platform ends a request after 150 seconds. */
export const LONGEST_WAIT_SECONDS = 140;
/** The longest that older deployments take. */
const LONGEST_OF_OLDER_SECONDS = 50;
/** What ends sooner has failed for another reason than that it waited. */
const SHORTEST_CUT_SECONDS = 5;
/** After so many waits that nothing cut off, a longer one is tried. */
const WAITS_BEFORE_LONGER = 10;

/** How long requests of one connection wait: less than what something on the way cuts off. */
export class WaitLength {
  readonly #longest: number;
  #seconds: number;
  #held = 0;

  constructor(longest: number = LONGEST_WAIT_SECONDS) {
    this.#longest = longest;
    this.#seconds = longest;
  }

  get seconds(): number {
    return this.#seconds;
  }

  /** A request that waited has failed after this time, because it was cut off or otherwise. */
  failed(elapsedSeconds: number, error: AgentError): void {
    const isCut = error.retryable && error.code !== "upstream_unavailable" &&
      error.code !== "rate_limited";
    if (!isCut || elapsedSeconds < SHORTEST_CUT_SECONDS) return;
    this.#held = 0;
    this.#seconds = Math.floor(Math.min(elapsedSeconds, this.#seconds) * 0.9);
  }

  /** A request has waited this long and was answered. */
  answered(elapsedSeconds: number): void {
    if (elapsedSeconds < this.#seconds || ++this.#held < WAITS_BEFORE_LONGER) {
      return;
    }
    this.#held = 0;
    this.#seconds = Math.min(this.#longest, Math.ceil(this.#seconds * 1.5));
  }

  /** Whether a refusal says that the deployment takes only shorter waits. Then they are. */
  isTooLong({ code, details }: AgentError): boolean {
    if (
      code !== "invalid_request" || this.#seconds <= LONGEST_OF_OLDER_SECONDS
    ) return false;
    const { issues } = (details ?? {}) as {
      readonly issues?: readonly { readonly path?: string }[];
    };
    if (!issues?.some(({ path }) => path === "wait_seconds")) return false;
    this.#seconds = LONGEST_OF_OLDER_SECONDS;
    return true;
  }
}
