export interface Sample {
  readonly minutes: number;
  readonly rss: number;
  /** Measured after a forced garbage collection. */
  readonly heapUsed: number;
  readonly lwipBytes: number;
}

/**
 * By then, lwIP's memory has nearly reached its largest size. 1,000 connections on a link that
 * loses packets needed 8 to 13 minutes for that.
 */
const WARM_UP_MINUTES = 10;

/** The least number of samples: one half of them is compared with the other half. */
const LEAST_SAMPLES = 12;

/** For one sample every 30 seconds. */
export const LEAST_MINUTES = WARM_UP_MINUTES + LEAST_SAMPLES / 2;

/**
 * The largest allowed ratio of the second half's median to the first half's. In an hour without a
 * leak, the ratio was at most 1.007 for lwIP, whose memory never shrinks, and 1.04 for the whole
 * process, because allocators keep freed memory. The heap, after a forced collection, varied by 2 %
 * within a minute. Even growth by 4 %, 6 % and 10 % after the warm-up exceeds these limits.
 */
const MOST_GROWTH: Readonly<Record<Exclude<keyof Sample, "minutes">, number>> = {
  lwipBytes: 1.02,
  heapUsed: 1.03,
  rss: 1.05,
};

/**
 * Whether memory stays constant after the warm-up. It compares medians, so that a single outlier
 * neither hides a leak nor looks like one. Null if there are too few samples.
 */
export function isFlat(samples: readonly Sample[]): boolean | null {
  const warm = samples.filter(({ minutes }) => minutes >= WARM_UP_MINUTES);
  if (warm.length < LEAST_SAMPLES) return null;
  const middle = Math.floor(warm.length / 2);
  return Object.entries(MOST_GROWTH).every(([name, most]) => {
    const of = (part: readonly Sample[]) => median(part.map((one) => one[name as keyof Sample]));
    return of(warm.slice(middle)) <= of(warm.slice(0, middle)) * most;
  });
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  return (sorted[Math.floor((sorted.length - 1) / 2)]! + sorted[Math.floor(sorted.length / 2)]!) /
    2;
}
