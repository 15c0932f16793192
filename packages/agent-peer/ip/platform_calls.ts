/**
 * `setImmediate` runs when the platform has handled everything that came in together, such as
 * several datagrams.
 */

interface Globals {
  readonly setImmediate?: (run: () => void) => unknown;
}

/** Runs a function at the end of this turn of the event loop, or soon after. */
export function atEndOfTurn(run: () => void): void {
  const { setImmediate } = globalThis as Globals;
  if (setImmediate === undefined) queueMicrotask(run);
  else setImmediate(run);
}

/**
 * Returns a source of random 32-bit numbers. Gets many at a time, because the platform's is slow.
 */
export function randomNumbers(): () => number {
  const numbers = new Uint32Array(64);
  let next = numbers.length;
  return () => {
    if (next === numbers.length) {
      crypto.getRandomValues(numbers);
      next = 0;
    }
    return numbers[next++]!;
  };
}
