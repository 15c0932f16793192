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
 * Whether to send to a peer at `from` from now on, because an authentic message of the peer came
 * from there. Called only if `from` is not the peer's current endpoint.
 */
export type MayMove = (publicKey: string, move: Move) => boolean;

export interface Move {
  readonly from: Endpoint;
  readonly current: Endpoint;
  /** A response answers an initiation that was sent there, so the path works in both directions. */
  readonly message: "initiation" | "response" | "data";
  /** Whether the session of the message is newer than anything that was heard from `current`. */
  readonly isNewer: boolean;
  /** For how many milliseconds nothing was heard from `current`. */
  readonly silentFor: number;
}

/** The indices by which the other side refers to our handshakes and sessions. */
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
