import type { CallOptions, Connection } from "../http/connection.ts";
import { pause } from "../http/retries.ts";

/** How long one call waits. */
export const WAIT_SECONDS = 50;
/** Between two requests to a deployment that does not support waiting. */
const POLL_SECONDS = 2;

export interface FollowOptions extends CallOptions {
  /** Keeps waiting for new items. Default: false, which ends after the present ones. */
  readonly wait?: boolean;
}

/**
 * Call it after a wait without a result. If that ended at once, it pauses before the next one. This
 * happens when a process of the service ends, or when a key has too many waits.
 */
export async function restAfterWait(
  sentAt: number,
  connection: Connection,
  options: CallOptions,
): Promise<void> {
  if (performance.now() - sentAt > 1000) return;
  await pause(1000 * (1 + Math.random()), connection.signalOf(options));
}

export function pollPause(connection: Connection, options: CallOptions): Promise<void> {
  return pause(POLL_SECONDS * 1000, connection.signalOf(options));
}
