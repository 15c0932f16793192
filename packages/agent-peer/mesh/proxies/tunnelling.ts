import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { setImmediate } from "node:timers";
import { MeshNetSocket } from "../sockets/net_socket.ts";

/** Connects to a port of the mesh, by the name of a peer or its address. */
export type Dial = (
  to: { readonly host: string; readonly port: number; readonly signal: AbortSignal },
) => Promise<Duplex>;

/**
 * Passes bytes in both directions. Each direction ends on its own. If one connection breaks, the
 * other one is reset: its program must not take half of the bytes for all of them.
 */
export function splice(one: Duplex, other: Duplex): void {
  for (const [from, to] of [[one, other], [other, one]] as const) {
    from.on("error", () => reset(to));
    from.on("close", () => {
      if (from.errored || !from.readableEnded || !from.writableFinished) reset(to);
    });
    // A stream that is already destroyed emits no event.
    if (from.destroyed) reset(to);
    from.pipe(to, { end: false });
    from.on("end", () => passEnd(from, to));
  }
}

/**
 * For a socket of the system, Node reports a reset that arrives together with bytes as an end. Only
 * writing tells them apart, and nothing needs to be written for that.
 */
function passEnd(from: Duplex, to: Duplex): void {
  const isOfSystem = from instanceof Socket && !(from instanceof MeshNetSocket);
  if (!isOfSystem || !from.writable) to.end();
  // An empty write would wait behind these writes. If the connection is reset, they fail first.
  else if (from.writableLength > 0) setImmediate(() => to.end());
  else from.write("", (error) => error ? reset(to) : to.end());
}

/**
 * Ends a connection so that its other side sees an error. `destroy` alone would send a FIN, which
 * other sides take for the end of the bytes. Unix sockets know no reset.
 */
export function reset(stream: Duplex): void {
  try {
    if (!stream.destroyed && stream instanceof Socket) stream.resetAndDestroy();
  } catch {
    // Node resets only TCP connections.
  }
  stream.destroy();
}

/** The connections of the mesh that the proxies use now. */
export class OpenConnections {
  readonly #open = new Set<Duplex>();

  add(connection: Duplex): Duplex {
    this.#open.add(connection);
    connection.once("close", () => this.#open.delete(connection));
    return connection;
  }

  /**
   * Breaks them all. If this process ended without that, the system would end the connections of
   * the programs as if all bytes had been sent.
   */
  breakAll(): void {
    for (const connection of this.#open) connection.destroy(new Error("The mesh was left."));
  }
}

/** Aborted when a client goes away before its connection is made. */
export function goneSignal(client: Duplex): AbortSignal {
  const gone = new AbortController();
  client.once("close", () => gone.abort(new Error("The client has gone.")));
  return gone.signal;
}

/** Why a connection could not be made. */
export type DialFailure = "not_allowed" | "unknown_host" | "refused" | "timed_out" | "failed";

const FAILURES: Readonly<Record<string, DialFailure>> = {
  no_rule: "not_allowed",
  unknown_peer: "unknown_host",
  ECONNREFUSED: "refused",
  ETIMEDOUT: "timed_out",
};

export function failureOf(error: unknown): DialFailure {
  const { code } = error as { readonly code?: string };
  return FAILURES[code ?? ""] ?? "failed";
}
