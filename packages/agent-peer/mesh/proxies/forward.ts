import { createServer, type Server } from "node:net";
import { parsePlace, type Place } from "./place.ts";
import { type Dial, goneSignal, reset, splice } from "./tunnelling.ts";

/** A place of this machine that leads to a port of a peer. */
export interface Forwarding {
  readonly place: Place;
  /** The name of a peer, or its address. */
  readonly host: string;
  readonly port: number;
}

/**
 * Reads `<place>=<host>:<port>`, such as `5432=db:5432` or `/run/db.sock=[fd00::2]:5432`. Null if
 * the text is anything else.
 */
export function parseForwarding(text: string): Forwarding | null {
  const [, at = "", bracketed, bare, digits] =
    /^([^=]+)=(?:\[([0-9a-f:]+)\]|([^:=[\]/]+)):(\d{1,5})$/i.exec(text) ?? [];
  const place = parsePlace(at);
  const host = bracketed ?? bare;
  const port = Number(digits);
  if (place === null || host === undefined || !(port >= 1 && port <= 65_535)) return null;
  return { place, host, port };
}

/** A UDP port of 127.0.0.1 that leads to a UDP port of a peer. */
export interface UdpForwarding extends Pick<Forwarding, "host" | "port"> {
  /** 0: any free one. */
  readonly localPort: number;
}

/** Reads `<port>=<host>:<port>`, such as `5353=dns:53`. Null if the text is anything else. */
export function parseUdpForwarding(text: string): UdpForwarding | null {
  const { place, host, port } = parseForwarding(text) ?? {};
  if (place?.kind !== "port" || place.host !== "127.0.0.1") return null;
  return { localPort: place.port, host: host!, port: port! };
}

/** Passes the connections of programs on. If the peer cannot be reached, they are reset. */
export function forwardServer(
  dial: Dial,
  to: { readonly host: string; readonly port: number },
): Server {
  return createServer({ allowHalfOpen: true }, (client) => {
    client.on("error", () => {});
    dial({ ...to, signal: goneSignal(client) }).then(
      (connection) => splice(client, connection),
      () => reset(client),
    );
  });
}
