import type { Random } from "../../../../../tests/seeds/random.ts";
import type { Entry, Timeline } from "./timeline.ts";

/**
 * How a machine stands still. Asleep, its steady clock stops and its network is gone: a laptop's
 * lid, a paused virtual machine. Frozen, a program alone stops, and the kernel keeps datagrams.
 */
export type Pause = "asleep" | "frozen";

/** In milliseconds. */
const LEAST_WAIT = 0.001;

/** 2030-01-01. */
const EPOCH = Date.UTC(2030, 0, 1);

/** The clocks of one machine, and the timers of the program on it. */
export class Clock {
  readonly timeline: Timeline;
  /** The source of what the program's `crypto` returns. */
  readonly random: Random;
  /** The memories of the program's WebAssembly. */
  readonly memories: WebAssembly.Memory[] = [];
  #pause: Pause | null = null;
  #pausedAt = 0;
  /** For how long the machine has slept. */
  #slept = 0;
  #wallOffset = 0;
  #furthestOffset = 0;
  /** What was due while the machine stood still. */
  #waiting: Entry[] = [];
  readonly #timers = new Map<number, Entry>();
  #nextTimer = 1;

  constructor(timeline: Timeline, random: Random) {
    this.timeline = timeline;
    this.random = random;
  }

  /** Milliseconds of CLOCK_MONOTONIC: what `performance.now` shows. */
  steady(): number {
    const isAsleep = this.#pause === "asleep";
    return (isAsleep ? this.#pausedAt : this.timeline.now) - this.#slept;
  }

  /** Milliseconds since 1970: what `Date.now` shows. */
  wall(): number {
    return Math.floor(EPOCH + this.timeline.now + this.#wallOffset);
  }

  /** Somebody sets the wall clock. */
  setWall(offset: number): void {
    this.#wallOffset += offset;
    this.#furthestOffset = Math.max(this.#furthestOffset, this.#wallOffset);
  }

  /** Whether the wall clock shows a time that it has shown before. */
  get isSetBack(): boolean {
    return this.#wallOffset < this.#furthestOffset;
  }

  get pause(): Pause | null {
    return this.#pause;
  }

  stop(pause: Pause): void {
    if (this.#pause !== null) return;
    this.#pausedAt = this.timeline.now;
    this.#pause = pause;
  }

  continue(): void {
    if (this.#pause === null) return;
    const { now } = this.timeline;
    if (this.#pause === "asleep") this.#slept += now - this.#pausedAt;
    this.#pause = null;
    for (const entry of this.#waiting.splice(0)) this.timeline.again(entry, now);
  }

  /** Whether an entry of this machine cannot run now. If so, it will run later. */
  postpones(entry: Entry): boolean {
    if (this.#pause !== null) {
      this.#waiting.push(entry);
      return true;
    }
    const early = entry.due - this.steady();
    if (early <= 0.001) return false;
    this.timeline.again(entry, this.timeline.now + early);
    return true;
  }

  setTimer(run: () => void, milliseconds: number): number {
    const id = this.#nextTimer++;
    const action = () => {
      this.#timers.delete(id);
      run();
    };
    const wait = Math.max(0, Number.isFinite(milliseconds) ? milliseconds : 0);
    const { now } = this.timeline;
    // A wait that is lost in rounding would run again and again at the same time.
    const at = wait > 0 && now + wait === now ? now + LEAST_WAIT : now + wait;
    this.#timers.set(id, this.timeline.at(at, action, this));
    return id;
  }

  clearTimer(id: number): void {
    const entry = this.#timers.get(id);
    if (entry !== undefined) entry.isCancelled = true;
    this.#timers.delete(id);
  }

  /** The program dies: nothing of it will run any more. */
  kill(): void {
    for (const id of this.#timers.keys()) this.clearTimer(id);
    for (const entry of this.#waiting.splice(0)) entry.isCancelled = true;
    this.memories.length = 0;
  }
}
