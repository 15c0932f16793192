import type {
  Endpoint,
  PeerConfiguration,
  PeerStats,
} from "../../../clients/typescript/src/wireguard/tunnel.ts";

/** What the peer program is told. */
export type Command =
  | { readonly do: "setPeers"; readonly peers: readonly PeerConfiguration[] }
  | {
    readonly do: "ping";
    readonly to: string;
    readonly count: number;
    /** Default: its own address. */
    readonly source?: string;
  }
  | { readonly do: "startPings"; readonly to: string; readonly everyMs: number }
  | { readonly do: "stopPings" }
  | { readonly do: "jump"; readonly milliseconds: number }
  /** Goes on from another UDP port. */
  | { readonly do: "rebind" }
  /** Takes in the newest datagrams once more, as if they came from elsewhere. */
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

/** Datagrams by `<type> <address>`, and inner packets by their source. */
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
