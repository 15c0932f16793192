import { reasonOf } from "../../../local/command/command_error.ts";
import type { Outcome } from "./action.ts";

/** The oldest is forgotten first. */
const MOST_KEPT = 100;

/** What an action did, or why it failed. `home`: the agent whose page to go back to. */
export type Result =
  | { readonly home: string | null; readonly outcome: Outcome; readonly wasShown: boolean }
  | { readonly home: string | null; readonly failure: string };

/** What actions did, for the pages that forms lead to. */
export class Results {
  readonly #kept = new Map<string, Promise<Result>>();

  /** Keeps what is being done, so that whoever sends the form twice finds it, too. */
  async keep(id: string, home: string | null, doing: Promise<Outcome>): Promise<void> {
    const result = doing.then(
      (outcome): Result => ({ home, outcome, wasShown: false }),
      (error: unknown): Result => ({ home, failure: reasonOf(error) }),
    );
    this.#kept.set(id, result);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MOST_KEPT) break;
      this.#kept.delete(oldest);
    }
    await result;
  }

  /** Waits until it is done. A secret in it is there the first time, and never again. */
  async take(id: string): Promise<Result | null> {
    const kept = this.#kept.get(id);
    if (kept === undefined) return null;
    const result = await kept;
    if (!("outcome" in result) || result.wasShown || this.#kept.get(id) !== kept) {
      return await this.#kept.get(id) ?? null;
    }
    const { secret: _, ...outcome } = result.outcome;
    this.#kept.set(id, Promise.resolve({ ...result, outcome, wasShown: true }));
    return result;
  }
}
