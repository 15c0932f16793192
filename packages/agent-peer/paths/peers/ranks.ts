import type { Endpoint, MayMove } from "../../wireguard/tunnel.ts";

/** The `via` of endpoints that the UDP socket reaches. Those of relays have other names. */
export const DIRECT = "udp";

/** The rank of a path: its number of relays. Fewer are better. */
export type Rank = 0 | 1 | 2;

/**
 * How long the path in use must be silent before a move to an equally good one, in milliseconds,
 * for the lower and the greater public key of a pair. If both were equal, two sides on different
 * paths could follow each other for ever.
 */
const SILENCE = { lower: 300, greater: 1000 };

/** Which paths are better than others, and when a peer moves from one to another. */
export class Ranks {
  /** IP addresses of relays. An endpoint at one of these is reached through a relay. */
  relayAddresses: ReadonlySet<string> = new Set();
  /** The `via` of the newest relay. Older relays are about to end. */
  newestRelay: string | null = null;
  /** This side's public key. */
  publicKey = "";

  rankOf({ address, via }: Endpoint): Rank {
    const isRelayed = this.relayAddresses.has(address);
    return (Number(via !== DIRECT) + Number(isRelayed)) as Rank;
  }

  /**
   * Whether a peer moves to the path on which it was heard. To a better path: when an answer came
   * back on it, so that nothing is lost if it works in only one direction. To an equally good path:
   * when the path in use has been silent for a moment. To a worse path: when the peer has begun a
   * new session there, but not for a delayed packet.
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
