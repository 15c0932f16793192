import process from "node:process";
import { type About, helpOfAll } from "./help.ts";
import type { Command } from "./command.ts";
import { suggestionFor } from "./nearest.ts";
import type { CommonOptions } from "./parse.ts";
import { columnsOf, type Program, reportError, runCommand } from "./run.ts";
import { UsageError } from "./usage_error.ts";

/** Exit code if no verb was given. */
const WRONG_USAGE = 2;

/** A program with several commands. A command is loaded when it is named. */
export interface Verbs<Context> {
  readonly about: About;
  readonly version: string;
  readonly verbs: Readonly<Record<string, () => Promise<Command<Context>>>>;
  readonly program: Program<Context>;
}

/** The options that may stand in the place of a verb. */
const INSTEAD = ["--help", "--json", "--version"];

/** Runs the verb that the arguments begin with. Resolves to the exit code. */
export async function runVerbs<Context>(
  whole: Verbs<Context>,
  common: CommonOptions,
): Promise<number> {
  const { about: { name }, version } = whole;
  const [first, ...rest] = common.rest;
  // `agentfiles help put` is `agentfiles put --help`.
  if (first === "help" && rest.length > 0) {
    return await runVerb(whole, rest[0]!, { ...common, help: true, rest: rest.slice(1) });
  }
  if (first === "--version") return print(process.stdout, `${name} ${version}\n`, 0);
  if (first === "help" || (first === undefined && common.help)) {
    return print(process.stdout, await helpOn(process.stdout, whole), 0);
  }
  if (first === undefined) {
    return print(process.stderr, await helpOn(process.stderr, whole), WRONG_USAGE);
  }
  return await runVerb(whole, first, { ...common, rest });
}

async function runVerb<Context>(
  { about: { name }, verbs, program }: Verbs<Context>,
  verb: string,
  common: CommonOptions,
): Promise<number> {
  const load = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
  if (load === undefined) {
    const error = await unknownVerb(verb, Object.keys(verbs));
    return reportError(error, { name, json: common.json }, program);
  }
  const named = { name: `${name} ${verb}`, command: await load(), args: common.rest };
  return await runCommand(named, common, program);
}

/** Loads every verb, for a list of them. */
export async function loadVerbs<Context>(
  verbs: Verbs<Context>["verbs"],
): Promise<Readonly<Record<string, Command<Context>>>> {
  const loaded = Object.entries(verbs)
    .map(async ([verb, load]): Promise<[string, Command<Context>]> => [verb, await load()]);
  return Object.fromEntries(await Promise.all(loaded));
}

async function helpOn<Context>(
  stream: NodeJS.WriteStream,
  { about, verbs }: Verbs<Context>,
): Promise<string> {
  return helpOfAll(about, await loadVerbs(verbs), columnsOf(stream));
}

function print(stream: NodeJS.WriteStream, text: string, code: number): number {
  stream.write(text);
  return code;
}

async function unknownVerb(word: string, verbs: readonly string[]): Promise<UsageError> {
  const kind = word.startsWith("-") ? "option" : "verb";
  const known = kind === "verb" ? verbs : INSTEAD;
  return new UsageError(`unknown ${kind}: ${word}.${await suggestionFor(word, known)}`);
}
