import process from "node:process";
import type { Retry } from "../../agent-files/http/retries.ts";
import { note, plain } from "../../command/terminal/output.ts";

const SILENT_SECONDS = 2;

/**
 * Tells on standard error that a command retries: once per series of failures, and only if the
 * series lasts at least two seconds. With --json, standard error has only the final error.
 */
export function retryNotice(
  { json }: { readonly json: boolean },
): (retry: Retry) => void {
  let isTold = false;
  return ({ error, failingSeconds, pauseSeconds }) => {
    if (failingSeconds === 0) isTold = false;
    if (json || isTold || failingSeconds + pauseSeconds < SILENT_SECONDS) {
      return;
    }
    isTold = true;
    // A progress bar may be on this line.
    if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
    note(`Retrying: ${plain(error.message)}`);
  };
}
