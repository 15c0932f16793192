import type { ArtifactsAnswer } from "../contract/types.ts";
import type { CallOptions, Connection } from "../http/connection.ts";
import { pause } from "../http/retries.ts";

/**
 * What a commit waits for at most: another one that verifies the same artifact, and the minutes
 * that Storage takes to move gigabytes.
 */
const COMMIT_RETRY_SECONDS = 900;
/** Between two calls that each verified a part; nothing keeps the next from beginning at once. */
const PAUSE_MILLISECONDS = 20;

export interface CommitOptions extends CallOptions {
  /** Called with how many bytes are verified, while that takes several calls. */
  readonly onVerified?: ((bytes: number) => void) | undefined;
}

type Committed = ArtifactsAnswer<"/commit">;

/** Commits an artifact, however many calls its verification takes. */
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
    // Storage may be moving the file, which the service ends in time.
    const wait = Math.max(PAUSE_MILLISECONDS, retryAfterSeconds * 1000);
    await pause(wait, connection.signalOf(options));
  }
}
