import { createHash } from "node:crypto";
import type { Surroundings } from "../../wireguard/surroundings.ts";
import { ATTRIBUTE, CLASS, errorCodeOf, type ReceivedStun } from "../stun/message.ts";
import { Transactions } from "../stun/transactions.ts";
import type { TurnTransport } from "./transport.ts";

const MOST_ATTEMPTS = 3;
const UNAUTHENTICATED = 401;
const STALE_NONCE = 438;
const encoder = new TextEncoder();

export type OwnAttributes = (
  transaction: string,
) => readonly (readonly [number, Uint8Array])[];

/**
 * Requests with the long-term credential (RFC 8489, 9.2), as soon as the server has sent its realm.
 */
export class CredentialedRequests {
  readonly #username: string;
  readonly #credential: string;
  readonly #transactions: Transactions;
  #realm: Uint8Array = new Uint8Array();
  #nonce: Uint8Array = new Uint8Array();
  #key: Uint8Array | null = null;

  constructor({ username, credential, surroundings, transport }: {
    readonly username: string;
    readonly credential: string;
    readonly surroundings: Surroundings;
    readonly transport: TurnTransport;
  }) {
    this.#username = username;
    this.#credential = credential;
    this.#transactions = new Transactions(surroundings, {
      send: (bytes) => transport.send(bytes),
      isReliable: transport.isReliable,
    });
  }

  /**
   * Resolves to the answer, which may be an error response; null if none came. A success counts
   * only if the server has signed it.
   */
  async request(
    method: number,
    own: OwnAttributes,
    { sends }: { readonly sends?: number } = {},
  ): Promise<ReceivedStun | null> {
    for (let attempt = 1;; attempt++) {
      const key = this.#key;
      const answer = await this.#transactions.request(method, {
        key,
        attributes: (transaction) =>
          new Map([...own(transaction), ...(key === null ? [] : this.#attributes())]),
        believesUnsigned: false,
        ...(sends !== undefined && { sends }),
      });
      if (answer?.kind !== CLASS.error || attempt === MOST_ATTEMPTS) return answer;
      const code = errorCodeOf(answer);
      if (code === UNAUTHENTICATED && key === null) this.#learnRealm(answer);
      else if (code !== STALE_NONCE || key === null) return answer;
      this.#learnNonce(answer);
    }
  }

  /** Takes a message. Returns whether it answers one of these requests, or pretends to. */
  take(message: ReceivedStun): boolean {
    return this.#transactions.take(message);
  }

  close(): void {
    this.#transactions.close();
  }

  #attributes(): [number, Uint8Array][] {
    return [
      [ATTRIBUTE.username, encoder.encode(this.#username)],
      [ATTRIBUTE.realm, this.#realm],
      [ATTRIBUTE.nonce, this.#nonce],
    ];
  }

  /** Learns the realm only once, because later refusals may be forged. */
  #learnRealm({ attributes }: ReceivedStun): void {
    this.#realm = new Uint8Array(attributes.get(ATTRIBUTE.realm) ?? this.#realm);
    this.#key = createHash("md5").update(`${this.#username}:`).update(this.#realm)
      .update(`:${this.#credential}`).digest();
  }

  #learnNonce({ attributes }: ReceivedStun): void {
    this.#nonce = new Uint8Array(attributes.get(ATTRIBUTE.nonce) ?? this.#nonce);
  }
}
