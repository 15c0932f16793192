import type { CallOptions, Connection } from "../http/connection.ts";
import { pause } from "../http/retries.ts";

/** How long one call waits: as long as the service lets it. */
export const WAIT_SECONDS = 50;
/** Between two looks at a deployment that does not wait. */
const POLL_SECONDS = 2;

export interface FollowOptions extends CallOptions {
  /** Goes on, and waits for what comes. Default: false, to end with what there is now. */
  readonly wait?: boolean;
}

/**
 * To be called after a wait that brought nothing. Where it ended at once, as when a process ends or
 * a key waits too often, the next one waits a moment.
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
