import { parseArgs } from "node:util";
import type { Command, Described, Options, Parsed } from "./command.ts";
import { suggestionFor } from "./nearest.ts";
import { UsageError } from "./usage_error.ts";

/** What every command takes, anywhere before a `--`. */
export interface CommonOptions {
  readonly json: boolean;
  readonly help: boolean;
  readonly rest: readonly string[];
}

const HELP = ["--help", "-h"];

export function takeCommonOptions(args: readonly string[]): CommonOptions {
  const end = args.indexOf("--");
  const options = end === -1 ? args : args.slice(0, end);
  return {
    json: options.includes("--json"),
    help: options.some((option) => HELP.includes(option)),
    rest: [
      ...options.filter((word) => word !== "--json" && !HELP.includes(word)),
      ...(end === -1 ? [] : args.slice(end)),
    ],
  };
}

/**
 * Takes an option with a value that every command has, such as `--project`, out of the arguments.
 * Ignores everything after a `--`. The value is undefined without the option, and null if the
 * option is the last word.
 */
export function takeOption(
  args: readonly string[],
  option: string,
): { readonly value: string | null | undefined; readonly rest: readonly string[] } {
  const end = args.includes("--") ? args.indexOf("--") : args.length;
  const at = args.findIndex((word, index) =>
    index < end && (word === option || word.startsWith(`${option}=`))
  );
  if (at === -1) return { value: undefined, rest: args };
  const isOneWord = args[at] !== option;
  const value = isOneWord ? args[at]!.slice(option.length + 1) : args[at + 1] ?? null;
  return { value, rest: args.toSpliced(at, isOneWord ? 1 : 2) };
}

/** A command and how it is named, such as `agentfiles mesh allow`. */
export interface Named<Kind> {
  readonly name: string;
  readonly command: Kind;
  readonly args: readonly string[];
}

/** Follows the words that name parts of a command. Throws UsageError. */
export async function partOf<Context>(
  named: Named<Command<Context>>,
  { help }: Pick<CommonOptions, "help">,
): Promise<Named<Command<Context>>> {
  const { name, command: { parts, defaultPart }, args } = named;
  if (parts === undefined) return named;
  const [word, ...rest] = args;
  if (word === undefined || word.startsWith("-")) {
    if (help) return named;
    if (defaultPart === undefined) {
      throw new UsageError(`Say what to do: ${Object.keys(parts).join(", ")}.`);
    }
    return {
      name: `${name} ${defaultPart}`,
      command: parts[defaultPart]!,
      args,
    };
  }
  if (!Object.hasOwn(parts, word)) {
    const known = Object.keys(parts);
    throw new UsageError(
      `unknown verb: ${word}.${await suggestionFor(word, known)}`,
    );
  }
  return await partOf({
    name: `${name} ${word}`,
    command: parts[word]!,
    args: rest,
  }, { help });
}

/** Throws UsageError. */
export async function parse(
  { options, positionals: takes }: Described,
  args: readonly string[],
): Promise<Parsed<Options>> {
  await assertKnown(args, options);
  const parsed = parseStrictly(args, options);
  const { length } = parsed.positionals;
  if (takes === undefined) {
    if (length > 0) throw new UsageError("Give only options.");
  } else if (length < takes.least || length > (takes.most ?? Infinity)) {
    throw new UsageError(takes.wrong);
  }
  return parsed;
}

async function assertKnown(
  args: readonly string[],
  options: Options,
): Promise<void> {
  const { tokens } = parseArgs({
    args: [...args],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind !== "option" || Object.hasOwn(options, token.name)) continue;
    const known = [...Object.keys(options), "json", "help"].map((name) => `--${name}`);
    throw new UsageError(
      `unknown option: ${token.rawName}.${await suggestionFor(
        token.rawName,
        known,
      )}`,
    );
  }
}

function parseStrictly(
  args: readonly string[],
  options: Options,
): Parsed<Options> {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options,
      allowPositionals: true,
    });
    return { values: values as Parsed<Options>["values"], positionals };
  } catch (cause) {
    const [sentence] = (cause as Error).message.split("\n", 1);
    throw new UsageError(sentence!.replace(/\.?$/, "."), { cause });
  }
}
