export interface Sample {
  readonly minutes: number;
  readonly rss: number;
  readonly heapUsed: number;
  readonly lwipBytes: number;
}

/** How much more of each the second half may take than the first half has taken. */
const MOST_GROWTH: Readonly<Record<Exclude<keyof Sample, "minutes">, number>> = {
  lwipBytes: 1.25,
  heapUsed: 1.25,
  rss: 1.25,
};

/**
 * Whether memory stays, once the first fifth has filled what is reused. Null if there are too few
 * samples to tell.
 */
export function isFlat(samples: readonly Sample[]): boolean | null {
  const warm = samples.slice(Math.ceil(samples.length / 5));
  if (warm.length < 6) return null;
  const middle = Math.floor(warm.length / 2);
  return Object.entries(MOST_GROWTH).every(([name, most]) => {
    const of = (part: readonly Sample[]) =>
      part.reduce((sum, sample) => sum + sample[name as keyof Sample], 0) / part.length;
    return of(warm.slice(middle)) <= of(warm.slice(0, middle)) * most;
  });
}
