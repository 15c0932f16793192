import type { Endpoint, MayMove } from "../../wireguard/tunnel.ts";

/** The `via` of endpoints that the UDP socket reaches. Those of relays have other names. */
export const DIRECT = "udp";

/** How good a way is: its number of relays. */
export type Rank = 0 | 1 | 2;

/**
 * In milliseconds, for the lower and for the greater public key of a pair. Were they equal, two
 * sides that use different ways could follow each other for ever.
 */
const SILENCE = { lower: 300, greater: 1000 };

/** Which ways are better than others, and when a peer moves from one to another. */
export class Ranks {
  /** IP addresses of relays: who sends from there, or is reached there, uses one. */
  relayAddresses: ReadonlySet<string> = new Set();
  /** What the endpoints of the newest relay are called. Older ones are about to end. */
  newestRelay: string | null = null;
  /** This side's own. */
  publicKey = "";

  rankOf({ address, via }: Endpoint): Rank {
    const isRelayed = this.relayAddresses.has(address);
    return (Number(via !== DIRECT) + Number(isRelayed)) as Rank;
  }

  /**
   * To a better way: when something came back on it, so that nothing is lost if it works in one
   * direction alone. To one that is as good: when the peer is heard there, and for a moment not on
   * the way in use. To a worse one: when that is where the peer has begun a new session, not for a
   * packet that was under way there.
   */
  readonly mayMove: MayMove = (peer, { from, current, message, isNewer, silentFor }) => {
    if (message === "response") return true;
    const difference = this.#costOf(from) - this.#costOf(current);
    const silence = this.publicKey < peer ? SILENCE.lower : SILENCE.greater;
    if (difference === 0) return silentFor >= silence;
    if (message === "initiation") return false;
    return difference < 0 || isNewer;
  };

  #costOf(endpoint: Endpoint): number {
    const isOlder = endpoint.via !== DIRECT && endpoint.via !== this.newestRelay;
    return this.rankOf(endpoint) + (isOlder ? 0.5 : 0);
  }
}
