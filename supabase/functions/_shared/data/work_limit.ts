/**
 * Limits how many pieces of work of one kind run at a time in this process. Without the limit, they
 * would wait for each other in the database, each with a connection that others need.
 */
export class Turns {
  /** The work that runs or waits, by kind. A kind without work has no entry. */
  readonly #waiting = new Map<string, { underWay: number; readonly next: (() => void)[] }>();

  constructor(private readonly most: number) {}

  /** Runs `work` when its turn comes: first come, first served. */
  async take<Result>(kind: string, work: () => Promise<Result>): Promise<Result> {
    const turns = this.#waiting.get(kind) ?? { underWay: 0, next: [] };
    this.#waiting.set(kind, turns);
    if (turns.underWay < this.most) turns.underWay++;
    // Work that ends passes its turn to the next.
    else await new Promise<void>((resolve) => turns.next.push(resolve));
    try {
      return await work();
    } finally {
      const next = turns.next.shift();
      if (next !== undefined) next();
      else if (--turns.underWay === 0) this.#waiting.delete(kind);
    }
  }
}
