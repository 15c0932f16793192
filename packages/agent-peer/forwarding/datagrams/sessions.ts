import type { UdpSocket } from "../../wireguard/sockets/udp_socket.ts";
import type { Endpoint, Surroundings } from "../../wireguard/surroundings.ts";

/** The local port of one peer, or of all peers that are not identified yet. */
export interface Port {
  socket: UdpSocket | null;
  /** The socket of `openStranger` for this peer. */
  stranger: UdpSocket | null;
  /** The candidate endpoints, the best first. */
  ways: readonly Endpoint[];
  /** The endpoint in use. */
  way: Endpoint | null;
  /** The last handshake, by the clock of the surroundings; null if there was none. */
  handshakeAt: number | null;
  receivedBytes: number;
  sentBytes: number;
  /** The kernel's own endpoint of the peer; null if it is unknown or must not be tried again. */
  own: Endpoint | null;
  /** How many more data packets of the kernel are also sent to `own`. */
  copies: number;
  /** Whether a data packet of the peer has come from `own` to the stranger. */
  isOpen: boolean;
  /** The last punch, by the clock of the surroundings. */
  punchedAt: number;
  /** The kernel's newest initiation, until the peer responds. */
  initiation: Initiation | null;
}

/** The state of an initiation, for Initiations. */
export interface Initiation {
  readonly datagram: Uint8Array;
  /** The index that the kernel chose. */
  readonly index: number;
  /** When the initiation was first sent; null if there was no path yet. */
  triedSince: number | null;
  /** Null unless the initiation waits for its turn by relays. */
  stopWaiting: (() => void) | null;
}

/** A WireGuard session. It has two indices, one chosen by each side. */
export interface Session {
  port: Port;
  /** The peer's endpoint. Null for the kernel's initiation, until a response is confirmed. */
  endpoint: Endpoint | null;
  /**
   * The kernel's index that a response claims to answer. Null once the kernel has sent to the
   * session.
   */
  answers: number | null;
  /** How many responses claimed to answer this initiation. */
  answered: number;
}

export function newSession(
  port: Port,
  endpoint: Endpoint | null = null,
  answers: number | null = null,
): Session {
  return { port, endpoint, answers, answered: 0 };
}

export function newPort(): Port {
  return {
    socket: null,
    stranger: null,
    ways: [],
    way: null,
    handshakeAt: null,
    receivedBytes: 0,
    sentBytes: 0,
    own: null,
    copies: 0,
    isOpen: false,
    punchedAt: -Infinity,
    initiation: null,
  };
}

/** In milliseconds. WireGuard uses a session for at most 180 s. */
const LIFETIME = 300_000;

/** A limit, because strangers may send initiations, each with another index. */
const MOST = 4096;

/** WireGuard's sessions by their indices. Forgets sessions that are not used any more. */
export class IndexTable {
  readonly #surroundings: Surroundings;
  /** In the order of their last use, the most recent last. */
  readonly #entries = new Map<number, { readonly session: Session; readonly usedAt: number }>();

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Counts as a use of the session. */
  get(index: number): Session | undefined {
    const entry = this.#entries.get(index);
    if (entry === undefined) return undefined;
    this.set(index, entry.session);
    return entry.session;
  }

  set(index: number, session: Session): void {
    const now = this.#surroundings.now();
    this.#entries.delete(index);
    this.#entries.set(index, { session, usedAt: now });
    for (const [oldest, { usedAt }] of this.#entries) {
      if (this.#entries.size <= MOST && now - usedAt < LIFETIME) break;
      this.#entries.delete(oldest);
    }
  }

  forEach(action: (session: Session) => void): void {
    for (const { session } of this.#entries.values()) action(session);
  }

  forget(isForgotten: (session: Session) => boolean): void {
    for (const [index, { session }] of this.#entries) {
      if (isForgotten(session)) this.#entries.delete(index);
    }
  }
}
