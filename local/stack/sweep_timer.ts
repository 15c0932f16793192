import { CommandError, reasonOf } from "../command/command_error.ts";

const DEFAULT_SECONDS = 120;

export interface SweepTimerOptions {
  /** Origin of the stack's gateway. */
  readonly url: string;
  readonly secretKey: string;
  readonly seconds: number;
  readonly onProgress: (line: string) => void;
}

interface Swept {
  readonly remaining: number;
  readonly orphans_held: number;
}

/**
 * Sweeps every `seconds` until `stop`, as pg_cron does for a hosted project. A sweep that fails is
 * only reported.
 */
export function startSweepTimer(options: SweepTimerOptions): { stop(): Promise<void> } {
  const { seconds, onProgress } = options;
  const stopping = new AbortController();
  let sweeping: Promise<void> | null = null;

  const timer = setInterval(() => {
    sweeping ??= sweep(options, stopping.signal)
      .catch((cause) => {
        if (!stopping.signal.aborted) onProgress(`The sweep failed: ${reasonOf(cause)}`);
      })
      .finally(() => sweeping = null);
  }, seconds * 1000);

  return {
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await sweeping;
    },
  };
}

/**
 * The seconds between sweeps by `text`, the value of SWEEP_SECONDS; two minutes when it is not set.
 * Throws CommandError.
 */
export function sweepSeconds(text: string | undefined): number {
  if (!text) return DEFAULT_SECONDS;
  // A longer timer would fire at once.
  const maximum = Math.floor((2 ** 31 - 1) / 1000);
  const seconds = Number(text);
  if (!/^[0-9]+$/.test(text) || seconds < 1 || seconds > maximum) {
    throw new CommandError(`SWEEP_SECONDS must be a whole number from 1 to ${maximum}.`);
  }
  return seconds;
}

async function sweep(
  { url, secretKey, onProgress }: SweepTimerOptions,
  signal: AbortSignal,
): Promise<void> {
  let held = 0;
  let remainingBefore: number;
  let remaining = Infinity;
  do {
    const response = await fetch(`${url}/functions/v1/agent-artifacts/sweep`, {
      method: "POST",
      headers: { apikey: secretKey },
      body: JSON.stringify({ limit: 1000 }),
      signal,
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`HTTP ${response.status} ${text}`);
    const swept: Swept = JSON.parse(text);
    held = Math.max(held, swept.orphans_held);
    remainingBefore = remaining;
    remaining = swept.remaining;
    // When a round removes nothing, the rest is left to the next sweep.
  } while (remaining > 0 && remaining < remainingBefore);
  if (held > 0) onProgress(`The sweep held back ${held} orphans: see docs/retention.md.`);
}
