import { AgentError } from "../agent-files/errors/agent_error.ts";
import { UsageError } from "../command/usage_error.ts";

/** docs/command-line.md has the same table. */
export const EXIT = {
  /** Unexpected error, or a problem with this machine's files. */
  failed: 1,
  /** Wrong usage, as in command/run.ts. */
  usage: 2,
  /** 401, 403: the agent key is missing, wrong or not allowed. */
  refusedCaller: 3,
  /** 404, 410: not found, or no longer there. */
  notThere: 4,
  /** 400, 409, 413, 422: the service refused the request. */
  refusedRequest: 5,
  /** The service is unavailable or cannot be reached. */
  unavailable: 6,
  /** The bytes are wrong, or a tar is not safe to extract. */
  wrongBytes: 7,
  /** Ctrl-C, as shells count it. */
  interrupted: 130,
} as const;

/** This machine has no agent key for the service. */
export class NotLoggedInError extends Error {
  override readonly name = "NotLoggedInError";
}

const WRONG_BYTES: ReadonlySet<string> = new Set([
  "download_mismatch",
  "source_size_mismatch",
  "archive_refused",
]);

export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return EXIT.usage;
  if (error instanceof NotLoggedInError) return EXIT.refusedCaller;
  if (!(error instanceof AgentError)) return EXIT.failed;
  if (error.code === "target_exists") return EXIT.usage;
  if (WRONG_BYTES.has(error.code)) return EXIT.wrongBytes;
  if (error.code === "invalid_request") return EXIT.refusedRequest;
  if (error.code === "source_unreadable" || error.code === "key_unavailable") {
    return EXIT.failed;
  }
  if (error.retryable || error.status === 0 || error.status >= 500) {
    return EXIT.unavailable;
  }
  if (error.status === 401 || error.status === 403) return EXIT.refusedCaller;
  return error.status === 404 || error.status === 410 ? EXIT.notThere : EXIT.refusedRequest;
}
