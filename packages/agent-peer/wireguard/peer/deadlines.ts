/** What a peer has to do at a deadline, unless another event cancels it. */
export type Duty =
  | "retransmit"
  | "keepalive"
  | "newHandshake"
  | "pingAnswer"
  | "persistentKeepalive"
  | "forgetKeys";

/** The times of one peer's duties, in the milliseconds of the surroundings' clock. */
export class Deadlines {
  readonly #times = new Map<Duty, number>();
  readonly #onEarlier: (at: number) => void;

  /** `onEarlier` is called with each deadline that is set, so that a timer wakes up for it. */
  constructor(onEarlier: (at: number) => void) {
    this.#onEarlier = onEarlier;
  }

  set(duty: Duty, at: number): void {
    this.#times.set(duty, at);
    this.#onEarlier(at);
  }

  setUnlessSet(duty: Duty, at: number): void {
    if (!this.#times.has(duty)) this.set(duty, at);
  }

  has(duty: Duty): boolean {
    return this.#times.has(duty);
  }

  cancel(duty: Duty): void {
    this.#times.delete(duty);
  }

  clear(): void {
    this.#times.clear();
  }

  /** Removes and returns the duties that are due. */
  takeDue(now: number): Duty[] {
    const due = [...this.#times].flatMap(([duty, at]) => at <= now ? [duty] : []);
    for (const duty of due) this.#times.delete(duty);
    return due;
  }

  earliest(): number {
    return Math.min(...this.#times.values());
  }
}
