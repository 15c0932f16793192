import { AgentError } from "../http/agent_error.ts";

/** What a script can tell apart. The page about the command line has the same table. */
export const EXIT = {
  /** Something that nobody foresaw, or the files of this machine. */
  failed: 1,
  /** The command was not written as it has to be. */
  usage: 2,
  /** 401, 403: the key is missing, wrong or not allowed to. */
  refusedCaller: 3,
  /** 404, 410: it is not there, or no more. */
  notThere: 4,
  /** 400, 409, 413, 422: the service refuses this request. */
  refusedRequest: 5,
  /** Nothing answered, or not now: the same command can succeed later. */
  unavailable: 6,
  /** The bytes are not what they should be. */
  wrongBytes: 7,
  /** Ctrl-C, as shells count it. */
  interrupted: 130,
} as const;

/** The command was not written as it has to be. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return EXIT.usage;
  if (!(error instanceof AgentError)) return EXIT.failed;
  if (error.code === "download_mismatch" || error.code === "source_size_mismatch") {
    return EXIT.wrongBytes;
  }
  if (error.retryable || error.status === 0 || error.status >= 500) return EXIT.unavailable;
  if (error.status === 401 || error.status === 403) return EXIT.refusedCaller;
  return error.status === 404 || error.status === 410 ? EXIT.notThere : EXIT.refusedRequest;
}
