import type { Identity } from "../request_record.ts";

/** How many keys are remembered; beyond that, the one that was learned first is forgotten. */
const MAX_KEYS = 5000;

/**
 * A cache of which agent each agent key belongs to. The database names the agent with every
 * successful answer. With a refusal it cannot, so refused requests use this cache.
 */
export class Identities {
  readonly #byKeyHash = new Map<string, Identity>();

  learn(keyHash: string, identity: Identity): void {
    const known = this.#byKeyHash.get(keyHash);
    // Not everything that names the agent of a key names its enrolment, too.
    if (known !== undefined && (known.enrolmentId !== null || identity.enrolmentId === null)) {
      return;
    }
    this.#byKeyHash.set(keyHash, identity);
    if (this.#byKeyHash.size > MAX_KEYS) {
      const [first] = this.#byKeyHash.keys();
      this.#byKeyHash.delete(first!);
    }
  }

  /** Null: the agent key is not in the cache. */
  of(keyHash: string): Identity | null {
    return this.#byKeyHash.get(keyHash) ?? null;
  }
}
