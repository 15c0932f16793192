import { createServer } from "node:net";

// Below the range that Linux and macOS give to outgoing connections. One of these could otherwise
// take a port after it was found free and before its server binds it.
const LOWEST = 15_000;
const COUNT = 15_000;

/** What this process was given. Its server may bind it only seconds later. */
const given = new Set<number>();

/** A loopback TCP port that nobody listens on now, another one each time. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = LOWEST + crypto.getRandomValues(new Uint32Array(1))[0]! % COUNT;
    if (!given.has(port) && await isFree(port)) {
      given.add(port);
      return port;
    }
  }
  throw new Error("No free TCP port was found on 127.0.0.1.");
}

/** Whether `port` can be bound on 127.0.0.1. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once("error", () => resolve(false));
    probe.listen({ port, host: "127.0.0.1", exclusive: true }, () => {
      probe.close(() => resolve(true));
    });
  });
}
