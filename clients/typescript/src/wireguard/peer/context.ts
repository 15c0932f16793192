import type { Keypair } from "../crypto/x25519.ts";
import type { Timestamps } from "../handshake/timestamp.ts";
import type { Session } from "../session/session.ts";
import type { Endpoint, Surroundings } from "../surroundings.ts";

/** What all peers of a tunnel share. */
export interface PeerContext {
  readonly own: Keypair;
  readonly surroundings: Surroundings;
  readonly timestamps: Timestamps;
  readonly send: (datagram: Uint8Array, to: Endpoint) => void;
  readonly mayMove: MayMove;
  readonly wakeBy: (at: number) => void;
}

/**
 * Whether a peer is from now on reached at `from`, where an authentic message of it came from. Is
 * asked when that is not where the peer is reached now.
 */
export type MayMove = (publicKey: string, move: Move) => boolean;

export interface Move {
  readonly from: Endpoint;
  readonly current: Endpoint;
  /** A response answers an initiation that was sent there: the way works in both directions. */
  readonly message: "initiation" | "response" | "data";
  /** Whether the session of the message is newer than anything that was heard from `current`. */
  readonly isNewer: boolean;
  /** For how many milliseconds nothing was heard from `current`. */
  readonly silentFor: number;
}

/** Numbers by which the other side names our handshakes and sessions. */
export interface Indices {
  claim(): number;
  assign(index: number, session: Session): void;
  release(index: number): void;
}

/** A message, the size of its datagram, and where that came from. */
export interface Arrived<Message> {
  readonly message: Message;
  readonly size: number;
  readonly from: Endpoint;
}
