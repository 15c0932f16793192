import { type Endpoint, isSameEndpoint } from "../surroundings.ts";
import type { MayMove } from "./context.ts";

/** As `wg show` has it. */
export interface PeerStats {
  /** As `wg` writes it. */
  readonly publicKey: string;
  /** Where the peer was last heard from; null if it was not. */
  readonly endpoint: Endpoint | null;
  /** Milliseconds since 1970. */
  readonly lastHandshakeAt: number | null;
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

  /** An authentic message arrived. */
  heard(
    from: Endpoint,
    { size, isHandshake }: {
      readonly size: number;
      readonly isHandshake: boolean;
    },
  ): void {
    this.#receivedBytes += size;
    const current = this.#endpoint;
    if (isSameEndpoint(current, from)) return;
    if (
      current === null ||
      this.#mayMove(this.#publicKey, { from, current, isHandshake })
    ) {
      this.#endpoint = from;
    }
  }

  stats(): Omit<PeerStats, "lastHandshakeAt"> {
    return {
      publicKey: this.#publicKey,
      endpoint: this.#endpoint,
      receivedBytes: this.#receivedBytes,
      sentBytes: this.#sentBytes,
    };
  }
}
