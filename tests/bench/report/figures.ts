/** Saves the figures of a run as they come, so that an interrupted run keeps its figures. */
import { appendFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { RunDescription } from "./markdown.ts";

/** What is known of a run when it begins. */
export type BegunRun = Omit<RunDescription, "load"> & {
  readonly load: { readonly before: number };
};

export class Figures {
  private constructor(readonly file: string) {}

  /** Creates a file in `directory`. Its first line describes the run. */
  static async open(directory: string, run: BegunRun): Promise<Figures> {
    await mkdir(directory, { recursive: true });
    const time = new Date().toISOString().replaceAll(":", "-");
    const figures = new Figures(
      join(directory, `bench-${time}-${crypto.randomUUID().slice(0, 4)}.jsonl`),
    );
    figures.#append({ run });
    return figures;
  }

  /** Appends a line with one figure of a part. The line is written when this returns. */
  save(part: string, figure: object): void {
    this.#append({ part, ...figure });
  }

  #append(line: object): void {
    appendFileSync(this.file, `${JSON.stringify(line)}\n`);
  }
}
