import { appendFile, rename, stat } from "node:fs/promises";
import type { Flow } from "../../../agent-peer/mesh/flows/flow.ts";
import { lineOf } from "./flow_line.ts";

/** When the file has so many bytes, it is renamed, and a new one begins. */
export const MOST_BYTES: number = 16 * 1024 * 1024;
/** The most lines that wait for a slow disk. More are lost. */
const MOST_WAITING = 10_000;

/** The name of the file before the present one. */
export function earlierFile(path: string): string {
  return `${path}.1`;
}

/**
 * A file of flows, one a line, which only its owner can read. Nothing waits for it: if it cannot be
 * written, lines are lost, and `warn` is called once.
 */
export class FlowFile {
  readonly #path: string;
  readonly #warn: (message: string) => void;
  #waiting: string[] = [];
  #writing: Promise<void> | null = null;
  /** Whether the last write failed: it may have left a part of a line. */
  #isBroken = false;
  #hasWarned = false;

  constructor(path: string, warn: (message: string) => void) {
    this.#path = path;
    this.#warn = warn;
    // Creates the file, so that a wrong path is told now.
    this.#writing = this.#drain();
  }

  add(flow: Flow): void {
    if (this.#waiting.length >= MOST_WAITING) {
      return this.#fail(new Error("the disk is too slow"));
    }
    this.#waiting.push(`${lineOf(flow)}\n`);
    this.#writing ??= this.#drain();
  }

  /** Resolves when everything is written, or lost. */
  async close(): Promise<void> {
    await this.#writing;
  }

  async #drain(): Promise<void> {
    do {
      const text = this.#waiting.splice(0).join("");
      try {
        await this.#beginAnother();
        const ending = this.#isBroken ? "\n" : "";
        this.#isBroken = true;
        await appendFile(this.#path, ending + text, { mode: 0o600 });
        this.#isBroken = false;
      } catch (error) {
        this.#fail(error);
      }
    } while (this.#waiting.length > 0);
    this.#writing = null;
  }

  async #beginAnother(): Promise<void> {
    const found = await stat(this.#path).catch(() => null);
    if (found?.isFile() && found.size >= MOST_BYTES) {
      await rename(this.#path, earlierFile(this.#path));
    }
  }

  #fail(error: unknown): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    const reason = error instanceof Error ? error.message : String(error);
    this.#warn(`The flows are not all written to ${this.#path}: ${reason}`);
  }
}
