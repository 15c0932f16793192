import type { Platform } from "../operations/operation.ts";
import type { CallerArgument } from "../request/caller.ts";
import type { Slot } from "../request/rate_limits.ts";
import { noteOrdinary } from "../request_record.ts";
import type { CallDatabase } from "../upstream/database.ts";
import { Places } from "./places.ts";
import { Questions } from "./questions.ts";
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

/** The places for those who wait, their own questions, and what asks for all of them. */
interface Room {
  readonly places: Places;
  readonly questions: Questions;
  readonly waits: Waits;
}

/** One per database, so that all operations of a function wait together. */
const roomOf = new WeakMap<CallDatabase, Room>();

/**
 * The answer that has news, as soon as there is one; the ordinary answer when the time is over. The
 * database always gave it to this caller: one that may no longer ask gets the refusal. If nobody
 * listens any more, or the process has to end, it is the latest one. Throws upstream_unavailable,
 * before the database is asked, if as many requests wait as the process can hold.
 */
export async function answerWithNews<Answer>(
  { callDatabase, settings }: Platform,
  { ask, askAgain = ask, hasNews, waitAfter }: Question<Answer>,
  { seconds, caller, request, slot }: {
    readonly seconds: number;
    readonly caller: CallerArgument;
    readonly request: Request;
    readonly slot: Slot;
  },
): Promise<Answer> {
  const endsAt = performance.now() + seconds * 1000;
  const { places, questions, waits } = roomOf.get(callDatabase) ?? {
    places: new Places(settings.waitsAtOnce),
    questions: new Questions(),
    waits: new Waits(callDatabase),
  };
  roomOf.set(callDatabase, { places, questions, waits });

  const place = places.enter(caller);
  try {
    let answer = await questions.ask(ask);
    while (!hasNews(answer)) {
      const milliseconds = endsAt - performance.now();
      if (milliseconds <= 0) break;
      // For up to 140 seconds the request does nothing, and is not counted among those at once.
      const end = await slot.whileFree(() =>
        waits.wait(waitAfter(answer), { milliseconds, listener: request.signal, place })
      );
      if (end === "dismissed" || end === "gone") break;
      answer = await questions.ask(askAgain);
    }
    if (!hasNews(answer)) noteOrdinary({ hasWaited: true });
    return answer;
  } finally {
    place.leave();
  }
}
