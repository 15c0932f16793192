import {
  KEEPALIVE_TIMEOUT,
  LARGEST_JITTER,
  REJECT_AFTER_TIME,
  REKEY_ATTEMPT_TIME,
  REKEY_TIMEOUT,
} from "../handshake/limits.ts";
import { readUint32 } from "../handshake/messages.ts";
import type { PeerContext } from "./context.ts";
import { Deadlines } from "./deadlines.ts";

/** How long the answer to a ping may take, in milliseconds. */
const PING_TIMEOUT = 3000;

const MOST_ATTEMPTS = REKEY_ATTEMPT_TIME / REKEY_TIMEOUT;

/** What the timers of one peer call. */
export interface TimerActions {
  sendKeepalive(): void;
  sendPersistentKeepalive(): void;
  /** Called when the peer does not answer, so its endpoint is in doubt, too. */
  beginHandshake(options: { readonly isRetry: boolean }): void;
  /** Called when the peer has not answered for REKEY_ATTEMPT_TIME. */
  giveUp(): void;
  forgetKeys(): void;
}

/** Decides when this side has to send (section 6 of the paper). Takes events, and calls actions. */
export class PeerTimers {
  readonly #context: PeerContext;
  readonly #actions: TimerActions;
  readonly #deadlines: Deadlines;
  /** Changed at each initiation: random numbers for each packet would cost more than the timer. */
  #jitter: number;
  #attempts = 0;
  #needsAnotherKeepalive = false;
  #persistentKeepalive: number | null = null;
  #unansweredSince: number | null = null;
  #heardAt: number | null = null;
  #pingedAt: number | null = null;
  /** Whether the last ping was answered in time. A firewall of the peer may drop all of them. */
  #answersPings = false;

  constructor(context: PeerContext, actions: TimerActions) {
    this.#context = context;
    this.#actions = actions;
    this.#deadlines = new Deadlines(context.wakeBy);
    this.#jitter = this.#newJitter();
  }

  /** For how many milliseconds nothing has come back for packets that were sent; null if it has. */
  get unansweredFor(): number | null {
    return this.#unansweredSince === null ? null : this.#now - this.#unansweredSince;
  }

  /** For how many milliseconds nothing has come; null if nothing ever has. */
  get silentFor(): number | null {
    return this.#heardAt === null ? null : this.#now - this.#heardAt;
  }

  /** Milliseconds, or null for none. A new interval sends a keepalive at once. */
  setPersistentKeepalive(interval: number | null): void {
    if (interval === this.#persistentKeepalive) return;
    this.#persistentKeepalive = interval;
    if (interval === null) this.#deadlines.cancel("persistentKeepalive");
    else this.#deadlines.set("persistentKeepalive", this.#now);
  }

  initiationSent({ isRetry }: { readonly isRetry: boolean }): void {
    if (!isRetry) this.#attempts = 0;
    this.#jitter = this.#newJitter();
    this.#deadlines.set("retransmit", this.#now + REKEY_TIMEOUT + this.#jitter);
    this.authenticSent();
  }

  sessionBegun(): void {
    this.#deadlines.set("forgetKeys", this.#now + 3 * REJECT_AFTER_TIME);
  }

  handshakeComplete(): void {
    this.#deadlines.cancel("retransmit");
    this.#attempts = 0;
  }

  /**
   * Only what is sent puts off the persistent keepalive. The kernel's also waits after what it
   * receives. But many routers let datagrams in only for a while after one has gone out. And a peer
   * that is silent in spite of its keepalives is lost.
   */
  authenticSent(): void {
    this.#deadlines.cancel("keepalive");
    if (this.#persistentKeepalive === null) return;
    this.#deadlines.set(
      "persistentKeepalive",
      this.#now + this.#persistentKeepalive,
    );
  }

  authenticReceived(): void {
    this.#heardAt = this.#now;
    this.#unansweredSince = null;
    this.#deadlines.cancel("newHandshake");
    this.#deadlines.cancel("pingAnswer");
  }

  dataSent(): void {
    this.#unansweredSince ??= this.#now;
    if (this.#deadlines.has("newHandshake")) return;
    const wait = KEEPALIVE_TIMEOUT + REKEY_TIMEOUT + this.#jitter;
    this.#deadlines.set("newHandshake", this.#now + wait);
  }

  pingSent(): void {
    this.dataSent();
    if (this.#pingedAt !== null) this.#answersPings = false;
    this.#pingedAt = this.#now;
    if (this.#answersPings) this.#deadlines.set("pingAnswer", this.#now + PING_TIMEOUT);
  }

  /** A packet, not a keepalive: a peer also sends that ten seconds after a ping that it drops. */
  dataReceived(): void {
    if (this.#pingedAt !== null) {
      this.#answersPings = this.#now - this.#pingedAt <= PING_TIMEOUT;
      this.#pingedAt = null;
    }
    if (this.#deadlines.has("keepalive")) this.#needsAnotherKeepalive = true;
    else this.#deadlines.set("keepalive", this.#now + KEEPALIVE_TIMEOUT);
  }

  /**
   * Runs the duties that are due. After a sleep, all may be due at once. The retransmission comes
   * before other handshakes: after one, it would send a second initiation, and the answer to the
   * first would be lost.
   */
  run(): void {
    const due = new Set(this.#deadlines.takeDue(this.#now));
    if (due.has("forgetKeys")) this.#actions.forgetKeys();
    if (due.has("retransmit")) this.#retransmit();
    if (due.has("pingAnswer")) this.#answersPings = false;
    if (due.has("newHandshake") || due.has("pingAnswer")) {
      this.#actions.beginHandshake({ isRetry: false });
    }
    if (due.has("keepalive")) this.#keepalive();
    if (due.has("persistentKeepalive")) this.#actions.sendPersistentKeepalive();
  }

  earliest(): number {
    return this.#deadlines.earliest();
  }

  destroy(): void {
    this.#deadlines.clear();
  }

  get #now(): number {
    return this.#context.surroundings.now();
  }

  #retransmit(): void {
    if (this.#attempts < MOST_ATTEMPTS) {
      this.#attempts += 1;
      this.#actions.beginHandshake({ isRetry: true });
      return;
    }
    this.#deadlines.cancel("keepalive");
    this.#deadlines.setUnlessSet(
      "forgetKeys",
      this.#now + 3 * REJECT_AFTER_TIME,
    );
    this.#actions.giveUp();
  }

  #keepalive(): void {
    this.#actions.sendKeepalive();
    if (!this.#needsAnotherKeepalive) return;
    this.#needsAnotherKeepalive = false;
    this.#deadlines.set("keepalive", this.#now + KEEPALIVE_TIMEOUT);
  }

  #newJitter(): number {
    return readUint32(this.#context.surroundings.randomBytes(4), 0) %
      (LARGEST_JITTER + 1);
  }
}
