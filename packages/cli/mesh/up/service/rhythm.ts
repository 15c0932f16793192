/** How long requests wait and how long the agent pauses, all in seconds. */

/** The longest that the service keeps a request waiting. */
const LONGEST_WAIT = 140;
/** The limit of older services. */
const LONGEST_WAIT_OF_OLDER = 50;
/** After this long, what the service lacked or refused is tried again. */
export const FORGET = 3600;

export class Rhythm {
  /** How often the service expects a heartbeat. */
  heartbeatSeconds = 30;
  /** How many rounds in a row have failed. */
  failures = 0;
  /** Whether the service has /wait. */
  hasWait = true;
  /** Whether one report can name all peers. */
  isOneReportEnough = true;
  /**
   * How many heartbeats in a row should have waited and did not. At most 20, because the resulting
   * pause is then longer than any interval.
   */
  #fruitlessWaits = 0;
  /** Something on the way may cut off long requests. Then this is shorter than those. */
  #longestWait = LONGEST_WAIT;
  #shortenedAt = -Infinity;

  constructor(
    /** The longest time that a request waits; null: the service's limit. */
    private readonly pollSeconds: number | null,
  ) {}

  /** How often the service must hear from this agent. A /wait counts until it ends. */
  get intervalSeconds(): number {
    const waits = this.hasWait && this.#fruitlessWaits < 3;
    const seconds = this.pollSeconds ?? (waits ? LONGEST_WAIT : this.heartbeatSeconds);
    // Report as often as heartbeats are due. Not more often, because each request costs.
    if (this.isOneReportEnough || this.failures > 0) return seconds;
    return Math.min(seconds, this.heartbeatSeconds);
  }

  /**
   * How long a heartbeat may wait for news. A little less than the interval, so that the next one
   * is in time; the difference is random, so that agents do not fall into step. 0 if polling is as
   * quick.
   */
  waitSeconds(now: number): number {
    if (now - this.#shortenedAt >= FORGET) this.#longestWait = LONGEST_WAIT;
    const seconds = Math.trunc(this.intervalSeconds * (0.97 + Math.random() * 0.03));
    const wait = Math.min(seconds, this.#longestWait);
    return wait < 2 ? 0 : wait;
  }

  /** A heartbeat counts as fruitless until it is known that the service has waited. */
  heartbeatBegins(waitSeconds: number): void {
    if (waitSeconds > 0) this.#fruitlessWaits = Math.min(this.#fruitlessWaits + 1, 20);
  }

  hasWaited(): void {
    this.#fruitlessWaits = 0;
  }

  /** Reduces the longest wait after one that failed. A failure within 10 s has other reasons. */
  waitFailed(now: number, { status, seconds }: { status: number; seconds: number }): void {
    this.#shortenedAt = now;
    if (status === 422) this.#longestWait = Math.min(this.#longestWait, LONGEST_WAIT_OF_OLDER);
    const isCutOff = [0, 502, 504].includes(status) && seconds >= 10;
    if (isCutOff && seconds <= this.#longestWait) this.#longestWait = Math.trunc(seconds * 0.9);
  }

  /**
   * The pause after a good round. If heartbeats wait, the next one follows almost at once. After
   * three fruitless waits in a row, the pause grows with each further one, up to the interval.
   */
  pauseSeconds(now: number): number {
    const interval = this.intervalSeconds;
    const pause = Math.trunc(2 ** this.#fruitlessWaits / 4);
    const waits = this.waitSeconds(now) > 0 && pause < interval;
    // A tenth at random, so that agents do not fall into step.
    return Math.max(waits ? pause : interval, 1) * (0.9 + Math.random() * 0.2);
  }

  /**
   * The pause after a failed round. It grows up to the heartbeat interval. The service may ask for
   * a longer one, but it is never longer than the heartbeat interval: nobody would learn of a rule
   * meanwhile.
   */
  backOffSeconds(retryAfter: number): number {
    const grown = this.failures < 9 ? 2 ** this.failures : this.heartbeatSeconds;
    const seconds = Math.min(grown, this.intervalSeconds, this.heartbeatSeconds);
    const pause = retryAfter > seconds
      ? retryAfter * (1 + Math.random() * 0.1)
      : seconds * (0.9 + Math.random() * 0.1);
    return Math.min(pause, this.heartbeatSeconds);
  }
}
