import type { PeerStats, Surroundings } from "../../wireguard/tunnel.ts";
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

/** WireGuard's own limit: it does not use older sessions. */
const SESSION = 180_000;

/** Whether a peer was heard from, in a session that is still used. */
export function isUp({ endpoint, handshakeAt }: PeerStats, surroundings: Surroundings): boolean {
  return endpoint !== null && handshakeAt !== null && surroundings.now() - handshakeAt < SESSION;
}

export function reportOf(
  stats: PeerStats,
  { surroundings, ranks }: { readonly surroundings: Surroundings; readonly ranks: Ranks },
): PathReport {
  const { publicKey, endpoint, handshakeAt } = stats;
  const kind = endpoint !== null && ranks.rankOf(endpoint) === 0 ? "direct" : "relay";
  const age = handshakeAt === null ? null : surroundings.now() - handshakeAt;
  return {
    publicKey,
    via: isUp(stats, surroundings) ? kind : "none",
    endpoint: endpoint && formatEndpoint(endpoint),
    handshakeAgeSeconds: age === null ? null : Math.floor(age / 1000),
  };
}
