import { createHash } from "node:crypto";
import type { Surroundings } from "../../wireguard/surroundings.ts";
import { ATTRIBUTE, CLASS, errorCodeOf, type StunMessage } from "../stun/message.ts";
import { Transactions } from "../stun/transactions.ts";
import type { TurnTransport } from "./transport.ts";

const MOST_ATTEMPTS = 3;
const encoder = new TextEncoder();

/** Requests with the long-term credential (RFC 8489, 9.2), once the server has told its realm. */
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

  /** Resolves to the answer, which may be an error response; null if none came. */
  async request(
    method: number,
    own: (transaction: string) => readonly (readonly [number, Uint8Array])[],
  ): Promise<StunMessage | null> {
    for (let attempt = 1;; attempt++) {
      const key = this.#key;
      const answer = await this.#transactions.request(method, {
        key,
        attributes: (transaction) =>
          new Map([
            ...own(transaction),
            ...(key === null ? [] : this.#attributes()),
          ]),
      });
      const code = answer?.kind === CLASS.error ? errorCodeOf(answer) : 0;
      // The second one: the nonce is stale.
      const isAsked = (code === 401 && key === null) || code === 438;
      if (answer === null || !isAsked || attempt === MOST_ATTEMPTS) {
        return answer;
      }
      this.#learn(answer);
    }
  }

  /** Whether the message answers a request of these. */
  take(message: StunMessage): boolean {
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

  #learn({ attributes }: StunMessage): void {
    this.#realm = new Uint8Array(
      attributes.get(ATTRIBUTE.realm) ?? this.#realm,
    );
    this.#nonce = new Uint8Array(
      attributes.get(ATTRIBUTE.nonce) ?? this.#nonce,
    );
    this.#key = createHash("md5").update(`${this.#username}:`).update(
      this.#realm,
    )
      .update(`:${this.#credential}`).digest();
  }
}
