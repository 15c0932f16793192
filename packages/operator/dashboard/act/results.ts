import { reasonOf } from "../../../command/command_error.ts";
import type { Outcome } from "./action.ts";

/** How many results are kept. The oldest is forgotten first. */
const MOST_KEPT = 100;

/** What an action did, or why it failed. `home`: the agent whose page to go back to. */
export type Result =
  | { readonly home: string | null; readonly outcome: Outcome; readonly wasShown: boolean }
  | { readonly home: string | null; readonly failure: string };

/** Keeps what actions did, for the pages that the forms lead to. */
export class Results {
  readonly #kept = new Map<string, Promise<Result>>();

  /** Keeps the running action, so that sending the form twice leads to the same result. */
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

  /** Waits until the action is done. Only the first call returns the result's secret. */
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
