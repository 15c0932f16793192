import { CommandError } from "../../packages/command/command_error.ts";
import { type ProgramOptions, runProgram } from "../../packages/local/processes/run_program.ts";

/** Runs a program to its end, and resolves to its output. Throws CommandError if it fails. */
export async function succeed(
  program: string,
  args: string[],
  options: Omit<ProgramOptions, "args"> = {},
): Promise<string> {
  const { code, output, errors } = await runProgram(program, { args, ...options })
    .catch((error: Error) => {
      throw new CommandError(`${program} cannot be run: ${error.message}`);
    });
  if (code !== 0) throw new CommandError(`${program} ${args[0]} failed: ${errors.trim()}`);
  return output;
}
