import type { IncomingMessage } from "node:http";

/** How long a sender may pause within a request's body. The functions wait for 10 seconds. */
const MAX_SILENCE_MILLISECONDS = 15_000;

/**
 * Ends the connection of a sender that stops in the midst of a body. A body that goes on arriving
 * may take as long as it likes.
 */
export function endWhenSilent(
  request: IncomingMessage,
  { silenceMilliseconds = MAX_SILENCE_MILLISECONDS }: { silenceMilliseconds?: number } = {},
): void {
  if (!hasBody(request)) return;
  let bytesBefore = request.socket.bytesRead;
  const timer = setInterval(() => {
    const bytesNow = request.socket.bytesRead;
    if (bytesNow > bytesBefore) {
      bytesBefore = bytesNow;
      return;
    }
    stopWatching();
    request.socket.destroy();
  }, silenceMilliseconds);
  request.once("end", stopWatching);
  request.socket.once("close", stopWatching);

  function stopWatching(): void {
    clearInterval(timer);
    // The connection may serve many more requests.
    request.socket.off("close", stopWatching);
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}
