import { readFile, writeFile } from "node:fs/promises";
import { CommandError } from "../../packages/command/command_error.ts";
import { runProgramTask } from "../../packages/command/run_task.ts";
import { runProgram } from "../../packages/local/processes/run_program.ts";
import { PROJECT } from "../../packages/local/project.ts";
import { LOCK_FILE, type LockFile, pinnedPackages } from "./pins.ts";

/**
 * Writes `dev/deno.lock` again. What is still pinned keeps its versions, also those of the packages
 * that it needs. Downloads every package. Throws CommandError if one cannot be resolved.
 */
async function writeLock(): Promise<void> {
  const packages = await pinnedPackages();
  const { version, specifiers, npm }: LockFile = JSON.parse(await readFile(LOCK_FILE, "utf8"));
  const kept = Object.fromEntries(
    Object.entries(specifiers).filter(([specifier]) => packages.includes(specifier)),
  );
  // Deno writes the file, without what nothing needs any more, only if it has resolved something.
  const [resolvedAgain] = Object.keys(kept).filter((specifier) =>
    npm[specifier.replace("npm:", "")]?.dependencies === undefined
  );
  delete kept[resolvedAgain!];
  await writeFile(LOCK_FILE, JSON.stringify({ version, specifiers: kept, npm }));
  const { code, errors } = await runProgram(Deno.execPath(), {
    args: ["cache", "--quiet", `--lock=${LOCK_FILE}`, "--frozen=false", ...packages],
    cwd: PROJECT,
  });
  if (code !== 0) throw new CommandError(`The lock file cannot be written: ${errors}`);
}

await runProgramTask(writeLock);
