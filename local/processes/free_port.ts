import { createServer } from "node:net";

// Below the range from which Linux and macOS take ports for outgoing connections. An outgoing
// connection could otherwise take a port after it was found free and before its server binds it.
const LOWEST = 15_000;
/** Processes choose from the part that their process ID selects, so that they rarely meet. */
const PARTS = 50;
const PART = 300;

/** The ports returned last. A server may bind its port only seconds later. */
const given = new Set<number>();
const REMEMBERED = 100;

/** A loopback TCP port that nobody listens on now. It differs from the last hundred returned. */
export async function freePort(): Promise<number> {
  const first = LOWEST + Deno.pid % PARTS * PART;
  for (let attempt = 0; attempt < 1000; attempt++) {
    const port = first + crypto.getRandomValues(new Uint32Array(1))[0]! % PART;
    if (given.has(port) || !await isFree(port)) continue;
    given.add(port);
    if (given.size > REMEMBERED) given.delete(given.values().next().value!);
    return port;
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
