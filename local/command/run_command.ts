import { reasonOf } from "./command_error.ts";

/** Runs a command to its end. An error becomes one sentence on standard error and exit code 1. */
export async function runCommand(command: () => Promise<void>): Promise<void> {
  try {
    await command();
  } catch (cause) {
    console.error(reasonOf(cause));
    Deno.exit(1);
  }
}
