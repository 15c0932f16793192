import { type Endpoint, isSameEndpoint } from "../surroundings.ts";
import type { MayMove, Move } from "./context.ts";

/** As `wg show` has it. */
export interface PeerStats {
  /** As `wg` writes it. */
  readonly publicKey: string;
  /** Where the peer was last heard from; null if it was not. */
  readonly endpoint: Endpoint | null;
  /** When the newest handshake ended, by the clock of the surroundings; null: none did. */
  readonly handshakeAt: number | null;
  /**
   * For how many milliseconds nothing came back for packets that were sent; null: it did. A peer
   * that has nothing to say is silent for 10 s.
   */
  readonly unansweredFor: number | null;
  /** Of datagrams that were authentic, and of all that were sent. */
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

/** Where a peer is, and how many bytes went to it and came from it. */
export class Whereabouts {
  readonly #publicKey: string;
  readonly #mayMove: MayMove;
  /** Where an authentic message of the peer came from. */
  #endpoint: Endpoint | null = null;
  /** When the newest one came from there. */
  #heardAt = -Infinity;
  #candidates: readonly Endpoint[] = [];
  #receivedBytes = 0;
  #sentBytes = 0;

  constructor(publicKey: string, mayMove: MayMove) {
    this.#publicKey = publicKey;
    this.#mayMove = mayMove;
  }

  get endpoint(): Endpoint | null {
    return this.#endpoint;
  }

  /** The endpoint first, then where else the peer may be. */
  get everywhere(): readonly Endpoint[] {
    const endpoint = this.#endpoint;
    if (endpoint === null) return this.#candidates;
    return [
      endpoint,
      ...this.#candidates.filter((one) => !isSameEndpoint(one, endpoint)),
    ];
  }

  setCandidates(candidates: readonly Endpoint[]): void {
    this.#candidates = candidates;
  }

  sent(bytes: number): void {
    this.#sentBytes += bytes;
  }

  /** An authentic message arrived at `now`, of a session that began at `sessionAt`. */
  heard(
    from: Endpoint,
    { size, message, now, sessionAt }: {
      readonly size: number;
      readonly message: Move["message"];
      readonly now: number;
      readonly sessionAt: number;
    },
  ): void {
    this.#receivedBytes += size;
    const current = this.#endpoint;
    const isNewer = sessionAt > this.#heardAt;
    const silentFor = now - this.#heardAt;
    if (
      current === null || isSameEndpoint(current, from) ||
      this.#mayMove(this.#publicKey, { from, current, message, isNewer, silentFor })
    ) {
      this.#endpoint = from;
      this.#heardAt = now;
    }
  }

  stats(): Omit<PeerStats, "handshakeAt" | "unansweredFor"> {
    return {
      publicKey: this.#publicKey,
      endpoint: this.#endpoint,
      receivedBytes: this.#receivedBytes,
      sentBytes: this.#sentBytes,
    };
  }
}
