import process from "node:process";
import { AgentError } from "../errors/agent_error.ts";
import type { Described } from "../../../../packages/command/command.ts";
import { suggestionFor } from "../../../../packages/command/nearest.ts";
import { type CommonOptions, takeCommonOptions } from "../../../../packages/command/parse.ts";
import {
  columnsOf,
  type Program,
  reportError,
  runCommand,
  surviveClosedPipes,
} from "../../../../packages/command/run.ts";
import { UsageError } from "../../../../packages/command/usage_error.ts";
import { COMMANDS } from "./verbs.ts";
import { Context } from "./context.ts";
import { errorJson } from "./error_json.ts";
import { EXIT, exitCodeOf } from "./exit_codes.ts";
import { helpOfAll, NAME } from "./help.ts";
import { takeRetrySeconds } from "./network/retry_seconds.ts";
import { VERSION } from "./version.ts";

/** The options that may stand before or after any verb. */
type Common = CommonOptions & { readonly retrySeconds?: number };

/** Runs one command line. Resolves to the exit code. */
export async function runAgentFiles(args: readonly string[]): Promise<number> {
  surviveClosedPipes();
  const { rest: given, ...others } = takeCommonOptions(args);
  let common: Common;
  try {
    common = { ...others, ...takeRetrySeconds(given) };
  } catch (error) {
    return reportError(error, { name: NAME, json: others.json }, programOf());
  }
  const [first, ...rest] = common.rest;
  // `agentfiles help put` is `agentfiles put --help`.
  if (first === "help" && rest.length > 0) {
    return await runVerb(rest[0]!, {
      ...common,
      help: true,
      rest: rest.slice(1),
    });
  }
  if (first === "--version") {
    return print(process.stdout, `${NAME} ${VERSION}\n`, 0);
  }
  if (first === "help" || (first === undefined && common.help)) {
    return print(process.stdout, await helpOf(process.stdout), 0);
  }
  if (first === undefined) {
    return print(process.stderr, await helpOf(process.stderr), EXIT.usage);
  }
  return await runVerb(first, { ...common, rest });
}

async function helpOf(stream: NodeJS.WriteStream): Promise<string> {
  return helpOfAll(await readVerbs(), columnsOf(stream));
}

function print(stream: NodeJS.WriteStream, text: string, code: number): number {
  stream.write(text);
  return code;
}

async function runVerb(verb: string, common: Common): Promise<number> {
  const interruption = new AbortController();
  const interrupt = () => interruption.abort(new Error("Interrupted."));
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, interrupt);
  }
  const program = programOf(interruption.signal, common);
  try {
    const load = Object.hasOwn(COMMANDS, verb) ? COMMANDS[verb] : undefined;
    if (load === undefined) {
      const error = await unknownVerb(verb);
      return reportError(error, { name: NAME, json: common.json }, program);
    }
    const named = {
      name: `${NAME} ${verb}`,
      command: await load(),
      args: common.rest,
    };
    const code = await runCommand(named, common, program);
    return code !== 0 && interruption.signal.aborted ? EXIT.interrupted : code;
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      process.off(signal, interrupt);
    }
  }
}

function programOf(
  signal: AbortSignal = new AbortController().signal,
  { retrySeconds }: Pick<Common, "retrySeconds"> = {},
): Program<Context> {
  return {
    contextOf: ({ json }) => new Context({ json, signal, verbs: readVerbs, retrySeconds }),
    exitCodeOf,
    sentenceOf,
    jsonOf: errorJson,
    isSilent: () => signal.aborted,
  };
}

async function unknownVerb(word: string): Promise<UsageError> {
  const kind = word.startsWith("-") ? "option" : "verb";
  const known = kind === "verb" ? Object.keys(COMMANDS) : ["--help", "--json", "--version"];
  return new UsageError(
    `unknown ${kind}: ${word}.${await suggestionFor(word, known)}`,
  );
}

async function readVerbs(): Promise<Readonly<Record<string, Described>>> {
  const loaded = Object.entries(COMMANDS).map(async (
    [verb, load],
  ) => [verb, await load()]);
  return Object.fromEntries(await Promise.all(loaded));
}

/** What went wrong and what to do next, for a person. */
function sentenceOf(error: unknown, name: string): string {
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof AgentError)) return `${name}: ${message}`;
  const request = error.requestId === null ? "" : ` (request ${error.requestId})`;
  return `${name}: ${message}${request}${nextStep(error)}`;
}

function nextStep({ status, code }: AgentError): string {
  // The message of `superseded` suffices. A login here would end the other machine's agent key.
  if (status !== 401 || code === "superseded") return "";
  return `\n  Run \`${NAME} login\` with an agent key that the operator made.`;
}
