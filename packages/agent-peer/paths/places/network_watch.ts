import type { Surroundings } from "../../wireguard/surroundings.ts";

/**
 * In milliseconds: how often the addresses are read, and the pause that means the machine slept.
 */
const INTERVAL = 4000;
const SLEEP = 30_000;

/** Notices that this machine is in another network, or slept and so may be in another one. */
export class NetworkWatch {
  readonly #surroundings: Surroundings;
  readonly #read: () => string[];
  #addresses: readonly string[];
  #askedAt: number;
  #readAt: number;

  constructor(surroundings: Surroundings, read: () => string[]) {
    this.#surroundings = surroundings;
    this.#read = read;
    this.#addresses = read();
    this.#askedAt = this.#readAt = surroundings.now();
  }

  /** This machine's addresses, as they were last read. */
  get addresses(): readonly string[] {
    return this.#addresses;
  }

  /** Whether the network may have changed since the last call. Call it every second. */
  hasChanged(): boolean {
    const now = this.#surroundings.now();
    const hasSlept = now - this.#askedAt >= SLEEP;
    this.#askedAt = now;
    if (!hasSlept && now - this.#readAt < INTERVAL) return false;
    this.#readAt = now;
    const addresses = this.#read();
    const isOther = addresses.toSorted().join() !== this.#addresses.toSorted().join();
    this.#addresses = addresses;
    return hasSlept || isOther;
  }
}
