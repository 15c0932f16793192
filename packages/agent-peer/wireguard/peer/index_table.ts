import { readUint32 } from "../handshake/messages.ts";
import type { Session } from "../session/session.ts";
import type { Surroundings } from "../surroundings.ts";

/** The meaning of a receiver's index. An unfinished handshake has no session yet. */
export interface Entry<Owner> {
  readonly owner: Owner;
  readonly session: Session | null;
}

/** The indices of all peers of a tunnel: random, so that an attacker cannot guess one. */
export class IndexTable<Owner> {
  readonly #entries = new Map<number, Entry<Owner>>();
  readonly #surroundings: Surroundings;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  get size(): number {
    return this.#entries.size;
  }

  find(index: number): Entry<Owner> | undefined {
    return this.#entries.get(index);
  }

  claim(owner: Owner): number {
    let index: number;
    do index = readUint32(this.#surroundings.randomBytes(4), 0); while (
      this.#entries.has(index)
    );
    this.#entries.set(index, { owner, session: null });
    return index;
  }

  assign(index: number, entry: Entry<Owner>): void {
    this.#entries.set(index, entry);
  }

  release(index: number): void {
    this.#entries.delete(index);
  }
}
