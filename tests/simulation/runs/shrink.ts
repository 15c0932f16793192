import { type Outcome, playHistory, type Question, type Stage } from "../history.ts";

/** A failing history, and the least of it that was found to fail in the same way. */
export interface Shrunk {
  readonly question: Question;
  readonly outcome: Outcome;
  /** How many histories were played for it. */
  readonly plays: number;
}

const MOST_PLAYS = 150;

/**
 * Leaves steps out of a failing history, then faults and delays, as long as the same invariant
 * breaks.
 */
export async function shrink(stage: Stage, question: Question, failing: Outcome): Promise<Shrunk> {
  const invariant = failing.violation!.invariant;
  let outcome = failing;
  let plays = 0;
  let steps = new Set<number>();
  let calm = new Set<string>();

  async function fails(tried: { steps: Set<number>; calm: Set<string> }): Promise<boolean> {
    if (plays >= MOST_PLAYS) return false;
    plays++;
    const played = await playHistory(stage, { ...question, omissions: tried });
    if (played.violation?.invariant !== invariant) return false;
    outcome = played;
    return true;
  }

  const all = Array.from({ length: question.steps }, (_, index) => index + 1);
  const kept = await leastOf(all, async (some) => {
    const tried = new Set(all.filter((step) => !some.includes(step)));
    if (!await fails({ steps: tried, calm })) return false;
    steps = tried;
    return true;
  });
  // Decisions of steps that are left out are not taken any more.
  const taken = outcome.taken;
  await leastOf(taken, async (some) => {
    const tried = new Set(taken.filter((decision) => !some.includes(decision)));
    if (!await fails({ steps, calm: tried })) return false;
    calm = tried;
    return true;
  });
  const last = Math.max(0, ...kept);
  const end = { ...question, steps: last, omissions: { steps, calm } };
  // Time that passes after the last step may be needed.
  const shorter = await playHistory(stage, end);
  return shorter.violation?.invariant === invariant
    ? { question: end, outcome: shorter, plays }
    : { question: { ...question, omissions: { steps, calm } }, outcome, plays };
}

/** Delta debugging: a part of `items` that still fails, and passes without any piece tried. */
export async function leastOf<Item>(
  items: readonly Item[],
  fails: (some: readonly Item[]) => Promise<boolean>,
): Promise<readonly Item[]> {
  let least = items;
  for (let pieces = 2; least.length > 0;) {
    const length = Math.ceil(least.length / pieces);
    let isSmaller = false;
    for (let start = 0; start < least.length; start += length) {
      const without = [...least.slice(0, start), ...least.slice(start + length)];
      if (!await fails(without)) continue;
      [least, isSmaller] = [without, true];
      break;
    }
    if (isSmaller) pieces = Math.max(2, pieces - 1);
    else if (length === 1) break;
    else pieces = Math.min(least.length, pieces * 2);
  }
  return least;
}
