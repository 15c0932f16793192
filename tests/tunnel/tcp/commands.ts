import type { PeerConfiguration } from "../../../clients/typescript/src/wireguard/tunnel.ts";

/** Where every TCP program listens. */
export const PORT = 7000;

/** The first line of a connection: what its other side is to do. */
export type ServiceRequest =
  | ({ readonly do: "exchange" } & Exchange)
  /** Sends everything back, until the end. */
  | { readonly do: "echo" }
  /** Reads this many bytes, and resets. */
  | { readonly do: "reset"; readonly after: number };

export interface Exchange {
  /** Bytes to the service, and from it. */
  readonly up: number;
  readonly down: number;
  readonly seed: number;
  /** Whether the service begins to send when the other direction has ended. Default: at once. */
  readonly isHalfClosed?: boolean;
  /** Whether the service waits for `release` before it reads. */
  readonly isStalled?: boolean;
  /** Without digests, for measurements: only the lengths are compared. */
  readonly isUnchecked?: boolean;
}

export interface Target {
  readonly to: string;
  /** Default: where programs listen. */
  readonly port?: number;
}

/** What a TCP program is told. */
export type Command =
  | { readonly do: "setPeers"; readonly peers: readonly PeerConfiguration[] }
  | ({ readonly do: "exchange" } & Exchange & Target)
  /** Begins an exchange, and answers when the other side takes no more, or everything was taken. */
  | ({ readonly do: "beginExchange" } & Exchange & Target)
  | { readonly do: "finishExchange" }
  /** Receives from several hosts at once for this long: bits a second from each. */
  | { readonly do: "stream"; readonly seconds: number; readonly from: readonly string[] }
  | ({ readonly do: "echo"; readonly count: number; readonly bytes: number } & Target)
  | ({ readonly do: "crowd"; readonly count: number; readonly bytes: number } & Target)
  /** Connects and resets at once, or is reset. Answers with the error's code. */
  | ({ readonly do: "breakOff"; readonly by: "self" | "peer" } & Target)
  | ({ readonly do: "connect" } & Target)
  | { readonly do: "release" }
  | { readonly do: "state" };

export interface Exchanged {
  readonly milliseconds: number;
  /** Whether the bytes were the right ones, on both sides. */
  readonly isUpRight: boolean;
  readonly isDownRight: boolean;
}

export interface State {
  /** Of the tunnel's socket. */
  readonly port: number;
  /** How the connections that this program served have ended: "end", or an error's code. */
  readonly endings: Record<string, number>;
  readonly open: number;
}
