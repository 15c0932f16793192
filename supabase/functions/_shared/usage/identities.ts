import type { Identity } from "../request_record.ts";

/** How many keys are remembered; beyond that, the one that was learned first is forgotten. */
const MAX_KEYS = 5000;

/**
 * Whose the keys are that this process has met. The database says it with the answer of a request;
 * with a refusal it cannot, so for those it is remembered.
 */
export class Identities {
  readonly #byKeyHash = new Map<string, Identity>();

  learn(keyHash: string, identity: Identity): void {
    if (this.#byKeyHash.has(keyHash)) return;
    this.#byKeyHash.set(keyHash, identity);
    if (this.#byKeyHash.size > MAX_KEYS) {
      const [first] = this.#byKeyHash.keys();
      this.#byKeyHash.delete(first!);
    }
  }

  /** Null where the key was never met, or is forgotten. */
  of(keyHash: string): Identity | null {
    return this.#byKeyHash.get(keyHash) ?? null;
  }
}
