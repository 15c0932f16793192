/** How long `run` takes, in milliseconds. */
export async function milliseconds(run: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await run();
  return performance.now() - startedAt;
}

/** The middle one of these times; of an even number, the longer of the middle two. */
export function median(times: readonly number[]): number {
  return times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)]!;
}
