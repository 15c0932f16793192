import { Random } from "../../seeds/random.ts";

/** The first of the moves that a history begins with; the others are counted from here on. */
export const FIRST_OPENING = 1001;

/** What is left out when a history is repeated, to make it smaller. */
export interface Omissions {
  /** Steps whose move is not made, also of those from `FIRST_OPENING` on. */
  readonly steps: ReadonlySet<number>;
  /** Decisions that go the ordinary way: no fault, no delay. */
  readonly calm: ReadonlySet<string>;
}

export const NOTHING_OMITTED: Omissions = { steps: new Set(), calm: new Set() };

/** A value with its weight among the others. */
export type Choice<Value> = readonly [weight: number, value: Value];

/**
 * Every decision of a history. Each depends only on the seed and on the decision's own name, not on
 * the decisions before it. So a history that leaves some of its moves or faults out decides
 * everything else as before.
 */
export class Decisions {
  /** The names of the decisions that went another way than the ordinary one. */
  readonly taken: string[] = [];
  readonly #seed: number;
  readonly #calm: ReadonlySet<string>;

  constructor(seed: number, { calm }: Pick<Omissions, "calm"> = NOTHING_OMITTED) {
    this.#seed = seed;
    this.#calm = calm;
  }

  /** Randomness that belongs to `name` alone. */
  random(name: string): Random {
    return new Random(hash(name, this.#seed));
  }

  /** Chooses by weight. The first choice is the ordinary one. */
  choose<Value>(name: string, choices: readonly [Choice<Value>, ...Choice<Value>[]]): Value {
    const ordinary = choices[0][1];
    if (this.#calm.has(name)) return ordinary;
    let rest = this.random(name).fraction() *
      choices.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, value] of choices) {
      rest -= weight;
      if (rest >= 0) continue;
      if (value !== ordinary) this.taken.push(name);
      return value;
    }
    return ordinary;
  }

  /**
   * Picks one of `items`, each known by its own name. If another item is missing, the same one is
   * picked, unless the missing one would have been.
   */
  pick<Item>(name: string, items: readonly Item[], nameOf: (item: Item) => string): Item {
    if (items.length === 0) throw new Error(`There is nothing to pick for ${name}.`);
    const rank = (item: Item) => hash(`${name} ${nameOf(item)}`, this.#seed);
    return items.reduce((best, item) => rank(item) > rank(best) ? item : best);
  }
}

/** FNV-1a with a final mix: 32 bits. */
function hash(text: string, seed: number): number {
  let state = (0x811c9dc5 ^ Math.imul(seed, 0x9e3779b1)) >>> 0;
  for (let index = 0; index < text.length; index++) {
    state = Math.imul(state ^ text.charCodeAt(index), 0x01000193);
  }
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return (state ^ (state >>> 16)) >>> 0;
}
