import { lookup } from "node:dns/promises";
import { Allocation } from "../../../clients/typescript/src/mesh/paths/turn/allocation.ts";
import {
  openTurnStream,
  type TurnTransport,
} from "../../../clients/typescript/src/mesh/paths/turn/transport.ts";
import { turnOverUdp } from "../../../clients/typescript/src/mesh/paths/turn/udp_transport.ts";
import { openNodeSocket } from "../../../clients/typescript/src/mesh/wireguard/sockets/node_socket.ts";
import { systemSurroundings } from "../../../clients/typescript/src/mesh/wireguard/system_surroundings.ts";
import { reasonOf } from "../../../local/command/command_error.ts";

/** What came of asking a TURN server for an allocation. */
export interface TurnTrial {
  readonly url: string;
  /** Null: it gave one. */
  readonly failure: string | null;
}

/** Long enough for a handshake with a server on another continent, and for a datagram again. */
const PATIENCE_MILLISECONDS = 10_000;

/** Where a URI of RFC 7065 leads. */
interface TurnServer {
  readonly host: string;
  readonly port: number;
  readonly transport: "udp" | "tcp" | "tls";
}

function parseTurnUrl(url: string): TurnServer {
  const parts = /^(turns?):(\[[^\]]+\]|[^:?]+)(?::(\d+))?(?:\?transport=(\w+))?$/.exec(url);
  if (parts === null) throw new Error("this is no URI of a TURN server");
  const [, scheme, host = "", port, transport = "udp"] = parts;
  return {
    host: host.replace(/^\[|\]$/g, ""),
    port: Number(port ?? (scheme === "turns" ? 5349 : 3478)),
    transport: scheme === "turns" ? "tls" : transport === "tcp" ? "tcp" : "udp",
  };
}

/** Asks for an allocation, and gives it back. */
export async function tryTurnUrl(
  url: string,
  credentials: { readonly username: string; readonly credential: string },
): Promise<TurnTrial> {
  const ended = new AbortController();
  try {
    await Promise.race([
      allocate(parseTurnUrl(url), { ...credentials, signal: ended.signal }),
      rejectedAfter(PATIENCE_MILLISECONDS, ended.signal),
    ]);
    return { url, failure: null };
  } catch (error) {
    return { url, failure: reasonOf(error) };
  } finally {
    ended.abort();
  }
}

async function allocate(
  server: TurnServer,
  { username, credential, signal }: {
    readonly username: string;
    readonly credential: string;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  let receive = (_message: Uint8Array): void => {};
  const transport = await openTransport(server, {
    onMessage: (message) => receive(message),
    signal,
  });
  const allocation = new Allocation({
    transport,
    username,
    credential,
    surroundings: systemSurroundings(),
    via: "relay",
    onDatagram: () => {},
  });
  receive = (message) => allocation.receive(message);
  // What was opened too late is closed at once.
  if (signal.aborted) return allocation.close();
  signal.addEventListener("abort", () => allocation.close());
  await allocation.open();
}

async function openTransport(
  { host, port, transport }: TurnServer,
  { onMessage, signal }: {
    readonly onMessage: (message: Uint8Array) => void;
    readonly signal: AbortSignal;
  },
): Promise<TurnTransport> {
  if (transport !== "udp") {
    return await openTurnStream({
      host,
      port,
      isTls: transport === "tls",
      proxy: null,
      onMessage,
      onClose: () => {},
    });
  }
  const { address } = await lookup(host);
  const socket = await openNodeSocket({ port: 0, via: "udp", onDatagram: onMessage });
  const close = () => socket.close();
  if (signal.aborted) close();
  // Behind what gives the allocation back, which was added later.
  else signal.addEventListener("abort", () => setTimeout(close, 100));
  return turnOverUdp(socket, { address, port });
}

function rejectedAfter(milliseconds: number, signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`no answer within ${milliseconds / 1000} s`)),
      milliseconds,
    );
    signal.addEventListener("abort", () => clearTimeout(timer));
  });
}
