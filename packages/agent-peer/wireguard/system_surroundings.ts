import type { Surroundings } from "./surroundings.ts";

/** The clocks, timers and random numbers of this machine. */
export function systemSurroundings(): Surroundings {
  return {
    now: sleepProofClock({
      steady: () => performance.now(),
      wall: () => Date.now(),
    }),
    unixTime: () => Date.now(),
    randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
    after(milliseconds, action) {
      const timer = setTimeout(action, milliseconds);
      return () => clearTimeout(timer);
    },
  };
}

/**
 * A clock that never goes back and continues while the machine sleeps. During sleep, a steady clock
 * may stop. The wall clock continues, but may be set back. So this clock follows the faster of the
 * two. If the wall clock is set forward, sessions seem old and are replaced, which does no harm.
 */
export function sleepProofClock(
  { steady, wall }: {
    readonly steady: () => number;
    readonly wall: () => number;
  },
): () => number {
  let [time, lastSteady, lastWall] = [0, steady(), wall()];
  return () => {
    const [nowSteady, nowWall] = [steady(), wall()];
    time += Math.max(0, nowSteady - lastSteady, nowWall - lastWall);
    [lastSteady, lastWall] = [nowSteady, nowWall];
    return time;
  };
}
