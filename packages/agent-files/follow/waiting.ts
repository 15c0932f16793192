import { AgentError } from "../errors/agent_error.ts";
import type { Connection } from "../http/connection.ts";
import type { CallOptions } from "../http/connection_options.ts";
import { pause } from "../http/retries.ts";

/** The pause between two requests to a deployment that does not support waiting. */
const POLL_SECONDS = 2;

export interface FollowOptions extends CallOptions {
  /** Keeps waiting for new items. Default: false, which ends after the current ones. */
  readonly wait?: boolean;
  /**
   * With `wait`: called when the last position has expired because the service was restored. The
   * current items are then yielded again, and new ones follow.
   */
  readonly onStartOver?: () => void;
}

/** Whether to go on without a position after this error: the service was restored. */
export function startsOver(error: unknown, options: FollowOptions): boolean {
  const hasExpired = error instanceof AgentError &&
    error.code === "position_expired";
  if (!options.wait || !hasExpired) return false;
  options.onStartOver?.();
  return true;
}

/**
 * POSTs to an operation that waits: as long as requests of this connection can, but at most
 * `longestWait` seconds.
 */
export async function postAndWait<Answer>(
  connection: Connection,
  path: string,
  body: object,
  { longestWait = Infinity, ...options }: CallOptions & { readonly longestWait?: number },
): Promise<Answer> {
  const { waitLength } = connection;
  const post = () =>
    connection.post<Answer>(
      path,
      { ...body, wait_seconds: Math.min(waitLength.seconds, longestWait) },
      options,
    );
  try {
    return await post();
  } catch (error) {
    if (!(error instanceof AgentError) || !waitLength.isTooLong(error)) {
      throw error;
    }
    return await post();
  }
}

/**
 * Call it after a wait without a result. If the wait ended at once, it pauses before the next one.
 * A wait ends at once when a process of the service ends, or when a key has too many waits.
 */
export async function restAfterWait(
  sentAt: number,
  connection: Connection,
  options: CallOptions,
): Promise<void> {
  if (
    performance.now() - sentAt >
      Math.min(1000, connection.waitLength.seconds * 900)
  ) return;
  await pause(1000 * (1 + Math.random()), connection.signalOf(options));
}

export function pollPause(
  connection: Connection,
  options: CallOptions,
): Promise<void> {
  return pause(POLL_SECONDS * 1000, connection.signalOf(options));
}
