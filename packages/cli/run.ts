import process from "node:process";
import { type CommonOptions, takeCommonOptions } from "../command/parse.ts";
import { type Program, reportError, surviveClosedPipes } from "../command/run.ts";
import { loadVerbs, runVerbs } from "../command/verbs.ts";
import { AgentError } from "../agent-files/errors/agent_error.ts";
import { COMMANDS } from "./verbs.ts";
import { Context } from "./context.ts";
import { errorJson } from "./error_json.ts";
import { EXIT, exitCodeOf } from "./exit_codes.ts";
import { ABOUT, NAME } from "./help.ts";
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
  const interruption = new AbortController();
  const interrupt = () => interruption.abort(new Error("Interrupted."));
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, interrupt);
  }
  try {
    const code = await runVerbs({
      about: ABOUT,
      version: VERSION,
      verbs: COMMANDS,
      program: programOf(interruption.signal, common),
    }, common);
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
  const verbs = () => loadVerbs(COMMANDS);
  return {
    contextOf: ({ json }) => new Context({ json, signal, verbs, retrySeconds }),
    exitCodeOf,
    sentenceOf,
    jsonOf: errorJson,
    isSilent: () => signal.aborted,
  };
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
