import { createServer } from "node:net";

// Below the range from which Linux and macOS take ports for outgoing connections. An outgoing
// connection could otherwise take a port after it was found free and before its server binds it.
const LOWEST = 15_000;
const COUNT = 15_000;

/** The ports that this process has given out. A server may bind its port only seconds later. */
const given = new Set<number>();

/** A loopback TCP port that nobody listens on now. Every call returns another port. */
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
