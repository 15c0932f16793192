import type { AgentError } from "../errors/agent_error.ts";

/** The longest wait that the service accepts: the platform ends a request after 150 seconds. */
export const LONGEST_WAIT_SECONDS = 140;
/** The longest wait that older deployments accept. */
const LONGEST_OF_OLDER_SECONDS = 50;
/** A request that fails sooner than this was not cut off for waiting. */
const SHORTEST_CUT_SECONDS = 5;
/** Retryable errors that the service itself answers with, so nothing on the way cut the request. */
const REFUSALS: readonly string[] = ["upstream_unavailable", "rate_limited", "maintenance"];
/** After this many waits that were not cut off, a longer one is tried. */
const WAITS_BEFORE_LONGER = 10;

/** How long requests of one connection wait. Adapts to proxies that cut off long requests. */
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

  /** Call it when a request that waited has failed. If it was cut off, later requests wait less. */
  failed(elapsedSeconds: number, error: AgentError): void {
    const isCut = error.retryable && !REFUSALS.includes(error.code);
    if (!isCut || elapsedSeconds < SHORTEST_CUT_SECONDS) return;
    this.#held = 0;
    this.#seconds = Math.floor(Math.min(elapsedSeconds, this.#seconds) * 0.9);
  }

  /** Call it when a request was answered after waiting this long. */
  answered(elapsedSeconds: number): void {
    if (elapsedSeconds < this.#seconds || ++this.#held < WAITS_BEFORE_LONGER) {
      return;
    }
    this.#held = 0;
    this.#seconds = Math.min(this.#longest, Math.ceil(this.#seconds * 1.5));
  }

  /**
   * Whether a refusal says that the deployment accepts only shorter waits. If so, shortens them.
   */
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
