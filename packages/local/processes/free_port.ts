import { createServer } from "node:net";

// Below the range from which Linux and macOS take ports for outgoing connections. An outgoing
// connection could otherwise take a port after it was found free and before its server binds it.
const LOWEST = 15_000;
const COUNT = 15_000;

/** The ports that this process has returned. A server may bind its port only seconds later. */
const given = new Set<number>();

/**
 * A loopback TCP port that nobody listens on now. Every call returns another port. Another program
 * may be about to bind a port that this one finds free. So programs that run side by side can each
 * have a share of the ports: set PORT_SHARE to `0/2` and `1/2`, for example.
 */
export async function freePort(): Promise<number> {
  const [share = 0, shares = 1] = Deno.env.get("PORT_SHARE")?.split("/").map(Number) ?? [];
  for (let attempt = 0; attempt < 100; attempt++) {
    const random = crypto.getRandomValues(new Uint32Array(1))[0]!;
    const port = LOWEST + share + shares * (random % Math.floor(COUNT / shares));
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
