import type { Session } from "./session.ts";

/**
 * The sessions of one peer. `current` encrypts. `previous` still decrypts packets in flight. On the
 * responder's side, `next` waits for a first message, which proves that the initiator has the
 * session, too.
 */
export class Keypairs {
  #previous: Session | null = null;
  #current: Session | null = null;
  #next: Session | null = null;
  readonly #onEnd: (session: Session) => void;

  /** `onEnd` is called with each session that has ended, after its keys were erased. */
  constructor(onEnd: (session: Session) => void) {
    this.#onEnd = onEnd;
  }

  get current(): Session | null {
    return this.#current;
  }

  add(session: Session): void {
    if (!session.isInitiator) {
      this.#end(this.#next);
      this.#next = session;
      this.#end(this.#previous);
      this.#previous = null;
      return;
    }
    if (this.#next !== null) {
      // Both sides began a handshake at once. The peer may send by the session that it began.
      this.#end(this.#previous);
      this.#end(this.#current);
      [this.#previous, this.#next] = [this.#next, null];
    } else {
      this.#end(this.#previous);
      this.#previous = this.#current;
    }
    this.#current = session;
  }

  /** Makes `session` the current one if it was waiting to be. */
  confirm(session: Session): boolean {
    if (session !== this.#next) return false;
    this.#end(this.#previous);
    [this.#previous, this.#current, this.#next] = [
      this.#current,
      this.#next,
      null,
    ];
    return true;
  }

  clear(): void {
    for (const session of [this.#previous, this.#current, this.#next]) {
      this.#end(session);
    }
    [this.#previous, this.#current, this.#next] = [null, null, null];
  }

  #end(session: Session | null): void {
    if (session === null) return;
    session.destroy();
    this.#onEnd(session);
  }
}
