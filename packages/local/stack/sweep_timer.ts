import { reasonOf } from "../../command/command_error.ts";
import type { StackOptions } from "./options.ts";

type SweepTimerOptions = Pick<StackOptions, "sweepSeconds" | "onProgress">;

interface SweptService {
  /** Origin of the stack's gateway. */
  readonly url: string;
  readonly secretKey: string;
}

interface Swept {
  readonly remaining: number;
  readonly orphans_held: number;
}

/**
 * Sweeps every `sweepSeconds` until `stop`, as pg_cron does in a hosted project. A failed sweep is
 * only reported.
 */
export function startSweepTimer(
  { sweepSeconds, onProgress }: SweepTimerOptions,
  service: SweptService,
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  let sweeping: Promise<void> | null = null;

  const timer = setInterval(() => {
    sweeping ??= sweep(service, { onProgress, signal: stopping.signal })
      .catch((cause) => {
        if (!stopping.signal.aborted) onProgress(`The sweep failed: ${reasonOf(cause)}`);
      })
      .finally(() => sweeping = null);
  }, sweepSeconds * 1000);

  return {
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await sweeping;
    },
  };
}

async function sweep(
  { url, secretKey }: SweptService,
  { onProgress, signal }: Pick<StackOptions, "onProgress"> & { readonly signal: AbortSignal },
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
    // If a round removes nothing, leave the rest to the next sweep.
  } while (remaining > 0 && remaining < remainingBefore);
  if (held > 0) onProgress(`The sweep held back ${held} orphans: see docs/retention.md.`);
}
