/** What `mesh probe` finds out, before it says what is wrong. Null: not known, or not tried. */

import type { HostProblem } from "../../../agent-peer/paths/describe_path.ts";

/** Who can mend it. */
export type Turn = "own" | "peer" | "operator" | "nobody";

export interface ProbeFacts {
  /** This agent, and the one to reach, by their identifiers. */
  readonly own: string;
  readonly peer: string;
  readonly port: number;
  readonly proto: "tcp" | "udp";
  /** How far this host's clock is ahead of the service's, in seconds. */
  readonly clockSeconds: number | null;
  readonly isRegistered: boolean;
  /** The rule: active, or waiting for an agent, or missing. */
  readonly rule: "active" | { readonly waitingFor: string } | null;
  /** The ports of the peer that active rules let this agent reach, as `443/tcp`. */
  readonly otherPorts: readonly string[];
  /** Null while the peer is not visible. */
  readonly isOnline: boolean | null;
  /** Why there may be no path, as far as both sides' endpoints tell. */
  readonly pathReason: string | null;
  /** The tunnel of this host; null if it has no tunnel, or this process may not look at it. */
  readonly tunnel: TunnelFacts | null;
  /** What the proxy of `mesh join` answered; null if none was named. */
  readonly proxy: ProxyAnswer | null;
  /** Why a side's host has no tunnel, as its newest heartbeat said; null: no problem. */
  readonly problems: { readonly own: HostProblem | null; readonly peer: HostProblem | null };
  /** Whether the last report of a side says that the tunnel works. */
  readonly reports: { readonly own: boolean | null; readonly peer: boolean | null };
}

/** `failed`: for another reason, such as a tunnel that ends meanwhile. */
export type ProxyAnswer =
  | "open"
  | "refused"
  | "timeout"
  | "denied"
  | "unknown_peer"
  | "failed"
  | "token_refused"
  | "no_proxy";

export interface TunnelFacts {
  readonly interfaceName: string;
  /** Whether the interface runs the key that this agent has registered. */
  readonly hasRegisteredKey: boolean;
  /** Whether the interface knows the peer by its registered key. */
  readonly hasPeer: boolean;
  /** Whether the PSK that runs is the one that the service gives to both. */
  readonly hasSamePsk: boolean;
  readonly handshakeAgeSeconds: number | null;
  /** What has come from a peer that does not answer: nothing, beginnings of handshakes, or more. */
  readonly received: "nothing" | "initiations" | "packets";
  readonly smallPing: boolean | null;
  /** A ping of 1,280 bytes. */
  readonly largePing: boolean | null;
  readonly connect: "open" | "refused" | "timeout" | null;
}
