import { AgentError } from "../errors/agent_error.ts";

const FIRST_PAUSE_MILLISECONDS = 250;
const LONGEST_PAUSE_MILLISECONDS = 10_000;

/** A failure that is followed by another attempt. */
export interface Retry {
  readonly error: AgentError;
  /** How long the attempts have been failing. */
  readonly failingSeconds: number;
  /** The pause before the next attempt. */
  readonly pauseSeconds: number;
}

export interface RetryOptions {
  /** How long to retry, counted from the first failure, because the first attempt may take long. */
  readonly seconds: number;
  readonly signal?: AbortSignal | undefined;
  readonly onRetry?: ((retry: Retry) => void) | undefined;
}

/**
 * Repeats an attempt that fails with a retryable AgentError, with backoff, until the time is up.
 */
export async function withRetries<Result>(
  attempt: () => Promise<Result>,
  options: RetryOptions,
): Promise<Result> {
  const failures = new Failures(options);
  while (true) {
    try {
      return await attempt();
    } catch (error) {
      await failures.pauseAfter(error);
    }
  }
}

/** The consecutive failures of something that is retried. */
export class Failures {
  readonly #options: RetryOptions;
  #count = 0;
  #firstAt = 0;

  constructor(options: RetryOptions) {
    this.#options = options;
  }

  /** Call it after progress: the next failure then counts as the first. */
  reset(): void {
    this.#count = 0;
  }

  /** Pauses before the next attempt. Throws the error itself if there is no next attempt. */
  async pauseAfter(error: unknown): Promise<void> {
    if (!(error instanceof AgentError) || !error.retryable) throw error;
    const { seconds, signal, onRetry } = this.#options;
    const now = performance.now();
    if (this.#count === 0) this.#firstAt = now;
    const wait = pauseMilliseconds(this.#count++, error.retryAfterSeconds);
    const failing = now - this.#firstAt;
    if (failing + wait > seconds * 1000) throw error;
    onRetry?.({
      error,
      failingSeconds: failing / 1000,
      pauseSeconds: wait / 1000,
    });
    await pause(wait, signal);
  }
}

/**
 * The pause is at least as long as the service asks, and random, to spread simultaneous failures.
 */
export function pauseMilliseconds(
  failures: number,
  retryAfterSeconds: number | null,
): number {
  const longest = Math.min(
    LONGEST_PAUSE_MILLISECONDS,
    FIRST_PAUSE_MILLISECONDS * 2 ** failures,
  );
  const random = longest * (0.5 + Math.random() / 2);
  return Math.max(random, (retryAfterSeconds ?? 0) * 1000);
}

/** Resolves after a time. Rejects with the signal's reason if that is aborted first. */
export function pause(
  milliseconds: number,
  signal?: AbortSignal,
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, milliseconds);
    signal?.addEventListener("abort", abort, { once: true });
  });
}
