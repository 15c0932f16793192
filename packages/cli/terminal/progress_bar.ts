import process from "node:process";
import type { Progress } from "../../agent-files/transfer/put.ts";
import { progressLine } from "./progress_line.ts";
import { TransferRate } from "./transfer_rate.ts";

const MILLISECONDS_BETWEEN = 100;
/** The width of a terminal that does not report its own. */
const USUAL_COLUMNS = 80;

/** Draws a transfer's progress on standard error, if that is a terminal. */
export class ProgressBar implements Disposable {
  readonly #name: string;
  readonly #isShown: boolean;
  #phase: Progress["phase"] | null = null;
  #rate = new TransferRate();
  #drawnAt = 0;
  #isDrawn = false;

  constructor(name: string, { json }: { readonly json: boolean }) {
    this.#name = name;
    this.#isShown = process.stderr.isTTY === true && !json;
  }

  readonly show = (progress: Progress): void => {
    const now = performance.now();
    const { phase, bytes, size } = progress;
    if (
      !this.#isShown ||
      (now - this.#drawnAt < MILLISECONDS_BETWEEN && bytes < size)
    ) return;
    if (phase !== this.#phase) {
      [this.#phase, this.#rate] = [phase, new TransferRate()];
    }
    this.#drawnAt = now;
    this.#isDrawn = true;
    const line = progressLine({
      ...progress,
      name: this.#name,
      bytesPerSecond: this.#rate.perSecond(bytes, now),
      columns: process.stderr.columns || USUAL_COLUMNS,
    });
    process.stderr.write(`\r\x1b[K${line}`);
  };

  [Symbol.dispose](): void {
    if (this.#isDrawn) process.stderr.write("\r\x1b[K");
  }
}
