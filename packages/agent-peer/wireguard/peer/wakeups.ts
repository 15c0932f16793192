import type { Surroundings } from "../surroundings.ts";
import type { PeerTimers } from "./timers.ts";

/** The longest wait between checks, because a timer stops while the machine sleeps. */
const LONGEST_SLEEP = 1000;

/** One timer for the duties of all peers. It fires at the earliest deadline, or before it. */
export class Wakeups {
  readonly #surroundings: Surroundings;
  readonly #timers: () => readonly PeerTimers[];
  #cancel: (() => void) | null = null;
  #at = Infinity;
  #isStopped = false;

  constructor(surroundings: Surroundings, timers: () => readonly PeerTimers[]) {
    this.#surroundings = surroundings;
    this.#timers = timers;
  }

  wakeBy(at: number): void {
    if (at >= this.#at || this.#isStopped) return;
    this.#cancel?.();
    const now = this.#surroundings.now();
    this.#at = Math.min(at, now + LONGEST_SLEEP);
    this.#cancel = this.#surroundings.after(
      Math.max(0, this.#at - now),
      () => this.#run(),
    );
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel?.();
    this.#cancel = null;
  }

  #run(): void {
    this.#at = Infinity;
    this.#cancel = null;
    const timers = this.#timers();
    for (const one of timers) one.run();
    this.wakeBy(Math.min(...timers.map((one) => one.earliest())));
  }
}
