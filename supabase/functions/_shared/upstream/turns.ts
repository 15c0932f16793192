/**
 * Lets so many pieces of work of one kind run at a time, in this process. In the database they
 * would wait for each other too, each with a connection that others need.
 */
export class Turns {
  /** Who waits for a turn, by kind. Only those who have one. */
  readonly #waiting = new Map<string, { underWay: number; readonly next: (() => void)[] }>();

  constructor(private readonly most: number) {}

  /** Does a piece of work when it is its turn, in the order in which they came. */
  async take<Result>(kind: string, work: () => Promise<Result>): Promise<Result> {
    const turns = this.#waiting.get(kind) ?? { underWay: 0, next: [] };
    this.#waiting.set(kind, turns);
    if (turns.underWay < this.most) turns.underWay++;
    // What ends passes its turn to the next.
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
