/**
 * As many as the database answers at once, and some on their way. Each more would open one more
 * connection, which takes as much memory as the request that waits.
 */
const MAX_AT_ONCE = 16;

/** Asks the questions of those who wait, a few at once; the others have their turn in order. */
export class Questions {
  #underWay = 0;
  readonly #next: (() => void)[] = [];

  async ask<Answer>(question: () => Promise<Answer>): Promise<Answer> {
    if (this.#underWay < MAX_AT_ONCE) this.#underWay++;
    // A question that ends passes its turn to the next.
    else await new Promise<void>((resolve) => this.#next.push(resolve));
    try {
      return await question();
    } finally {
      const next = this.#next.shift();
      if (next !== undefined) next();
      else this.#underWay--;
    }
  }
}
