import type { Described } from "./command.ts";
import { definitions, wrapped } from "./layout.ts";

/** What a program with verbs says of itself, in its help and in its manual page. */
export interface About {
  readonly name: string;
  /** A sentence that begins with the name. */
  readonly summary: string;
  /** What applies to every verb, a paragraph each. */
  readonly notes: readonly string[];
  readonly exitCodes: readonly (readonly [code: string, meaning: string])[];
}

/** What `<name> --help` prints, wrapped at `columns`. */
export function helpOfAll(
  { name, summary, notes, exitCodes }: About,
  verbs: Readonly<Record<string, Described>>,
  columns: number,
): string {
  const summaries = Object.entries(verbs).map(([verb, { summary }]) => [verb, summary] as const);
  return [
    `${wrapped(summary, columns)}\n`,
    `Usage: ${name} <verb> …\n`,
    definitions(summaries, columns),
    ...notes.map((text) => `${wrapped(text, columns)}\n`),
    `Exit codes:\n${definitions(exitCodes, columns)}`,
  ].join("\n");
}
