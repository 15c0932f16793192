/** Programs that run with nothing else on their PATH. */
import assert from "node:assert/strict";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { runProgram } from "../../packages/local/processes/run_program.ts";

/** Creates an empty folder, and beside it a folder with only these programs. */
export async function openFolder(programs: string[]) {
  const root = await Deno.makeTempDir();
  const folder = { path: join(root, "work"), programs: join(root, "programs") };
  await mkdir(folder.path);
  await mkdir(folder.programs);
  for (const program of programs) {
    const path = (await succeed("sh", ["-c", 'command -v "$0"', program])).trim();
    await symlink(path, join(folder.programs, program));
  }
  return { ...folder, [Symbol.asyncDispose]: () => Deno.remove(root, { recursive: true }) };
}

export async function succeed(
  program: string,
  args: string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<string> {
  const { code, output, errors } = await runProgram(program, { args, ...options });
  assert.equal(code, 0, `${program}: ${errors}${output}`);
  return output;
}
