import type { ArtifactsAnswer } from "../contract/types.ts";
import type { Connection } from "../http/connection.ts";
import type { CallOptions } from "../http/connection_options.ts";
import { pause } from "../http/retries.ts";

/**
 * A commit may wait for another call that verifies the same artifact, and for Storage, which takes
 * minutes to move gigabytes.
 */
const COMMIT_RETRY_SECONDS = 900;
/** The pause between two calls. Each verifies a part of the file. */
const PAUSE_MILLISECONDS = 20;

export interface CommitOptions extends CallOptions {
  /** Called with the number of verified bytes, if verification takes several calls. */
  readonly onVerified?: ((bytes: number) => void) | undefined;
}

type Committed = ArtifactsAnswer<"/commit">;

/** Commits an artifact. Repeats the call until all bytes are verified. */
export async function commit(
  connection: Connection,
  request: { readonly artifact_id: string; readonly sha256: string },
  { onVerified, ...options }: CommitOptions = {},
): Promise<Committed> {
  const retrySeconds = Math.max(
    options.retrySeconds ?? connection.retrySeconds,
    COMMIT_RETRY_SECONDS,
  );
  while (true) {
    const { status, retryAfterSeconds, answer } = await connection.postOnce<
      Committed & { verified_bytes?: number }
    >("/commit", request, { ...options, retrySeconds });
    if (status !== 202) return answer;
    onVerified?.(answer.verified_bytes ?? 0);
    // The service says how long to wait while Storage moves the file.
    const wait = Math.max(PAUSE_MILLISECONDS, retryAfterSeconds * 1000);
    await pause(wait, connection.signalOf(options));
  }
}
