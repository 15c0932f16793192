import type { Surroundings } from "../../wireguard/surroundings.ts";
import {
  type Attributes,
  CLASS,
  errorCodeOf,
  hasRightIntegrity,
  hexOf,
  type ReceivedStun,
  writeStun,
} from "./message.ts";

/**
 * RFC 8489, 6.2.1: the first wait in milliseconds, doubled each time, and how often a request is
 * sent.
 */
const FIRST_WAIT = 500;
const MOST_SENDS = 7;

/** The wait on a stream, which retransmits lost data by itself. */
const STREAM_WAIT = 10_000;

/**
 * After an unsigned refusal, which anyone can forge: how long to wait for the server's signed
 * answer.
 */
const DOUBT = 200;

/**
 * RFC 8489, 9.2.4: a server sends these errors before it knows the client, so it cannot sign them.
 */
const UNSIGNED_REFUSALS = [400, 401, 438];

export interface RequestOptions {
  readonly attributes: (transaction: string) => Attributes;
  /** The key that signs the request. If there is one, only answers signed with it are believed. */
  readonly key: Uint8Array | null;
  /** Whether an unsigned success is believed. Default: yes, if there is no key. */
  readonly believesUnsigned?: boolean;
  /** How often the request is sent if datagrams can get lost. */
  readonly sends?: number;
}

interface Waiting {
  readonly method: number;
  readonly key: Uint8Array | null;
  readonly believesUnsigned: boolean;
  readonly settle: (answer: ReceivedStun | null) => void;
  stop: () => void;
  isInDoubt: boolean;
}

/** Requests that wait for their answers. */
export class Transactions {
  readonly #surroundings: Surroundings;
  readonly #send: (bytes: Uint8Array) => void;
  readonly #isReliable: boolean;
  readonly #waiting = new Map<string, Waiting>();
  #isClosed = false;

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
    { attributes, key, believesUnsigned = key === null, sends = MOST_SENDS }: RequestOptions,
  ): Promise<ReceivedStun | null> {
    if (this.#isClosed) return Promise.resolve(null);
    const transaction = hexOf(this.#surroundings.randomBytes(12));
    const content = { method, kind: CLASS.request, transaction };
    const bytes = writeStun({ ...content, attributes: attributes(transaction) }, key);
    return new Promise((resolve) => {
      const waiting: Waiting = {
        method,
        key,
        believesUnsigned,
        settle: (answer) => {
          waiting.stop();
          this.#waiting.delete(transaction);
          resolve(answer);
        },
        stop: () => {},
        isInDoubt: false,
      };
      this.#waiting.set(transaction, waiting);
      const attempt = (count: number): void => {
        if (count === (this.#isReliable ? 1 : sends)) return waiting.settle(null);
        this.#send(bytes);
        const wait = this.#isReliable ? STREAM_WAIT : FIRST_WAIT * 2 ** count;
        waiting.stop = this.#surroundings.after(wait, () => attempt(count + 1));
      };
      attempt(0);
    });
  }

  /** Takes a message. Returns whether it answers one of these requests, or pretends to. */
  take(message: ReceivedStun): boolean {
    const waiting = this.#waiting.get(message.transaction);
    const isAnswer = message.kind === CLASS.success || message.kind === CLASS.error;
    if (waiting === undefined || !isAnswer || message.method !== waiting.method) return false;
    if (isBelieved(message, waiting)) waiting.settle(message);
    else if (isUnsignedRefusal(message)) this.#doubt(message, waiting);
    return true;
  }

  close(): void {
    this.#isClosed = true;
    for (const waiting of [...this.#waiting.values()]) waiting.settle(null);
  }

  /** Anyone who sees the request can forge such a refusal. So wait for the server's own answer. */
  #doubt(message: ReceivedStun, waiting: Waiting): void {
    if (this.#isReliable) return waiting.settle(message);
    if (waiting.isInDoubt) return;
    waiting.isInDoubt = true;
    waiting.stop();
    waiting.stop = this.#surroundings.after(DOUBT, () => waiting.settle(message));
  }
}

function isBelieved(message: ReceivedStun, { key, believesUnsigned }: Waiting): boolean {
  if (key !== null) return hasRightIntegrity(message, key);
  return believesUnsigned || message.kind === CLASS.error;
}

function isUnsignedRefusal(message: ReceivedStun): boolean {
  return message.kind === CLASS.error && message.integrity === null &&
    UNSIGNED_REFUSALS.includes(errorCodeOf(message));
}
