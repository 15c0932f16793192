/** Something that happens at an instant of the virtual time. */
export interface Event {
  /** Milliseconds since the history began. */
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
  isCancelled: boolean;
}

/** The events that are still to come, in virtual time. Nothing happens between two of them. */
export class Timeline {
  #now = 0;
  #order = 0;
  /** A heap by time, then by the order in which the events were scheduled. */
  readonly #heap: Event[] = [];

  /** Milliseconds since the history began. */
  get now(): number {
    return this.#now;
  }

  after(milliseconds: number, run: () => void): Event {
    // A timer of 0 ms must not starve the others.
    const at = this.#now + Math.max(0.001, Number.isFinite(milliseconds) ? milliseconds : 0);
    const event: Event = { at, order: this.#order++, run, isCancelled: false };
    this.#heap.push(event);
    this.#rise(this.#heap.length - 1);
    return event;
  }

  sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => this.after(milliseconds, resolve));
  }

  /** Runs the next event, unless it comes later than `until`. False: there was none. */
  step(until: number): boolean {
    while (this.#heap[0]?.isCancelled) this.#take();
    const next = this.#heap[0];
    if (next === undefined || next.at > until) return false;
    this.#take();
    this.#now = next.at;
    next.run();
    return true;
  }

  /** Lets time pass until `instant`, if no event comes before. */
  passTo(instant: number): void {
    this.#now = Math.max(this.#now, instant);
  }

  #take(): void {
    const last = this.#heap.pop();
    if (this.#heap.length > 0 && last !== undefined) {
      this.#heap[0] = last;
      this.#sink(0);
    }
  }

  #rise(index: number): void {
    for (let parent = (index - 1) >> 1; index > 0; index = parent, parent = (index - 1) >> 1) {
      if (!isBefore(this.#heap[index]!, this.#heap[parent]!)) return;
      this.#swap(index, parent);
    }
  }

  #sink(index: number): void {
    while (true) {
      const [left, right] = [2 * index + 1, 2 * index + 2];
      let first = index;
      for (const child of [left, right]) {
        const candidate = this.#heap[child];
        if (candidate !== undefined && isBefore(candidate, this.#heap[first]!)) first = child;
      }
      if (first === index) return;
      this.#swap(index, first);
      index = first;
    }
  }

  #swap(one: number, other: number): void {
    [this.#heap[one], this.#heap[other]] = [this.#heap[other]!, this.#heap[one]!];
  }
}

function isBefore(one: Event, other: Event): boolean {
  return one.at < other.at || one.at === other.at && one.order < other.order;
}
