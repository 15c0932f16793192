export interface Sample {
  readonly minutes: number;
  readonly rss: number;
  /** After a collection of garbage. */
  readonly heapUsed: number;
  readonly lwipBytes: number;
}

/**
 * Until then, lwIP's memory still finds its largest size: 1,000 connections on a link that loses
 * packets needed 8 to 13 minutes for that.
 */
const WARM_UP_MINUTES = 10;

/** Fewer say nothing: half of them are compared with the other half. */
const LEAST_SAMPLES = 12;

/** With a sample every half a minute. */
export const LEAST_MINUTES = WARM_UP_MINUTES + LEAST_SAMPLES / 2;

/**
 * By what the median of the second half may exceed that of the first. In an hour without a leak,
 * it was at most 1.007 for lwIP, whose memory never shrinks, and 1.04 for the whole process, as
 * allocators keep what is freed. The heap, after a forced collection, moved by 2 % in a minute.
 * Memory that grows evenly by 4 %, 6 % and 10 % after the warm-up is beyond.
 */
const MOST_GROWTH: Readonly<Record<Exclude<keyof Sample, "minutes">, number>> = {
  lwipBytes: 1.02,
  heapUsed: 1.03,
  rss: 1.05,
};

/**
 * Whether memory stays the same after the warm-up. Medians, so that one sample in the middle of
 * something neither hides a leak nor looks like one. Null if there are too few samples to tell.
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
