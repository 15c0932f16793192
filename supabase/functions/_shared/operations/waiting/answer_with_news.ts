import type { Platform } from "../operation.ts";
import type { CallerArgument } from "../../identity/callers/caller.ts";
import type { Slot } from "../../request/limits/rate_limits.ts";
import { noteOrdinary } from "../../request/request_record.ts";
import type { CallDatabase } from "../../data/database.ts";
import { Places } from "./places.ts";
import { Questions } from "./questions.ts";
import { type Wait, Waits } from "./waits.ts";

/** What to ask the database, and what to wait for if the answer has nothing new. */
export interface Question<Answer> {
  /** Answers the request as if it did not wait. */
  readonly ask: () => Promise<Answer>;
  /** Asks again. Default: `ask`. */
  readonly askAgain?: () => Promise<Answer>;
  readonly hasNews: (answer: Answer) => boolean;
  readonly waitAfter: (answer: Answer) => Wait;
}

/** What waiting requests share: places, a queue for their own questions, and one poll for all. */
interface Room {
  readonly places: Places;
  readonly questions: Questions;
  readonly waits: Waits;
}

/** One per database, so that all operations of a function wait together. */
const roomOf = new WeakMap<CallDatabase, Room>();

/**
 * Returns the first answer that has news. Without news, returns the latest answer when the time is
 * over, when the client has disconnected, or when the process has to end. Every answer was given to
 * this caller by the database, so a caller that has lost its access gets the refusal. Throws
 * upstream_unavailable, before it asks the database, if the process cannot hold another waiting
 * request.
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

  const place = places.enter(caller, slot.identity);
  try {
    let answer = await questions.ask(ask);
    while (!hasNews(answer)) {
      const milliseconds = endsAt - performance.now();
      if (milliseconds <= 0) break;
      // For up to 140 seconds the request does nothing, so it does not count as a concurrent one.
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
