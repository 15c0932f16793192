/** The words that shells complete, made from the declarations of the commands. */
import type { Completes, Described, Option } from "../command/command.ts";
import { optionsOf } from "../command/help.ts";

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

/** Every verb takes this option besides those that it declares. */
const RETRY_SECONDS: CompletedOption = {
  words: ["--retry-seconds"],
  help: "how long temporary errors are retried",
  hasValue: true,
  completes: undefined,
};

/** Every command, with all its subcommands. */
export function completedCommands(
  verbs: Readonly<Record<string, Described>>,
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
  return [whole, ...partsOf(verbs, "")];
}

function partsOf(
  commands: Readonly<Record<string, Described>>,
  before: string,
): CompletedCommand[] {
  return Object.entries(commands).flatMap(([word, command]) => {
    const path = `${before}${word}`;
    const { summary, parts = {}, positionals } = command;
    return [
      {
        path,
        summary,
        parts: summariesOf(parts),
        options: [...optionsOf(command).map(completedOption), RETRY_SECONDS],
        completes: positionals?.completes,
      },
      ...partsOf(parts, `${path} `),
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
