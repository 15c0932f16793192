/**
 * As many as the database answers at once, and some on their way. Each additional question would
 * open another connection, which takes as much memory as the waiting request.
 */
const MAX_AT_ONCE = 16;

/** Asks the questions of waiting requests, MAX_AT_ONCE at a time, first come, first served. */
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
