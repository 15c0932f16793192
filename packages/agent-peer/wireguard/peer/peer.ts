import type { Pair } from "../handshake/initiator.ts";
import {
  KEEPALIVE_TIMEOUT,
  REJECT_AFTER_TIME,
  REKEY_AFTER_MESSAGES,
  REKEY_AFTER_TIME,
  REKEY_TIMEOUT,
} from "../handshake/limits.ts";
import type { CookieReply, Data, Initiation, Response } from "../handshake/messages.ts";
import type { ReceivedInitiation } from "../handshake/responder.ts";
import { formatKey } from "../key.ts";
import { Keypairs } from "../session/keypairs.ts";
import type { Session } from "../session/session.ts";
import type { Endpoint } from "../surroundings.ts";
import type { Arrived, Indices, Move, PeerContext } from "./context.ts";
import { PeerHandshakes } from "./handshakes.ts";
import { PacketQueue } from "./queue.ts";
import { PeerTimers } from "./timers.ts";
import { type PeerStats, Whereabouts } from "./whereabouts.ts";

const KEEPALIVE = new Uint8Array();

/** One peer: its sessions, handshakes and timers, and where it is. */
export class Peer {
  readonly publicKey: string;
  readonly handshakes: PeerHandshakes;
  readonly timers: PeerTimers;
  /** The IP packet to send as the persistent keepalive; null: an empty one. */
  ping: Uint8Array | null = null;
  readonly #context: PeerContext;
  readonly #keypairs: Keypairs;
  readonly #queue = new PacketQueue();
  readonly #where: Whereabouts;
  #hasAskedInLastMinute = false;
  #handshakeAt: number | null = null;

