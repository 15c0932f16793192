import { cp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CommandError } from "../../packages/command/command_error.ts";
import { runProgram } from "../../packages/local/processes/run_program.ts";

/**
 * Installs packages into `node_modules/` of a folder, in the versions of a lock file. Throws
 * CommandError if they cannot be installed, or have other versions.
 */
export async function installPackages(
  folder: string,
  { dependencies, lock }: {
    /** Exact versions by name. */
    readonly dependencies: Readonly<Record<string, string>>;
    /** The path of a `deno.lock`. */
    readonly lock: string;
  },
): Promise<void> {
  await cp(lock, join(folder, "deno.lock"));
  await writeFile(join(folder, "package.json"), JSON.stringify({ dependencies }));
  await writeFile(join(folder, "deno.json"), JSON.stringify({ nodeModulesDir: "auto" }));
  const { code, errors } = await runProgram(Deno.execPath(), {
    args: ["install", "--quiet", "--frozen"],
    cwd: folder,
  });
  if (code !== 0) throw new CommandError(`Packages cannot be installed: ${errors}`);
}
