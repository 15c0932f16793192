import process from "node:process";
import type { Progress } from "../../transfer/put.ts";
import { inBytes, plain } from "./output.ts";

const DOING = { upload: "uploading", verify: "verifying", download: "downloading" };
const BAR_COLUMNS = 24;
const MILLISECONDS_BETWEEN = 100;

/** Draws a transfer's progress on standard error, if that is a terminal. */
export class ProgressBar implements Disposable {
  readonly #name: string;
  readonly #isShown: boolean;
  #drawnAt = 0;
  #isDrawn = false;

  constructor(name: string, { json }: { readonly json: boolean }) {
    this.#name = plain(name);
    this.#isShown = process.stderr.isTTY === true && !json;
  }

  readonly show = ({ phase, bytes, size }: Progress): void => {
    const now = performance.now();
    if (!this.#isShown || (now - this.#drawnAt < MILLISECONDS_BETWEEN && bytes < size)) return;
    this.#drawnAt = now;
    this.#isDrawn = true;
    const part = size === 0 ? 1 : bytes / size;
    const done = Math.round(part * BAR_COLUMNS);
    const bar = "█".repeat(done) + "░".repeat(BAR_COLUMNS - done);
    const percent = `${Math.floor(part * 100)}`.padStart(3);
    process.stderr.write(
      `\r\x1b[K${DOING[phase]} ${this.#name}  ${bar} ${percent}%  ${inBytes(bytes)}`,
    );
  };

  [Symbol.dispose](): void {
    if (this.#isDrawn) process.stderr.write("\r\x1b[K");
  }
}
