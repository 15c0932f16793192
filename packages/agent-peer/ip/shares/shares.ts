/**
 * A resource that neighbours share. A neighbour may hold as much as is free afterwards, so that
 * something is left for the next one. If neighbours came first and took more than an equal part,
 * others get theirs all the same: the greediest has to give it back.
 */
export class Shares {
  readonly #capacity: number;
  readonly #held = new Map<string, number>();
  #total = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  heldBy(owner: string): number {
    return this.#held.get(owner) ?? 0;
  }

  /** How much more the owner may take. */
  roomFor(owner: string): number {
    return Math.max(
      0,
      Math.floor((this.#capacity - this.#total - this.heldBy(owner)) / 2),
    );
  }

  /**
   * Takes an amount, if the owner may have so much. `free` must take something from the owner that
   * it is called with, and returns false if there is nothing to take.
   */
  take(owner: string, amount: number, free?: (greediest: string) => boolean): boolean {
    if (!this.allows(owner, amount, free)) return false;
    this.add(owner, amount);
    return true;
  }

  /** Like `take`, for an amount that is added later. */
  allows(owner: string, amount: number, free?: (greediest: string) => boolean): boolean {
    if (amount <= this.roomFor(owner)) return true;
    // What cannot be taken back stays free for the next one.
    if (free === undefined || this.heldBy(owner) + amount > this.#equalPart(owner)) return false;
    while (this.#capacity - this.#total < amount) {
      if (!free(this.#greediest())) return false;
    }
    return true;
  }

  /** Of everything, if one more came. */
  #equalPart(owner: string): number {
    return this.#capacity / (this.#held.size + (this.#held.has(owner) ? 1 : 2));
  }

  #greediest(): string {
    let greediest = "";
    for (const [owner, held] of this.#held) if (held > this.heldBy(greediest)) greediest = owner;
    return greediest;
  }

  /** Takes an amount that cannot be refused any more. A negative one is given back. */
  add(owner: string, amount: number): void {
    const held = this.heldBy(owner) + amount;
    this.#total += amount;
    if (held === 0) this.#held.delete(owner);
    else this.#held.set(owner, held);
  }
}
