import type { Duplex } from "node:stream";

/** Connects to a port of the mesh, by the name of a peer or its address. */
export type Dial = (
  to: { readonly host: string; readonly port: number; readonly signal: AbortSignal },
) => Promise<Duplex>;

/** Passes bytes in both directions. Each direction ends on its own; an error ends both. */
export function splice(one: Duplex, other: Duplex): void {
  for (const [from, to] of [[one, other], [other, one]] as const) {
    from.on("error", () => to.destroy());
    from.on("close", () => {
      if (!from.readableEnded || from.errored) to.destroy();
    });
    // A stream that is already destroyed emits no event.
    if (from.destroyed) to.destroy();
    from.pipe(to);
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
