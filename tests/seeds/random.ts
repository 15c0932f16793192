/** Reproducible randomness: the same seed makes the same decisions in the same order. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A number from 0 to below 1. The generator is mulberry32. */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number from 0 to below `end`. */
  below(end: number): number {
    return Math.floor(this.fraction() * end);
  }

  isOneIn(count: number): boolean {
    return this.below(count) === 0;
  }

  pick<Item>(items: readonly Item[]): Item {
    if (items.length === 0) throw new Error("There is nothing to pick from.");
    return items[this.below(items.length)]!;
  }

  /** Another source of randomness, whose seed comes from this one. */
  fork(): Random {
    return new Random(this.below(2 ** 32));
  }
}

/** The seed in the variable SEED, which repeats a run, or a new one. */
export function chosenSeed(): number {
  const given = Deno.env.get("SEED");
  return given ? Number(given) : crypto.getRandomValues(new Uint32Array(1))[0]!;
}
