import type { ServerResponse } from "node:http";

/**
 * Resets the connection of an answer that cannot be completed. `destroy` alone would send a FIN,
 * which clients of HTTP/1.0 take for the end of the answer.
 */
export function breakOff(response: ServerResponse): void {
  if (!response.writableFinished) response.socket?.resetAndDestroy();
  response.destroy();
}
