import type { Slot } from "../request/rate_limits.ts";
import type { CallDatabase } from "../upstream/database.ts";
import { type Wait, Waits } from "./waits.ts";

/** What to ask, and what to wait for where the answer has nothing to tell. */
export interface Question<Answer> {
  /** Answers the request as if it did not wait. */
  readonly ask: () => Promise<Answer>;
  /** Asks again. Default: `ask`. */
  readonly askAgain?: () => Promise<Answer>;
  readonly hasNews: (answer: Answer) => boolean;
  readonly waitAfter: (answer: Answer) => Wait;
}

/** One per database, so that all operations of a function wait together. */
const waitsOf = new WeakMap<CallDatabase, Waits>();

/**
 * The answer with something to tell, as soon as there is one; the ordinary answer when the time is
 * over. It is always one that the database gave to this caller: whoever may not ask any more gets
 * the refusal. Where nobody listens any more, or the process has to end, it is the last one.
 */
export async function answerWithNews<Answer>(
  callDatabase: CallDatabase,
  { ask, askAgain = ask, hasNews, waitAfter }: Question<Answer>,
  { seconds, request, slot }: {
    readonly seconds: number;
    readonly request: Request;
    readonly slot: Slot;
  },
): Promise<Answer> {
  const timeIsOver = AbortSignal.timeout(seconds * 1000);
  const waits = waitsOf.get(callDatabase) ?? new Waits(callDatabase);
  waitsOf.set(callDatabase, waits);

  let answer = await ask();
  while (!hasNews(answer) && !timeIsOver.aborted) {
    const signal = AbortSignal.any([timeIsOver, request.signal]);
    // For up to 50 seconds the request does nothing, and is not counted among those at once.
    const end = await slot.whileFree(() => waits.wait(waitAfter(answer), signal));
    if (end === "dismissed" || request.signal.aborted) break;
    answer = await askAgain();
  }
  return answer;
}
