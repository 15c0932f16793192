/** `agentops restore after` on a stack of a test's own. */
import type { OwnStack } from "../../../../tests/database/own_stack.ts";
import { runTask } from "../../../local/tests/stack/stack_process.ts";

/** Runs the task on a test's own stack. */
export async function afterRestore({ stack }: OwnStack, ...args: string[]) {
  const { code, output, errors } = await runTask("agentops restore after", {
    args: [...args, "--json"],
    environment: { SUPABASE_URL: stack.url, SUPABASE_SECRET_KEY: stack.secretKey },
  });
  const steps = output === "" ? [] : output.split("\n").map((line) => JSON.parse(line));
  return {
    code,
    errors,
    of: (step: string) => steps.filter((one) => one.step === step),
  };
}

export async function withFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await run(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The record of endings that the operator would have exported. */
export async function exportedRecord({ stack }: OwnStack): Promise<string> {
  const { output } = await runTask("agentops events", {
    args: ["--endings", "--all", "--json"],
    environment: { SUPABASE_URL: stack.url, SUPABASE_SECRET_KEY: stack.secretKey },
  });
  return output;
}
