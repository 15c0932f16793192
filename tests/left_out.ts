import { runProgram } from "../packages/local/processes/run_program.ts";

/**
 * Whether to leave out tests because a program is not installed; then prints a note. In CI, it
 * leaves nothing out, so that a missing program fails the tests.
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
