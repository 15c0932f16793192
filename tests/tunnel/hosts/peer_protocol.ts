import type {
  Endpoint,
  PeerConfiguration,
  PeerStats,
} from "../../../packages/agent-peer/wireguard/tunnel.ts";

/** The commands for the peer program. */
export type Command =
  | { readonly do: "setPeers"; readonly peers: readonly PeerConfiguration[] }
  | {
    readonly do: "ping";
    readonly to: string;
    readonly count: number;
    /** Default: the peer's own address. */
    readonly source?: string;
  }
  | { readonly do: "startPings"; readonly to: string; readonly everyMs: number }
  | { readonly do: "stopPings" }
  | { readonly do: "jump"; readonly milliseconds: number }
  /** Continues on another UDP port. */
  | { readonly do: "rebind" }
  /** Receives the newest datagrams again, as if they came from another address. */
  | { readonly do: "replay" }
  | {
    readonly do: "tryEndpoints";
    readonly publicKey: string;
    readonly endpoints: readonly Endpoint[];
  }
  | {
    readonly do: "flood";
    readonly count: number;
    readonly publicKey: string;
    readonly to: Endpoint;
  }
  | { readonly do: "state" };

/** Counts of datagrams by `<type> <address>`, and of inner packets by source address. */
export interface Counts {
  readonly sent: Record<string, number>;
  readonly received: Record<string, number>;
  readonly sources: Record<string, number>;
}

export interface State {
  readonly port: number;
  readonly stats: readonly PeerStats[];
  readonly counts: Counts;
}
