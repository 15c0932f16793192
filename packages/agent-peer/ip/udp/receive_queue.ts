/** A datagram that has arrived. */
export interface Datagram {
  readonly data: Uint8Array;
  /** The tunnel address and the port of its sender. */
  readonly address: string;
  readonly port: number;
}

/** How many datagrams are taken at a time, at most. */
const BATCH = 64;
/** What a datagram costs besides its bytes. */
const COST = 256;

export function costOf({ data }: Datagram): number {
  return data.length + COST;
}

/** The datagrams that a port has not read yet. Their senders take turns. */
export class ReceiveQueue {
  readonly #owners = new Map<string, Datagram[]>();

  push(owner: string, datagram: Datagram): void {
    const waiting = this.#owners.get(owner);
    if (waiting === undefined) this.#owners.set(owner, [datagram]);
    else waiting.push(datagram);
  }

  /** Takes the oldest datagram of an owner. */
  takeFrom(owner: string): Datagram | undefined {
    const waiting = this.#owners.get(owner);
    const datagram = waiting?.shift();
    if (waiting?.length === 0) this.#owners.delete(owner);
    return datagram;
  }

  /** Takes some datagrams, with their owners: one of each owner, then the next one of each. */
  take(most: number = BATCH): (readonly [owner: string, datagram: Datagram])[] {
    const taken: (readonly [string, Datagram])[] = [];
    for (const [owner, waiting] of this.#owners) {
      if (taken.length === most) break;
      this.#owners.delete(owner);
      taken.push([owner, waiting.shift()!]);
      // The loop comes to it again, after the others.
      if (waiting.length > 0) this.#owners.set(owner, waiting);
    }
    return taken;
  }
}
