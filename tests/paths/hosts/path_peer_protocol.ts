import type {
  PathPeer,
  PathReport,
  RelayAnswer,
} from "../../../packages/agent-peer/paths/paths.ts";

/** The commands for the program of a peer with paths. */
export type Command =
  | {
    readonly do: "open";
    readonly relay: RelayAnswer | null;
    readonly proxy: string | null;
    readonly ca: string;
  }
  /** Sets the answer of /relay from now on. */
  | { readonly do: "setRelay"; readonly relay: RelayAnswer | null }
  | { readonly do: "setPeers"; readonly peers: readonly PathPeer[] }
  /** Sends one ping. */
  | { readonly do: "ping"; readonly to: string }
  | { readonly do: "startPings"; readonly to: string; readonly everyMs: number }
  | { readonly do: "stopPings" }
  | { readonly do: "state" };

export interface PathState {
  readonly endpoints: readonly string[];
  readonly reports: readonly PathReport[];
  /** How often the peer has called /relay. */
  readonly relayRequests: number;
  /** How many pings `startPings` has sent. */
  readonly pings: number;
  /** By inner address: milliseconds from setting a peer until its first answer. */
  readonly firstAnswers: Readonly<Record<string, number>>;
}
