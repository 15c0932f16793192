import type { Sample } from "./exposition.ts";

/** The upper bounds of the buckets, in seconds: from a lookup to the deadline of a call. */
const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

/** A histogram of durations for Prometheus. */
export class Histogram {
  /** Counts per bucket, not cumulative. The last bucket has no bound. */
  readonly #counts = new Array<number>(BOUNDS.length + 1).fill(0);
  #sum = 0;

  observe(seconds: number): void {
    const bucket = BOUNDS.findIndex((bound) => seconds <= bound);
    this.#counts[bucket === -1 ? BOUNDS.length : bucket]! += 1;
    this.#sum += seconds;
  }

  samples(labels: Readonly<Record<string, string>>): Sample[] {
    let count = 0;
    const buckets = this.#counts.map((own, place) => {
      count += own;
      const le = place < BOUNDS.length ? String(BOUNDS[place]) : "+Inf";
      return { suffix: "_bucket", labels: { ...labels, le }, value: count };
    });
    return [
      ...buckets,
      { suffix: "_sum", labels, value: this.#sum },
      { suffix: "_count", labels, value: count },
    ];
  }
}
