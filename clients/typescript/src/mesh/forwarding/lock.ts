import { createServer } from "node:net";
import { listenAt } from "../proxies/place.ts";

/**
 * Holds a Unix socket at `path`, which no two processes can have, and which a process that is
 * killed does not keep. Resolves to null if another one has it. Rejects if it cannot be made.
 */
export async function takeLock(path: string): Promise<Disposable | null> {
  const server = createServer((socket) => socket.destroy());
  try {
    await listenAt(server, { kind: "file", path });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return null;
    throw error;
  }
  return { [Symbol.dispose]: () => void server.close() };
}
