import type { Surroundings } from "../../wireguard/surroundings.ts";
import { type Address, readAddress } from "./address.ts";
import { ATTRIBUTE, CLASS, METHOD, parseStun } from "./message.ts";
import { Transactions } from "./transactions.ts";

/**
 * Asks STUN servers for the public address of a socket. This must be the tunnel's own socket, or
 * the answer is of no use. So the socket's datagrams come here first.
 */
export class StunBinding {
  readonly #surroundings: Surroundings;
  readonly #send: (datagram: Uint8Array, to: Address) => void;
  /** By server, so that no other server can answer a request. */
  readonly #asked = new Map<string, Transactions>();

  constructor(
    surroundings: Surroundings,
    send: (datagram: Uint8Array, to: Address) => void,
  ) {
    this.#surroundings = surroundings;
    this.#send = send;
  }

  /** Null if the server does not answer: UDP is blocked, or the server is down. */
  async ask(
    server: Address,
    { sends }: { readonly sends?: number } = {},
  ): Promise<Address | null> {
    const key = `${server.address} ${server.port}`;
    const transactions = this.#asked.get(key) ??
      new Transactions(this.#surroundings, {
        send: (bytes) => this.#send(bytes, server),
        isReliable: false,
      });
    this.#asked.set(key, transactions);
    const answer = await transactions.request(METHOD.binding, {
      attributes: () => new Map(),
      key: null,
      ...(sends !== undefined && { sends }),
    });
    if (answer?.kind !== CLASS.success) return null;
    return readAddress(
      answer.attributes.get(ATTRIBUTE.xorMappedAddress),
      answer.transaction,
    );
  }

  /** Takes an answer to one of these requests. Returns false if the datagram is for the tunnel. */
  take(datagram: Uint8Array, from: Address): boolean {
    const transactions = this.#asked.get(`${from.address} ${from.port}`);
    const message = transactions && parseStun(datagram);
    return message ? transactions.take(message) : false;
  }

  close(): void {
    for (const transactions of this.#asked.values()) transactions.close();
    this.#asked.clear();
  }
}
