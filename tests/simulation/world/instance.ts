/** A process of a function. */
export class Instance {
  isAlive = true;
  /** What the parties notice that wait for it. */
  readonly whenKilled: (() => void)[] = [];

  constructor(readonly name: string, readonly answer: (request: Request) => Promise<Response>) {}

  /** Ends its code, its timers and its connections at once. What it has asked others goes on. */
  kill(): void {
    this.isAlive = false;
    for (const notice of this.whenKilled.splice(0)) notice();
  }
}