  constructor(
    context: PeerContext,
    { pair, indices, latestTimestamp }: {
      readonly pair: Pair;
      readonly indices: Indices;
      readonly latestTimestamp: Uint8Array;
    },
  ) {
    this.#context = context;
    this.publicKey = formatKey(pair.peerPublicKey);
    this.#where = new Whereabouts(this.publicKey, context.mayMove);
    this.handshakes = new PeerHandshakes(context, {
      pair,
      indices,
      latestTimestamp,
    });
    this.#keypairs = new Keypairs(({ localIndex }) => indices.release(localIndex));
    this.timers = new PeerTimers(context, {
      sendKeepalive: () => this.#sendKeepalive(),
      sendPersistentKeepalive: () => this.#sendPersistentKeepalive(),
      beginHandshake: ({ isRetry }) => this.beginHandshake({ isRetry, to: this.#where.everywhere }),
      giveUp: () => void this.#queue.takeAll(),
      forgetKeys: () => this.#forgetKeys(),
    });
  }

  /** Sets where initiations go besides the endpoint that the peer was last heard from. */
  setCandidates(candidates: readonly Endpoint[]): void {
    this.#where.setCandidates(candidates);
  }

  send(packet: Uint8Array): void {
    const session = this.#keypairs.current;
    if (session === null || !session.isUsable(this.#now)) {
      this.#queue.add(packet);
      this.beginHandshake({ to: this.#where.everywhere });
      return;
    }
    this.#sendBy(session, packet);
    this.timers.dataSent();
  }

  /** Sends an initiation to all of `to`. The first that answers becomes the peer's endpoint. */
  beginHandshake(
    { isRetry = false, isUrgent = isRetry, to }: {
      readonly isRetry?: boolean;
      readonly isUrgent?: boolean;
      readonly to: readonly Endpoint[];
    },
  ): void {
    const message = this.handshakes.begin({ isUrgent });
    if (message === null) return;
    for (const endpoint of to) this.#sendDatagram(message, endpoint);
    this.timers.initiationSent({ isRetry });
  }

  tryEndpoints(endpoints: readonly Endpoint[]): void {
    if (!this.#keypairs.current?.isUsable(this.#now)) {
      return this.beginHandshake({ isUrgent: true, to: endpoints });
    }
    const message = this.handshakes.begin({ isUrgent: true });
    if (message === null) return;
    for (const endpoint of endpoints) this.#sendDatagram(message, endpoint);
  }

  receiveInitiation(
    received: ReceivedInitiation,
    { message, size, from }: Arrived<Initiation>,
  ): void {
    const answer = this.handshakes.answer(received, message);
    if (answer === null) return;
    this.#heard(from, { size, message: "initiation", session: answer.session });
    this.#keypairs.add(answer.session);
    this.timers.sessionBegun();
    // Send it to where the initiation came from. If `mayMove` has refused that endpoint, the peer's
    // endpoint is still another one.
    this.#sendDatagram(answer.message, from);
    this.timers.authenticSent();
  }

  receiveResponse({ message, size, from }: Arrived<Response>): void {
    const session = this.handshakes.finish(message);
    if (session === null) return;
    this.#heard(from, { size, message: "response", session });
    this.#keypairs.add(session);
    this.timers.sessionBegun();
    this.#completeHandshake();
    if (this.#queue.length === 0) this.#sendKeepalive();
    else this.#sendQueue();
  }

  receiveCookie({ message }: Arrived<CookieReply>): void {
    this.handshakes.takeCookie(message);
  }

  /** Returns the IP packet inside, followed by padding; null for a keepalive and for forgeries. */
  receiveData(
    session: Session,
    { message, size, from }: Arrived<Data>,
  ): Uint8Array | null {
    if (!session.isUsable(this.#now)) return null;
    const plaintext = session.open(message);
    if (plaintext === null) return null;
    this.#heard(from, { size, message: "data", session });
    if (this.#keypairs.confirm(session)) {
      this.#completeHandshake();
      this.#sendQueue();
    }
    this.#keepFreshWhileReceiving();
    if (plaintext.length === 0) return null;
    this.timers.dataReceived();
    return plaintext;
  }

  stats(): PeerStats {
    const { unansweredFor, silentFor } = this.timers;
    return { ...this.#where.stats(), handshakeAt: this.#handshakeAt, unansweredFor, silentFor };
  }

  destroy(): void {
    this.timers.destroy();
    this.#queue.takeAll();
    this.#keypairs.clear();
    this.handshakes.destroy();
  }

  get #now(): number {
    return this.#context.surroundings.now();
  }

  #sendBy(session: Session, packet: Uint8Array): void {
    const { endpoint } = this.#where;
    if (endpoint === null) return;
    this.#sendDatagram(session.seal(packet), endpoint);
    this.timers.authenticSent();
    const isOld = session.isInitiator &&
      this.#now - session.createdAt >= REKEY_AFTER_TIME;
    if (isOld || session.sent > REKEY_AFTER_MESSAGES) {
      this.beginHandshake({ to: [endpoint] });
    }
  }

  #sendKeepalive(): void {
    const session = this.#keypairs.current;
    if (session?.isUsable(this.#now)) this.#sendBy(session, KEEPALIVE);
    else this.beginHandshake({ to: this.#where.everywhere });
  }

  #sendPersistentKeepalive(): void {
    const session = this.#keypairs.current;
    if (this.ping === null || !session?.isUsable(this.#now)) return this.#sendKeepalive();
    this.#sendBy(session, this.ping);
    this.timers.pingSent();
  }

  #sendQueue(): void {
    for (const packet of this.#queue.takeAll()) this.send(packet);
  }

  #completeHandshake(): void {
    this.timers.handshakeComplete();
    this.#hasAskedInLastMinute = false;
    this.#handshakeAt = this.#now;
  }

  /**
   * Renews the session while this side only receives. Otherwise packets would be lost at its end.
   */
  #keepFreshWhileReceiving(): void {
    const session = this.#keypairs.current;
    if (
      session === null || !session.isInitiator || this.#hasAskedInLastMinute
    ) return;
    const age = this.#now - session.createdAt;
    if (age < REJECT_AFTER_TIME - KEEPALIVE_TIMEOUT - REKEY_TIMEOUT) return;
    this.#hasAskedInLastMinute = true;
    this.beginHandshake({ to: this.#where.everywhere });
  }

  #heard(
    from: Endpoint,
    { session, ...options }: {
      readonly size: number;
      readonly message: Move["message"];
      readonly session: Session;
    },
  ): void {
    this.timers.authenticReceived();
    const times = { now: this.#now, sessionAt: session.createdAt };
    this.#where.heard(from, { ...options, ...times });
  }

  #sendDatagram(datagram: Uint8Array, to: Endpoint): void {
    this.#where.sent(datagram.length);
    this.#context.send(datagram, to);
  }

  #forgetKeys(): void {
    this.#keypairs.clear();
    this.handshakes.forgetUnanswered();
  }
}
