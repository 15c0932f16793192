/** The words that shells complete, made from the declarations of the commands. */
import type { Completes, Described, Option, Options } from "../command.ts";
import { optionsOf } from "../help.ts";

export interface CompletedOption {
  /** `--out`, and `-o` if the option has a short form. */
  readonly words: readonly string[];
  readonly help: string;
  /** Whether a value follows. */
  readonly hasValue: boolean;
  readonly completes: Completes | undefined;
}

/** A verb, or a part of one. */
export interface CompletedCommand {
  /** Such as `mesh config`. Empty for the program itself. */
  readonly path: string;
  readonly summary: string;
  /** The words that can follow, with what they do. */
  readonly parts: readonly (readonly [word: string, summary: string])[];
  readonly options: readonly CompletedOption[];
  /** What shells offer for positional arguments. */
  readonly completes: Completes | undefined;
}

/** Every command, with all its subcommands. Each also takes the options that are `everywhere`. */
export function completedCommands(
  verbs: Readonly<Record<string, Described>>,
  everywhere: Options = {},
): CompletedCommand[] {
  const whole: CompletedCommand = {
    path: "",
    summary: "",
    parts: [...summariesOf(verbs), ["help", "Show what a verb does."]],
    options: [
      {
        words: ["--help", "-h"],
        help: "show the verbs",
        hasValue: false,
        completes: undefined,
      },
      {
        words: ["--version"],
        help: "show the version",
        hasValue: false,
        completes: undefined,
      },
    ],
    completes: undefined,
  };
  return [whole, ...partsOf(verbs, { before: "", everywhere })];
}

function partsOf(
  commands: Readonly<Record<string, Described>>,
  { before, everywhere }: { readonly before: string; readonly everywhere: Options },
): CompletedCommand[] {
  return Object.entries(commands).flatMap(([word, command]) => {
    const path = `${before}${word}`;
    const { summary, parts = {}, positionals } = command;
    return [
      {
        path,
        summary,
        parts: summariesOf(parts),
        options: [...optionsOf(command), ...Object.entries(everywhere)].map(completedOption),
        completes: positionals?.completes,
      },
      ...partsOf(parts, { before: `${path} `, everywhere }),
    ];
  });
}

function summariesOf(commands: Readonly<Record<string, Described>>) {
  return Object.entries(commands).map(([word, { summary }]) => [word, firstOf(summary)] as const);
}

/** The first sentence: a list of commands has one line for each. */
function firstOf(summary: string): string {
  return summary.split(/(?<=\.) /, 1)[0]!;
}

function completedOption([name, option]: [string, Option]): CompletedOption {
  return {
    words: [
      `--${name}`,
      ...(option.short === undefined ? [] : [`-${option.short}`]),
    ],
    help: option.help,
    hasValue: option.type === "string",
    completes: option.completes,
  };
}
