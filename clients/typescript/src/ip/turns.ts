/** When the platform has handled what came in together, such as several datagrams. */

interface Globals {
  readonly setImmediate?: (run: () => void) => unknown;
}

const { setImmediate } = globalThis as Globals;

/** Runs a function at the end of this turn of the event loop, or soon after. */
export function atEndOfTurn(run: () => void): void {
  if (setImmediate === undefined) queueMicrotask(run);
  else setImmediate(run);
}

/** Four random bytes as a number, many at a time: a call of the platform's source is slow. */
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
