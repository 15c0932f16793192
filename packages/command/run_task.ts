import { defineCommandFor, type Definition, type Options } from "./command.ts";
import { takeCommonOptions } from "./parse.ts";
import { type Program, runCommand, surviveClosedPipes } from "./run.ts";
import { UsageError } from "./usage_error.ts";
import { Output } from "./terminal/output.ts";
import { reasonOf } from "./command_error.ts";

const defineTask = defineCommandFor<Output>();

interface Task<Own extends Options> extends Omit<Definition<Own, Output>, "options"> {
  /** The task's name in deno.json. */
  readonly task: string;
  readonly options?: Own;
}

/**
 * Runs a task of deno.json with this program's arguments, to its end. Every task takes `--help`,
 * and `--json` for one JSON value per line. An error becomes one sentence on standard error and
 * exit code 1. Wrong usage ends with exit code 2.
 */
export async function runTask<const Own extends Options = Record<never, never>>(
  { task, options, ...definition }: Task<Own>,
): Promise<void> {
  const command = defineTask({ ...definition, options: options ?? {} as Own });
  surviveClosedPipes();
  const { rest, ...common } = takeCommonOptions(Deno.args);
  const named = { name: `deno task ${task}`, command, args: rest };
  end(await runCommand<Output>(named, { ...common, rest }, PROGRAM));
}

/**
 * Runs a program that passes its arguments on, such as to `deno test`, to its end. Errors and exit
 * codes are as in `runTask`.
 */
export async function runProgramTask(main: () => Promise<number | void>): Promise<void> {
  try {
    end(await main() ?? 0);
  } catch (error) {
    console.error(reasonOf(error));
    Deno.exit(1);
  }
}

const PROGRAM: Program<Output> = {
  contextOf: (options) => new Output(options),
  exitCodeOf: () => 1,
  sentenceOf: reasonOf,
  jsonOf: (error) => ({
    error: { code: error instanceof UsageError ? "usage" : "failed", message: reasonOf(error) },
  }),
};

function end(code: number): void {
  if (code !== 0) Deno.exit(code);
}
