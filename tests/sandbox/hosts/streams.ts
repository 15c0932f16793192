import type { Duplex } from "node:stream";

/** How a connection ended: the code of its error, or "ended"; null while it is open. */
interface Watched {
  readonly socket: Duplex;
  bytes: number;
  outcome: string | null;
}

function watch(socket: Duplex): Watched {
  const watched: Watched = { socket, bytes: 0, outcome: null };
  socket.on("error", ({ code }: NodeJS.ErrnoException) => watched.outcome ??= code ?? "unknown");
  socket.on("end", () => watched.outcome ??= "ended");
  socket.on("data", (chunk) => watched.bytes += chunk.length);
  return watched;
}

/** Sends without end, a little at a time. */
export function pour(socket: Duplex): Watched {
  const timer = setInterval(() => {
    if (socket.destroyed) clearInterval(timer);
    else if (!socket.writableNeedDrain) socket.write(new Uint8Array(8192));
  }, 10);
  return watch(socket);
}

/** Reads to the end. */
export function drain(socket: Duplex): Watched {
  return watch(socket);
}
