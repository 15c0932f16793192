import type { Endpoint, MayMove } from "../../wireguard/tunnel.ts";

/** What the endpoints of the own UDP socket are called. Those of relays have other names. */
export const DIRECT = "udp";

/** How good a way is: its number of relays. */
export type Rank = 0 | 1 | 2;

/** Which ways are better than others, and when a peer moves from one to another. */
export class Ranks {
  /** IP addresses of relays: who sends from there, or is reached there, uses one. */
  relayAddresses: ReadonlySet<string> = new Set();

  rankOf({ address, via }: Endpoint): Rank {
    const isRelayed = this.relayAddresses.has(address);
    return (Number(via !== DIRECT) + Number(isRelayed)) as Rank;
  }

  /**
   * To a way that is as good: whenever the peer is heard there, as WireGuard does. To a better one:
   * when something came back on it, so that nothing is lost if it works in one direction alone. To
   * a worse one: when that is where the peer has begun a new session, not for a packet that was
   * under way there.
   */
  readonly mayMove: MayMove = (_peer, { from, current, message, isNewer }) => {
    if (message === "response") return true;
    const difference = this.rankOf(from) - this.rankOf(current);
    if (difference === 0) return true;
    if (message === "initiation") return false;
    return difference < 0 || isNewer;
  };
}
