import process from "node:process";
import { AgentError } from "../http/agent_error.ts";
import type { Command } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { errorJson } from "./error_json.ts";
import { Context } from "./context.ts";
import { EXIT, exitCodeOf, UsageError } from "./exit_codes.ts";
import { helpOf, helpOfAll } from "./help.ts";
import { takeRetrySeconds } from "./network/retry_seconds.ts";

/** Runs one command line. Resolves to the exit code. */
export async function runAgent(args: readonly string[]): Promise<number> {
  const { verb, json, help, rest } = splitArguments(args);
  const load = verb === undefined ? undefined : COMMANDS[verb];
  if (verb === undefined || load === undefined) {
    const isAsked = help || verb === "help";
    (isAsked ? process.stdout : process.stderr).write(await helpOfAll());
    return isAsked ? 0 : EXIT.usage;
  }
  const command = await load();
  if (help) {
    process.stdout.write(helpOf(verb, command));
    return 0;
  }
  return await runCommand(verb, command, rest, json);
}

async function runCommand(
  verb: string,
  command: Command,
  args: readonly string[],
  json: boolean,
): Promise<number> {
  const interruption = new AbortController();
  const interrupt = () => interruption.abort(new Error("Interrupted."));
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, interrupt);
  try {
    const { retrySeconds, rest } = takeRetrySeconds(args);
    await command.run(rest, new Context({ json, retrySeconds, signal: interruption.signal }));
    return 0;
  } catch (error) {
    if (interruption.signal.aborted) return EXIT.interrupted;
    // The reader of the output has closed it.
    if ((error as NodeJS.ErrnoException)?.code === "EPIPE") return 0;
    process.stderr.write(
      json ? `${JSON.stringify(errorJson(error))}\n` : `${sentenceOf(error, verb)}\n`,
    );
    return exitCodeOf(error);
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, interrupt);
  }
}

/** The verb is the first word; `--json` and `--help` may stand anywhere before a `--`. */
function splitArguments(args: readonly string[]) {
  const end = args.indexOf("--");
  const options = end === -1 ? args : args.slice(0, end);
  const json = options.includes("--json");
  const help = options.some((option) => option === "--help" || option === "-h");
  const isOwn = (word: string) => !["--json", "--help", "-h"].includes(word);
  const [verb, ...rest] = [...options.filter(isOwn), ...(end === -1 ? [] : args.slice(end))];
  return { verb, json, help, rest };
}

/** What went wrong and what to do next, for a person. */
function sentenceOf(error: unknown, verb: string): string {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof UsageError) return `agent ${verb}: ${message} See: agent ${verb} --help`;
  if (!(error instanceof AgentError)) return `agent ${verb}: ${message}`;
  const request = error.requestId === null ? "" : ` (request ${error.requestId})`;
  const next = error.status === 401
    ? "\n  Run `agent login` with a key that the operator made."
    : "";
  return `agent ${verb}: ${message}${request}${next}`;
}
