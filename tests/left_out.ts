import { runProgram } from "../local/processes/run_program.ts";

/**
 * Whether tests that need a program are left out, because this machine has none; it then says so.
 * In CI everything has to run, and fails where it cannot.
 */
export async function isLeftOutWithout(
  program: string,
  what: string,
  { args = ["--version"] }: { args?: string[] } = {},
): Promise<boolean> {
  if (Deno.env.get("CI") !== undefined) return false;
  const isInstalled = await runProgram(program, { args })
    .then(({ code }) => code === 0, () => false);
  if (!isInstalled) console.log(`${what} not checked: ${program} is not installed.`);
  return !isInstalled;
}
