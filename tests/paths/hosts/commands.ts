import type {
  PathPeer,
  PathReport,
  RelayAnswer,
} from "../../../clients/typescript/src/paths/paths.ts";

/** What the program of a peer with paths is told. */
export type Command =
  | {
    readonly do: "open";
    readonly relay: RelayAnswer | null;
    readonly proxy: string | null;
    readonly ca: string;
  }
  /** What /relay answers from now on. */
  | { readonly do: "setRelay"; readonly relay: RelayAnswer | null }
  | { readonly do: "setPeers"; readonly peers: readonly PathPeer[] }
  /** One ping. */
  | { readonly do: "ping"; readonly to: string }
  | { readonly do: "startPings"; readonly to: string; readonly everyMs: number }
  | { readonly do: "stopPings" }
  | { readonly do: "state" };

export interface PathState {
  readonly endpoints: readonly string[];
  readonly reports: readonly PathReport[];
  /** How often /relay was asked. */
  readonly relayRequests: number;
  /** How many pings `startPings` has sent. */
  readonly pings: number;
  /** By inner address: milliseconds from when a peer was set until it first answered. */
  readonly firstAnswers: Readonly<Record<string, number>>;
}
