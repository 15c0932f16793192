/**
 * How the peers of a running tunnel differ from the wanted ones. A peer that stays as it is appears
 * in no change. `wg syncconf` would instead set the addresses of every peer again, and lose packets
 * meanwhile.
 */
import type { Wanted, WantedPeer } from "./accept.ts";
import type { Running, RunningPeer } from "./running.ts";

export interface Differences {
  /** Peers to remove. */
  readonly removed: readonly RunningPeer[];
  readonly added: readonly WantedPeer[];
  /** Peers whose PSK differs. It is given to `wg` by standard input, not as an argument. */
  readonly rekeyed: readonly WantedPeer[];
  /** Arguments of `wg set` for each other change of a peer that stays. */
  readonly changes: readonly (readonly string[])[];
  /** Peers whose addresses are new: they need routes. */
  readonly routed: readonly WantedPeer[];
}

export function differences(running: Running, wanted: readonly WantedPeer[]): Differences {
  const keys = new Set(wanted.map(({ publicKey }) => publicKey));
  const added = wanted.filter(({ publicKey }) => !running.peers.has(publicKey));
  const kept = wanted.flatMap((peer) => {
    const now = running.peers.get(peer.publicKey);
    return now === undefined ? [] : [{ peer, now }];
  });
  const moved = kept.filter(({ peer, now }) => !hasAddresses(now, peer)).map(({ peer }) => peer);
  return {
    removed: [...running.peers.values()].filter(({ publicKey }) => !keys.has(publicKey)),
    added,
    rekeyed: kept.flatMap(({ peer, now }) => now.presharedKey === peer.presharedKey ? [] : [peer]),
    changes: [
      ...moved.map((peer) => ["peer", peer.publicKey, "allowed-ips", allowedIps(peer).join(",")]),
      ...kept.flatMap(({ peer: { publicKey, keepalive }, now }) =>
        now.keepalive === keepalive
          ? []
          : [["peer", publicKey, "persistent-keepalive", String(keepalive)]]
      ),
    ],
    routed: [...added, ...moved],
  };
}

/** WireGuard keeps no order of addresses. */
function hasAddresses({ allowedIps: now }: RunningPeer, peer: WantedPeer): boolean {
  const ips = allowedIps(peer);
  return now.length === ips.length && ips.every((ip) => now.includes(ip));
}

export function isNothing({ removed, added, rekeyed, changes }: Differences): boolean {
  return removed.length + added.length + rekeyed.length + changes.length === 0;
}

export function allowedIps({ ipv4, ipv6 }: Pick<WantedPeer, "ipv4" | "ipv6">): string[] {
  return [`${ipv4}/32`, `${ipv6}/128`];
}

/**
 * The sections of new peers, for `wg addconf`. `endpointOf` gives the address to send to. A section
 * is applied as a whole, so the first handshake goes to that address.
 */
export function sectionsOf(
  peers: readonly WantedPeer[],
  endpointOf: (peer: WantedPeer) => string | null,
): string {
  return peers.map((peer) => {
    const endpoint = endpointOf(peer);
    return [
      "[Peer]",
      `PublicKey = ${peer.publicKey}`,
      `PresharedKey = ${peer.presharedKey}`,
      `AllowedIPs = ${allowedIps(peer).join(", ")}`,
      ...(endpoint === null ? [] : [`Endpoint = ${endpoint}`]),
      ...(peer.keepalive === 0 ? [] : [`PersistentKeepalive = ${peer.keepalive}`]),
      "",
    ].join("\n");
  }).join("\n");
}

/** The peers that are new in a configuration. */
export function addedTo(before: Wanted | null, wanted: Wanted): WantedPeer[] {
  const known = new Set(before?.peers.map(({ publicKey }) => publicKey));
  return wanted.peers.filter(({ publicKey }) => !known.has(publicKey));
}

/** The peers that have registered another endpoint. */
export function movedSince(before: Wanted | null, wanted: Wanted): WantedPeer[] {
  const known = new Map(before?.peers.map((peer) => [peer.publicKey, peer.endpoint]));
  return wanted.peers.filter(({ publicKey, endpoint }) =>
    known.has(publicKey) && JSON.stringify(known.get(publicKey)) !== JSON.stringify(endpoint)
  );
}
