/**
 * What a command declares about itself. Parsing, help texts, the man page and shell completion are
 * all made from these declarations. Agents' verbs and the tasks of deno.json use the same ones.
 */

/** What shell completion offers for a value: file paths, folder paths, or these words. */
export type Completes = "file" | "folder" | readonly string[];

export interface Option {
  readonly type: "string" | "boolean";
  /** One letter. */
  readonly short?: string;
  readonly multiple?: boolean;
  /** What help texts show in the place of the value, such as `AGENT`. Default: `VALUE`. */
  readonly value?: string;
  /** One sentence, without a capital letter and a full stop. */
  readonly help: string;
  readonly completes?: Completes;
}

export type Options = Readonly<Record<string, Option>>;

export interface Positionals {
  /** How help texts show them, such as `FILE…`. */
  readonly usage: string;
  readonly least: number;
  /** Default: any number. */
  readonly most?: number;
  /** The error for too few or too many: a sentence that says what to give. */
  readonly wrong: string;
  readonly completes?: Completes;
}

/** The values of the options that were given. */
export type Values<Own extends Options> = {
  readonly [Name in keyof Own]?: ValueOf<Own[Name]> | undefined;
};

type ValueOf<Own extends Option> = Own["type"] extends "boolean" ? boolean
  : Own extends { readonly multiple: true } ? string[]
  : string;

export interface Parsed<Own extends Options> {
  readonly values: Values<Own>;
  readonly positionals: readonly string[];
}

/** What help texts and shells know of a command. */
export interface Described {
  /** One line. */
  readonly summary: string;
  readonly options: Options;
  readonly positionals?: Positionals;
  /** Whole lines, which begin with the command. */
  readonly example: string;
  /** Subcommands by name: for `agentfiles mesh`, for example, `allow`. */
  readonly parts?: Readonly<Record<string, Described>>;
}

/** A command. `Context` is what it needs to run. */
export interface Command<Context> extends Described {
  readonly parts?: Readonly<Record<string, Command<Context>>>;
  /** The subcommand that runs if none is named. */
  readonly defaultPart?: string;
  /** Throws UsageError before it does anything. Resolves to the exit code, or to nothing for 0. */
  readonly run: (
    parsed: Parsed<Options>,
    context: Context,
  ) => Promise<number | void>;
}

export interface Definition<Own extends Options, Context>
  extends Omit<Command<Context>, "options" | "run" | "parts" | "defaultPart"> {
  readonly options: Own;
  readonly run: (
    parsed: Parsed<Own>,
    context: Context,
  ) => Promise<number | void>;
}

export type DefineCommand<Context> = <const Own extends Options>(
  definition: Definition<Own, Context>,
) => Command<Context>;

/** Makes a function that defines commands. It infers the option types for `run`. */
export function defineCommandFor<Context>(): DefineCommand<Context> {
  return (definition) => definition as unknown as Command<Context>;
}

/** Makes a command that has only subcommands. `defaultPart` runs if none is named. */
export function defineGroup<Context>(
  { summary, example, parts, defaultPart }:
    & Required<Pick<Command<Context>, "summary" | "example" | "parts">>
    & Pick<Command<Context>, "defaultPart">,
): Command<Context> {
  const run = () => Promise.reject(new Error("A group is not run: its part is."));
  return {
    summary,
    example,
    parts,
    options: {},
    run,
    ...(defaultPart === undefined ? {} : { defaultPart }),
  };
}
