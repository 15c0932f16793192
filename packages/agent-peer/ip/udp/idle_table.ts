import { Shares } from "../shares/shares.ts";

/** Why an entry is no longer in the table. */
export type EntryEnd = "idle" | "too_many" | "closed" | "revoked";

interface Entry<Value> {
  readonly owner: string;
  readonly value: Value;
  /** When it was last used. */
  at: number;
}

/**
 * Entries that end when they have not been used for some time. Their owners share the table: one
 * that adds too many loses its own longest idle entries, not those of others.
 */
export class IdleTable<Value> {
  readonly #idleMs: number;
  readonly #shares: Shares;
  readonly #onEnd: (value: Value, why: EntryEnd) => void;
  readonly #now: () => number;
  readonly #entries = new Map<string, Entry<Value>>();
  /** The keys of each owner, the longest idle first. */
  readonly #owners = new Map<string, Set<string>>();
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor({ most, idleMs, onEnd, now = () => performance.now() }: {
    /** How many entries all owners have. One owner has at most half of it. */
    readonly most: number;
    readonly idleMs: number;
    readonly onEnd: (value: Value, why: EntryEnd) => void;
    /** Milliseconds of a clock that never goes back. */
    readonly now?: () => number;
  }) {
    this.#shares = new Shares(most);
    this.#idleMs = idleMs;
    this.#onEnd = onEnd;
    this.#now = now;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Finds an entry. */
  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (this.#now() - entry.at < this.#idleMs) return entry.value;
    // The timer is late.
    this.#end(key, "idle");
    return undefined;
  }

  /** Finds an entry, and counts that as its use. */
  use(key: string): Value | undefined {
    const value = this.get(key);
    if (value === undefined) return undefined;
    const entry = this.#entries.get(key)!;
    entry.at = this.#now();
    const keys = this.#owners.get(entry.owner)!;
    keys.delete(key);
    keys.add(key);
    return value;
  }

  /** Adds an entry that is not there yet. Returns false if there is no place for it. */
  add(owner: string, key: string, value: Value): boolean {
    while (!this.#shares.take(owner, 1, (greediest) => this.#endFirst(greediest))) {
      if (!this.#endFirst(owner)) return false;
    }
    this.#entries.set(key, { owner, value, at: this.#now() });
    const keys = this.#owners.get(owner) ?? new Set();
    this.#owners.set(owner, keys.add(key));
    this.#timer ??= setTimeout(() => this.#endIdle(), this.#idleMs);
    return true;
  }

  /** Ends the entries that a function chooses. */
  endIf(isChosen: (value: Value) => boolean, why: EntryEnd): void {
    for (const [key, { value }] of this.#entries) if (isChosen(value)) this.#end(key, why);
  }

  #endIdle(): void {
    this.#timer = null;
    const now = this.#now();
    let next = Infinity;
    for (const keys of this.#owners.values()) {
      for (const key of keys) {
        const rest = this.#entries.get(key)!.at + this.#idleMs - now;
        if (rest > 0) {
          next = Math.min(next, rest);
          break;
        }
        this.#end(key, "idle");
      }
    }
    if (next < Infinity) this.#timer ??= setTimeout(() => this.#endIdle(), next);
  }

  #endFirst(owner: string): boolean {
    const [key] = this.#owners.get(owner) ?? [];
    if (key === undefined) return false;
    this.#end(key, "too_many");
    return true;
  }

  #end(key: string, why: EntryEnd): void {
    const { owner, value } = this.#entries.get(key)!;
    this.#entries.delete(key);
    this.#shares.add(owner, -1);
    const keys = this.#owners.get(owner)!;
    keys.delete(key);
    if (keys.size === 0) this.#owners.delete(owner);
    if (this.#entries.size === 0 && this.#timer !== null) {
      clearTimeout(this.#timer);
      this.#timer = null;
    }
    this.#onEnd(value, why);
  }
}
