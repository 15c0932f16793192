import { reasonOf } from "../../command/command_error.ts";
import { takeCommonOptions, takeOption } from "../../command/parse.ts";
import { type Program, reportError, surviveClosedPipes } from "../../command/run.ts";
import { Output } from "../../command/terminal/output.ts";
import { UsageError } from "../../command/usage_error.ts";
import { runVerbs } from "../../command/verbs.ts";
import { VERSION } from "../../../supabase/functions/_shared/request/version.ts";
import { chooseProject } from "../connection/connection.ts";
import { ABOUT, NAME } from "./help.ts";
import { VERBS } from "./verbs.ts";

const PROGRAM: Program<Output> = {
  contextOf: (options) => new Output(options),
  exitCodeOf: () => 1,
  sentenceOf: reasonOf,
  jsonOf: (error) => ({
    error: { code: error instanceof UsageError ? "usage" : "failed", message: reasonOf(error) },
  }),
};

/** Runs one command line. Resolves to the exit code. */
export async function runAgentops(args: readonly string[]): Promise<number> {
  surviveClosedPipes();
  const { rest: given, ...common } = takeCommonOptions(args);
  const { value: project, rest } = takeOption(given, "--project");
  if (project !== undefined && !isName(project)) {
    const error = new UsageError("--project takes a name of A-Z a-z 0-9 . _ - characters.");
    return reportError(error, { name: NAME, json: common.json }, PROGRAM);
  }
  chooseProject(project ?? null);
  const whole = { about: ABOUT, version: VERSION, verbs: VERBS, program: PROGRAM };
  return await runVerbs(whole, { ...common, rest });
}

function isName(text: string | null): text is string {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(text ?? "");
}
