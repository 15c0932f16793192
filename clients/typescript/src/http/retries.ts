import { AgentError } from "./agent_error.ts";

const FIRST_PAUSE_MILLISECONDS = 250;
const LONGEST_PAUSE_MILLISECONDS = 10_000;

export interface RetryOptions {
  /** How long to go on trying, from the first failure on: that may have taken long itself. */
  readonly seconds: number;
  readonly signal?: AbortSignal | undefined;
}

/** Repeats what fails with a retryable AgentError, with growing pauses, until the time is over. */
export async function withRetries<Result>(
  attempt: () => Promise<Result>,
  { seconds, signal }: RetryOptions,
): Promise<Result> {
  let deadline = Infinity;
  for (let failures = 0;; failures++) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof AgentError) || !error.retryable) throw error;
      if (failures === 0) deadline = performance.now() + seconds * 1000;
      const wait = pauseMilliseconds(failures, error.retryAfterSeconds);
      if (performance.now() + wait > deadline) throw error;
      await pause(wait, signal);
    }
  }
}

/** As long as the service asks for, or longer: random, so that those who failed together part. */
export function pauseMilliseconds(failures: number, retryAfterSeconds: number | null): number {
  const longest = Math.min(LONGEST_PAUSE_MILLISECONDS, FIRST_PAUSE_MILLISECONDS * 2 ** failures);
  const random = longest * (0.5 + Math.random() / 2);
  return Math.max(random, (retryAfterSeconds ?? 0) * 1000);
}

/** Resolves after a time. Rejects with the signal's reason when that is aborted before. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
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
