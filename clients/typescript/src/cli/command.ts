import { parseArgs, type ParseArgsConfig } from "node:util";
import type { Context } from "./context.ts";
import { UsageError } from "./exit_codes.ts";

type Options = NonNullable<ParseArgsConfig["options"]>;
type Parsed<Own extends Options> = ReturnType<
  typeof parseArgs<{ options: Own; allowPositionals: true }>
>;

interface Definition<Own extends Options> {
  /** One line. */
  readonly summary: string;
  /** What is written behind the verb. */
  readonly usage: string;
  /** What each option does, by its name. */
  readonly help: Readonly<Record<keyof Own & string, string>>;
  /** Whole lines. */
  readonly example: string;
  readonly options: Own;
  readonly run: (parsed: Parsed<Own>, context: Context) => Promise<void>;
}

/** A verb of the command line. */
export interface Command extends Omit<Definition<Options>, "options" | "run"> {
  /** Throws UsageError before it does anything. */
  readonly run: (args: readonly string[], context: Context) => Promise<void>;
}

export function defineCommand<const Own extends Options>(definition: Definition<Own>): Command {
  const { options, run, ...described } = definition;
  return {
    ...described,
    async run(args, context) {
      let parsed: Parsed<Own>;
      try {
        parsed = parseArgs({ args: [...args], options, allowPositionals: true }) as Parsed<Own>;
      } catch (cause) {
        throw new UsageError((cause as Error).message, { cause });
      }
      await run(parsed, context);
    },
  };
}

/** The only positional argument. */
export function onlyOne(positionals: readonly string[], what: string): string {
  const [first] = positionals;
  if (first === undefined || positionals.length > 1) throw new UsageError(`Name one ${what}.`);
  return first;
}

export function atLeastOne(positionals: readonly string[], what: string): readonly string[] {
  if (positionals.length === 0) throw new UsageError(`Name at least one ${what}.`);
  return positionals;
}

/** A whole number of days from 1. */
export function daysOf(text: string, option: string): number {
  if (!/^[1-9][0-9]{0,4}$/.test(text)) throw new UsageError(`${option} takes a number of days.`);
  return Number(text);
}
