import { CookieJar } from "../handshake/cookies.ts";
import { type Pair, PendingHandshake } from "../handshake/initiator.ts";
import { FASTEST_INITIATIONS, REKEY_TIMEOUT } from "../handshake/limits.ts";
import type { CookieReply, Initiation, Response } from "../handshake/messages.ts";
import type { ReceivedInitiation } from "../handshake/responder.ts";
import { isLater } from "../handshake/timestamp.ts";
import { Session } from "../session/session.ts";
import type { Indices, PeerContext } from "./context.ts";

/** Anyone who sees an initiation can forge responses. This many are processed even under load. */
const MOST_FORGERIES = 4;

/**
 * The handshakes with one peer. Stores at most one that this side began, and none that it answers.
 */
export class PeerHandshakes {
  readonly #context: PeerContext;
  readonly #pair: Pair;
  readonly #indices: Indices;
  readonly #jar: CookieJar;
  #presharedKey: Uint8Array = new Uint8Array(32);
  #pending: PendingHandshake | null = null;
  /** The number of responses to the pending initiation that were not authentic. */
  #forgeries = 0;
  #begunAt = -Infinity;
  #readAt = -Infinity;
  #latestTimestamp: Uint8Array;

  constructor(
    context: PeerContext,
    { pair, indices, latestTimestamp }: {
      readonly pair: Pair;
      readonly indices: Indices;
      readonly latestTimestamp: Uint8Array;
    },
  ) {
    this.#context = context;
    this.#pair = pair;
    this.#indices = indices;
    this.#jar = new CookieJar(pair.peerPublicKey);
    this.#latestTimestamp = latestTimestamp;
  }

  /** The timestamp of the newest initiation that was accepted. */
  get latestTimestamp(): Uint8Array {
    return this.#latestTimestamp;
  }

  /** Applies to handshakes that end from now on. Keeps a copy. */
  setPresharedKey(presharedKey: Uint8Array): void {
    this.#presharedKey.fill(0);
    this.#presharedKey = new Uint8Array(presharedKey);
  }

  /** A new initiation; null if the last one was less than REKEY_TIMEOUT ago, unless `isUrgent`. */
  begin({ isUrgent }: { readonly isUrgent: boolean }): Uint8Array | null {
    const { surroundings, timestamps } = this.#context;
    const now = surroundings.now();
    if (!isUrgent && now - this.#begunAt < REKEY_TIMEOUT) return null;
    this.#forgetPending();
    const localIndex = this.#indices.claim();
    const begun = PendingHandshake.begin(this.#pair, {
      localIndex,
      timestamp: timestamps.next(surroundings.unixTime()),
      ephemeralKey: surroundings.randomBytes(32),
    });
    if (begun === null) {
      this.#indices.release(localIndex);
      return null;
    }
    this.#begunAt = now;
    this.#pending = begun.pending;
    this.#forgeries = 0;
    this.#jar.stamp(begun.message, now);
    return begun.message;
  }

  /**
   * Answers an initiation. If it is forged, repeated, late or too early, returns null and changes
   * nothing.
   */
  answer(
    received: ReceivedInitiation,
    { sender }: Initiation,
  ): { readonly message: Uint8Array; readonly session: Session } | null {
    const { surroundings } = this.#context;
    const now = surroundings.now();
    const timestamp = received.readTimestamp(this.#pair);
    if (timestamp === null || !isLater(timestamp, this.#latestTimestamp)) {
      return null;
    }
    if (now - this.#readAt < FASTEST_INITIATIONS) return null;
    const localIndex = this.#indices.claim();
    const answer = received.answer(this.#pair, {
      localIndex,
      presharedKey: this.#presharedKey,
      ephemeralKey: surroundings.randomBytes(32),
    });
    if (answer === null) {
      this.#indices.release(localIndex);
      return null;
    }
    [this.#latestTimestamp, this.#readAt] = [timestamp, now];
    this.#jar.stamp(answer.message, now);
    const { keys, message } = answer;
    const options = {
      localIndex,
      remoteIndex: sender,
      isInitiator: false,
      keys,
      createdAt: now,
    };
    const session = new Session(options);
    this.#indices.assign(localIndex, session);
    return { message, session };
  }

  /** Returns the session that the response completes, or null if the response is not authentic. */
  finish(response: Response): Session | null {
    const pending = this.#pending;
    if (pending === null || pending.localIndex !== response.receiver) {
      return null;
    }
    const { own } = this.#context;
    const keys = pending.finish(response, {
      own,
      presharedKey: this.#presharedKey,
    });
    if (keys === null) {
      this.#forgeries += 1;
      return null;
    }
    const { localIndex } = pending;
    pending.destroy();
    this.#pending = null;
    const session = new Session({
      localIndex,
      remoteIndex: response.sender,
      isInitiator: true,
      keys,
      createdAt: this.#context.surroundings.now(),
    });
    this.#indices.assign(localIndex, session);
    return session;
  }

  /** Whether to process a response to this index even under load. */
  expects(index: number): boolean {
    return this.#pending?.localIndex === index && this.#forgeries < MOST_FORGERIES;
  }

  takeCookie(reply: CookieReply): boolean {
    return this.#jar.take(reply, this.#context.surroundings.now());
  }

  /**
   * Gives up a handshake that was not answered, unless it began less than REKEY_TIMEOUT ago: then
   * an answer may still come.
   */
  forgetUnanswered(): void {
    if (this.#context.surroundings.now() - this.#begunAt >= REKEY_TIMEOUT) this.#forgetPending();
  }

  #forgetPending(): void {
    if (this.#pending === null) return;
    this.#indices.release(this.#pending.localIndex);
    this.#pending.destroy();
    this.#pending = null;
  }

  destroy(): void {
    this.#forgetPending();
    this.#presharedKey.fill(0);
    this.#pair.sharedSecret.fill(0);
  }
}
