import { type Outcome, playHistory, type Question, type Stage } from "../history.ts";
import { FIRST_OPENING, NOTHING_OMITTED, type Omissions } from "../world/decisions.ts";

/** A failing history, and the least of it that was found to fail in the same way. */
export interface Shrunk {
  readonly question: Question;
  readonly outcome: Outcome;
  /** How many histories were played for it. */
  readonly plays: number;
}

const MOST_PLAYS = 150;

/**
 * Leaves steps out of a failing history, also of its beginning, then faults and delays, as long as
 * the same invariant breaks.
 */
export async function shrink(stage: Stage, question: Question, failing: Outcome): Promise<Shrunk> {
  const invariant = failing.violation!.invariant;
  let outcome = failing;
  let plays = 0;
  let least: Question & { readonly omissions: Omissions } = {
    ...question,
    omissions: NOTHING_OMITTED,
  };

  async function fails(tried: Partial<Question>): Promise<boolean> {
    if (plays >= MOST_PLAYS) return false;
    plays++;
    const asked = { ...least, ...tried };
    const played = await playHistory(stage, asked);
    if (played.violation?.invariant !== invariant) return false;
    [outcome, least] = [played, asked];
    return true;
  }

  const all = failing.made;
  // Otherwise, every history that does not fail would go on to the end.
  await fails({ steps: lastOf(all) });
  const kept = await leastOf(all, (some) => {
    const steps = new Set(all.filter((step) => !some.includes(step)));
    return fails({ omissions: { ...least.omissions, steps } });
  });
  // Decisions of steps that are left out are not taken any more.
  const taken = outcome.taken;
  await leastOf(taken, (some) => {
    const calm = new Set(taken.filter((decision) => !some.includes(decision)));
    return fails({ omissions: { ...least.omissions, calm } });
  });
  await fails({ steps: lastOf(kept) });
  return { question: least, outcome, plays };
}

/** The last step that does not belong to the beginning. */
function lastOf(steps: readonly number[]): number {
  return Math.max(0, ...steps.filter((step) => step < FIRST_OPENING));
}

/** Delta debugging: a part of `items` that still fails, and passes without any piece tried. */
export async function leastOf<Item>(
  items: readonly Item[],
  fails: (some: readonly Item[]) => Promise<boolean>,
): Promise<readonly Item[]> {
  let least = items;
  for (let length = Math.ceil(items.length / 2); least.length > 0;) {
    let isSmaller = false;
    for (let start = 0; start < least.length;) {
      const without = [...least.slice(0, start), ...least.slice(start + length)];
      if (await fails(without)) [least, isSmaller] = [without, true];
      else start += length;
    }
    if (length === 1 && !isSmaller) break;
    length = Math.ceil(length / 2);
  }
  return least;
}
