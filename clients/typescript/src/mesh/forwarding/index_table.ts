import type { Surroundings } from "../wireguard/surroundings.ts";

/** In milliseconds. WireGuard uses a session for 180 s, and has a new one before that. */
const LIFETIME = 300_000;

/** Strangers may send initiations, each with another index. */
const MOST = 4096;

/** What is known of the indices of WireGuard's sessions, until they are used no more. */
export class IndexTable<Value> {
  readonly #surroundings: Surroundings;
  /** The one that was used last is the last one. */
  readonly #entries = new Map<number, { readonly value: Value; readonly usedAt: number }>();

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Keeps it from being forgotten, too. */
  get(index: number): Value | undefined {
    const entry = this.#entries.get(index);
    if (entry === undefined) return undefined;
    this.set(index, entry.value);
    return entry.value;
  }

  set(index: number, value: Value): void {
    const now = this.#surroundings.now();
    this.#entries.delete(index);
    this.#entries.set(index, { value, usedAt: now });
    for (const [oldest, { usedAt }] of this.#entries) {
      if (this.#entries.size <= MOST && now - usedAt < LIFETIME) break;
      this.#entries.delete(oldest);
    }
  }

  forEach(action: (value: Value) => void): void {
    for (const { value } of this.#entries.values()) action(value);
  }

  forget(isForgotten: (value: Value) => boolean): void {
    for (const [index, { value }] of this.#entries) {
      if (isForgotten(value)) this.#entries.delete(index);
    }
  }
}
