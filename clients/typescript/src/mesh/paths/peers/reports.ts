import type { PeerStats } from "../../wireguard/tunnel.ts";
import { formatEndpoint } from "../places/address_kinds.ts";
import type { Ranks } from "./ranks.ts";

export interface PathReport {
  readonly publicKey: string;
  /** `none`: there is no session. */
  readonly via: "direct" | "relay" | "none";
  /** `<host>:<port>` where the peer was last heard from. */
  readonly endpoint: string | null;
  readonly handshakeAgeSeconds: number | null;
}

/** WireGuard's own limit: a session that is older is used no more. */
const SESSION = 180_000;

/** Whether a peer was heard from, in a session that is still used. */
export function isUp({ endpoint, handshakeAge }: PeerStats): boolean {
  return endpoint !== null && handshakeAge !== null && handshakeAge < SESSION;
}

export function reportOf(stats: PeerStats, ranks: Ranks): PathReport {
  const { publicKey, endpoint, handshakeAge } = stats;
  const kind = endpoint !== null && ranks.rankOf(endpoint) === 0 ? "direct" : "relay";
  return {
    publicKey,
    via: isUp(stats) ? kind : "none",
    endpoint: endpoint && formatEndpoint(endpoint),
    handshakeAgeSeconds: handshakeAge === null ? null : Math.floor(handshakeAge / 1000),
  };
}
