import process from "node:process";
import type { Command } from "./command.ts";
import { helpOf } from "./help.ts";
import { type CommonOptions, type Named, parse, partOf } from "./parse.ts";
import { UsageError } from "./usage_error.ts";

/** Exit code of a wrong usage. */
const WRONG_USAGE = 2;

/** How a program runs its commands and reports their errors. */
export interface Program<Context> {
  /** Makes what a command needs to run. */
  readonly contextOf: (options: { readonly json: boolean }) => Context;
  /** The exit code for every error except UsageError. */
  readonly exitCodeOf: (error: unknown) => number;
  /** For a person: what went wrong, and what to do next. */
  readonly sentenceOf: (error: unknown, name: string) => string;
  /** The error as JSON, for a program. */
  readonly jsonOf: (error: unknown) => object;
  /** Whether to print no errors, because they follow from an interruption by a person. */
  readonly isSilent?: () => boolean;
}

/** Runs a command. Resolves to the exit code. */
export async function runCommand<Context>(
  whole: Named<Command<Context>>,
  { json, help }: CommonOptions,
  program: Program<Context>,
): Promise<number> {
  let { name } = whole;
  try {
    const part = await partOf(whole, { help });
    name = part.name;
    if (help) {
      process.stdout.write(
        helpOf(name, part.command, columnsOf(process.stdout)),
      );
      return 0;
    }
    const parsed = await parse(part.command, part.args);
    return await part.command.run(parsed, program.contextOf({ json })) ?? 0;
  } catch (error) {
    // The reader of the output, such as `head`, has closed the pipe: not an error.
    if ((error as NodeJS.ErrnoException)?.code === "EPIPE") return 0;
    return reportError(error, { name, json }, program);
  }
}

/**
 * If the reader of the output goes away, the write that fails reports it. The stream's event would
 * end the process with a stack trace.
 */
export function surviveClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    if (stream.listenerCount("error") === 0) stream.on("error", () => {});
  }
}

/** Writes an error to standard error. Returns the exit code. */
export function reportError<Context>(
  error: unknown,
  { name, json }: { readonly name: string; readonly json: boolean },
  { exitCodeOf, sentenceOf, jsonOf, isSilent }: Omit<
    Program<Context>,
    "contextOf"
  >,
): number {
  if (isSilent?.()) return exitCodeOf(error);
  const isUsage = error instanceof UsageError;
  const text = json
    ? JSON.stringify(jsonOf(error))
    : isUsage
    ? `${name}: ${error.message} See: ${name} --help`
    : sentenceOf(error, name);
  process.stderr.write(`${text}\n`);
  return isUsage ? WRONG_USAGE : exitCodeOf(error);
}

const WIDEST_COLUMNS = 100;

/** The width of a pipe, and of a terminal that does not report its own. */
const USUAL_COLUMNS = 80;

/** How wide a text for a person may be. */
export function columnsOf(stream: NodeJS.WriteStream): number {
  // Some terminals report 0 columns.
  return Math.min(stream.columns || USUAL_COLUMNS, WIDEST_COLUMNS);
}
