import { abortable } from "../http/abortable.ts";
import type { GivenUp, Hold } from "./hold.ts";

/** How long the end of a loop waits until the service knows what is given back. */
const GIVE_BACK_SECONDS = 5;

/** The takes of one loop. */
export class UnderWay {
  readonly #holds = new Set<Hold>();
  /** Requests that may still take something. */
  readonly #requests = new Set<Promise<unknown>>();
  #onLeave = () => {};
  #ended: { readonly why: GivenUp; readonly givenBack: Promise<void>[] } | null = null;

  get size(): number {
    return this.#holds.size;
  }

  /** Counts a take until it is over. Gives it back at once if the loop has ended. */
  add(hold: Hold): void {
    this.#holds.add(hold);
    hold.over.addEventListener("abort", () => {
      this.#holds.delete(hold);
      this.#onLeave();
    }, { once: true });
    if (this.#ended !== null) this.#giveBack(hold);
  }

  /** The end of the loop waits for this request: what it takes then is given back. */
  expect(request: Promise<unknown>): void {
    const arrived = request.catch(() => {}).then(() => void this.#requests.delete(arrived));
    this.#requests.add(arrived);
  }

  /** Resolves when fewer takes than this are left. Rejects when the signal is aborted. */
  async below(count: number, signal: AbortSignal): Promise<void> {
    while (this.#holds.size >= count) {
      await abortable(new Promise<void>((resolve) => this.#onLeave = resolve), signal);
    }
  }

  /** Gives back what is left, and what arrives later. Resolves when the service knows. */
  async end(why: GivenUp): Promise<void> {
    if (this.#ended === null) {
      this.#ended = { why, givenBack: [] };
      for (const hold of this.#holds) this.#giveBack(hold);
    }
    const arrived = Promise.all(this.#requests);
    await abortable(arrived, AbortSignal.timeout(GIVE_BACK_SECONDS * 1000)).catch(() => {});
    await Promise.all(this.#ended.givenBack);
  }

  #giveBack(hold: Hold): void {
    const { why, givenBack } = this.#ended!;
    givenBack.push(hold.giveBackAtOnce(why, { seconds: GIVE_BACK_SECONDS }));
  }
}
