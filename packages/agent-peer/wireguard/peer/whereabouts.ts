import { type Endpoint, isSameEndpoint } from "../surroundings.ts";
import type { MayMove, Move } from "./context.ts";

/** The figures of a peer. All except `unansweredFor` and `silentFor` are in `wg show`, too. */
export interface PeerStats {
  /** In the form that `wg` writes. */
  readonly publicKey: string;
  /** Where the peer was last heard from; null if it was never heard. */
  readonly endpoint: Endpoint | null;
  /** When the newest handshake ended, by the clock of the surroundings; null if none did. */
  readonly handshakeAt: number | null;
  /**
   * For how many milliseconds nothing has come back for packets that were sent; null if it has. A
   * peer that has nothing to send is silent for 10 s.
   */
  readonly unansweredFor: number | null;
  /** For how many milliseconds nothing authentic has come; null if nothing ever has. */
  readonly silentFor: number | null;
  /** The bytes of authentic datagrams that were received, and of all datagrams that were sent. */
  readonly receivedBytes: number;
  readonly sentBytes: number;
}

/** A peer's endpoint, and how many bytes were sent to it and received from it. */
export class Whereabouts {
  readonly #publicKey: string;
  readonly #mayMove: MayMove;
  /** The endpoint in use, from which an authentic message of the peer came. */
  #endpoint: Endpoint | null = null;
  /** When the newest authentic message came from there. */
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

  /** The endpoint in use first, then the other candidates. */
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

  stats(): Omit<PeerStats, "handshakeAt" | "unansweredFor" | "silentFor"> {
    return {
      publicKey: this.#publicKey,
      endpoint: this.#endpoint,
      receivedBytes: this.#receivedBytes,
      sentBytes: this.#sentBytes,
    };
  }
}
