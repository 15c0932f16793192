import type { UdpSocket } from "../../wireguard/sockets/udp_socket.ts";
import type { Endpoint, Surroundings } from "../../wireguard/surroundings.ts";

/** A peer, or those of whom it is not known yet who they are. */
export interface Port {
  socket: UdpSocket | null;
  /** The best first. */
  ways: readonly Endpoint[];
  /** In use. */
  way: Endpoint | null;
  /** By the clock of the surroundings; null: there was none. */
  handshakeAt: number | null;
  receivedBytes: number;
  sentBytes: number;
}

/** What two indices belong to, one given by each side. */
export interface Session {
  port: Port;
  /** Where the peer is. Null until the kernel has sent to it. */
  endpoint: Endpoint | null;
  /** The kernel's index that it claims to answer, until the kernel has sent to it. */
  answers: number | null;
  /** How many claimed to answer. */
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
    ways: [],
    way: null,
    handshakeAt: null,
    receivedBytes: 0,
    sentBytes: 0,
  };
}

/** In milliseconds. WireGuard uses a session for 180 s, and has a new one before that. */
const LIFETIME = 300_000;

/** Strangers may send initiations, each with another index. */
const MOST = 4096;

/** What is known of the indices of WireGuard's sessions, until they are used no more. */
export class IndexTable {
  readonly #surroundings: Surroundings;
  /** The one that was used last is the last one. */
  readonly #entries = new Map<number, { readonly session: Session; readonly usedAt: number }>();

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Keeps it from being forgotten, too. */
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
