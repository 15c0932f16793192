import { setImmediate } from "node:timers";
import type { Clock } from "./clock.ts";

/** Something that will happen at a time of the timeline, unless it is cancelled. */
export interface Entry {
  readonly at: number;
  readonly order: number;
  /** Whose process does it; null: the network or the history. */
  readonly clock: Clock | null;
  /** When it is due by the steady clock of that machine. */
  readonly due: number;
  readonly run: () => void;
  isCancelled: boolean;
}

interface DenoCore {
  readonly core?: { readonly runMicrotasks?: () => void };
}

/**
 * V8 runs microtasks when the stack is empty, which takes ten times as long. Without this internal
 * function of Deno, that is what happens, with the same history.
 */
const { core } = (Deno as unknown as { internal: string } & Record<string, DenoCore>)[
  (Deno as unknown as { internal: string }).internal
] as DenoCore;

/**
 * Everything that happens in a simulated network, in order. Each entry runs to its end, with the
 * microtasks that it causes, before the next one begins.
 */
export class Timeline {
  /** Milliseconds of true time. */
  now = 0;
  /** Whose code runs. Timers that it sets are timers of that machine. */
  current: Clock | null = null;
  /** How many entries have run. */
  steps = 0;
  readonly #heap: Entry[] = [];
  #held: Promise<unknown>[] = [];
  #order = 0;

  at(at: number, run: () => void, clock: Clock | null = null): Entry {
    const due = clock === null ? at : clock.steady() + at - this.now;
    const entry = { at, order: this.#order++, clock, due, run, isCancelled: false };
    this.#push(entry);
    return entry;
  }

  /** Puts off an entry. */
  again(entry: Entry, at: number): void {
    this.#push(Object.assign(entry, { at, order: this.#order++ }));
  }

  /** Runs a function as the network, not as the machine whose code calls this. */
  outside<Result>(run: () => Result): Result {
    const before = this.current;
    this.current = null;
    try {
      return run();
    } finally {
      this.current = before;
    }
  }

  /** Stops time until the promise settles. It must not wait for anything simulated. */
  hold(promise: Promise<unknown>): void {
    this.#held.push(promise.catch(() => {}));
  }

  async runUntil(end: number): Promise<void> {
    for (let isOver = false; !isOver;) {
      await Promise.all(this.#held.splice(0));
      isOver = await new Promise<boolean>((resolve, reject) =>
        setImmediate(() => {
          try {
            resolve(this.#runSome(end));
          } catch (error) {
            reject(error);
          }
        })
      );
    }
    this.now = end;
    this.current = null;
  }

  /** Returns whether everything until `end` has happened. */
  #runSome(end: number): boolean {
    for (;;) {
      const [next] = this.#heap;
      if (next === undefined || next.at > end) return true;
      this.#pop();
      if (next.isCancelled) continue;
      this.now = next.at;
      if (next.clock?.postpones(next)) continue;
      this.current = next.clock;
      this.steps += 1;
      next.run();
      if (core?.runMicrotasks === undefined) return false;
      core.runMicrotasks();
      if (this.#held.length > 0) return false;
    }
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.push(entry) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (isBefore(heap[parent]!, entry)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
      if (isBefore(last, heap[child]!)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}

function isBefore(one: Entry, other: Entry): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}
