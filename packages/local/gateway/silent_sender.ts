import type { IncomingMessage } from "node:http";

/** How long a sender may pause within a request's body. Longer than the functions' 10 seconds. */
const MAX_SILENCE_MILLISECONDS = 15_000;

/**
 * Closes the connection of a sender that stops in the middle of a body. A body that keeps arriving
 * may take any time.
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
    // The connection may serve many more requests, so remove the listener.
    request.socket.off("close", stopWatching);
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}
