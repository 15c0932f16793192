import type { Surroundings } from "../../wireguard/surroundings.ts";
import { type Attributes, CLASS, hexOf, type StunMessage, writeStun } from "./message.ts";

/** RFC 8489, 6.2.1: the first wait, doubled each time, and how often a request is sent. */
const FIRST_WAIT = 500;
const MOST_SENDS = 7;

/** What a stream gets: it repeats by itself what is lost. */
const STREAM_WAIT = 10_000;

interface Waiting {
  readonly resolve: (message: StunMessage) => void;
  stop: () => void;
}

/** Requests that wait for their answers. */
export class Transactions {
  readonly #surroundings: Surroundings;
  readonly #send: (bytes: Uint8Array) => void;
  readonly #isReliable: boolean;
  readonly #waiting = new Map<string, Waiting>();

  constructor(
    surroundings: Surroundings,
    { send, isReliable }: {
      readonly send: (bytes: Uint8Array) => void;
      readonly isReliable: boolean;
    },
  ) {
    this.#surroundings = surroundings;
    this.#send = send;
    this.#isReliable = isReliable;
  }

  /** Resolves to the answer, which may be an error response; null if none came. */
  request(
    method: number,
    { attributes, key }: {
      readonly attributes: (transaction: string) => Attributes;
      readonly key: Uint8Array | null;
    },
  ): Promise<StunMessage | null> {
    const transaction = hexOf(this.#surroundings.randomBytes(12));
    const message = {
      method,
      kind: CLASS.request,
      transaction,
      attributes: attributes(transaction),
    };
    const bytes = writeStun(message, key);
    return new Promise((resolve) => {
      const waiting: Waiting = { resolve, stop: () => {} };
      this.#waiting.set(transaction, waiting);
      const attempt = (count: number) => {
        if (count === (this.#isReliable ? 1 : MOST_SENDS)) {
          this.#waiting.delete(transaction);
          resolve(null);
          return;
        }
        this.#send(bytes);
        const wait = this.#isReliable ? STREAM_WAIT : FIRST_WAIT * 2 ** count;
        waiting.stop = this.#surroundings.after(wait, () => attempt(count + 1));
      };
      attempt(0);
    });
  }

  /** Whether the message answers a request of these. */
  take(message: StunMessage): boolean {
    const waiting = this.#waiting.get(message.transaction);
    const isAnswer = message.kind === CLASS.success ||
      message.kind === CLASS.error;
    if (waiting === undefined || !isAnswer) return false;
    this.#waiting.delete(message.transaction);
    waiting.stop();
    waiting.resolve(message);
    return true;
  }

  close(): void {
    for (const { stop } of this.#waiting.values()) stop();
    this.#waiting.clear();
  }
}
