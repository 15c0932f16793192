import type { PeerConfiguration } from "../../../packages/agent-peer/wireguard/tunnel.ts";

/** The port where every TCP program listens. */
export const PORT = 7000;

/** The first line of a connection: what the other side must do. */
export type ServiceRequest =
  | ({ readonly do: "exchange" } & Exchange)
  /** Sends everything back until the end. */
  | { readonly do: "echo" }
  /** Reads this many bytes and then resets the connection. */
  | { readonly do: "reset"; readonly after: number };

export interface Exchange {
  /** The number of bytes to the service. `down`: the number of bytes from it. */
  readonly up: number;
  readonly down: number;
  readonly seed: number;
  /** Whether the service waits for the end of the other direction before it sends. Default: no. */
  readonly isHalfClosed?: boolean;
  /** Whether the service waits for `release` before it reads. */
  readonly isStalled?: boolean;
  /** Skips digests, for measurements: only the lengths are compared. */
  readonly isUnchecked?: boolean;
}

export interface Target {
  readonly to: string;
  /** Default: the port where programs listen. */
  readonly port?: number;
}

/** The commands for a TCP program. */
export type Command =
  | { readonly do: "setPeers"; readonly peers: readonly PeerConfiguration[] }
  | ({ readonly do: "exchange" } & Exchange & Target)
  /** Begins an exchange. Answers when the other side takes no more bytes, or has taken all. */
  | ({ readonly do: "beginExchange" } & Exchange & Target)
  | { readonly do: "finishExchange" }
  /**
   * Receives from several hosts at once for this long. Answers with the bits per second from each.
   */
  | { readonly do: "stream"; readonly seconds: number; readonly from: readonly string[] }
  | ({ readonly do: "echo"; readonly count: number; readonly bytes: number } & Target)
  | ({ readonly do: "crowd"; readonly count: number; readonly bytes: number } & Target)
  /** Connects, then resets the connection or waits for a reset. Answers with the error's code. */
  | ({ readonly do: "breakOff"; readonly by: "self" | "peer" } & Target)
  | ({ readonly do: "connect" } & Target)
  | { readonly do: "release" }
  | { readonly do: "state" };

export interface Exchanged {
  readonly milliseconds: number;
  /** Whether the right bytes arrived, for each direction. */
  readonly isUpRight: boolean;
  readonly isDownRight: boolean;
}

export interface State {
  /** The port of the tunnel's socket. */
  readonly port: number;
  /** How the served connections have ended: "end", or an error's code. */
  readonly endings: Record<string, number>;
  readonly open: number;
}
