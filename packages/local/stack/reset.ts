import { readdir, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { CommandError } from "../../command/command_error.ts";
import { runTask } from "../../command/run_task.ts";
import { removePostgresHome } from "../postgres/home.ts";
import { hasRecords } from "../state/process_records.ts";
import { filesOfBareStart, filesToReset, stateFiles } from "../state/state_files.ts";
import { lockState } from "../state/state_lock.ts";
import { stateDirectory } from "./options.ts";
import { stopStack } from "./stop.ts";

/**
 * Stops the stack of `stateDir` and removes everything that the stack keeps: database, objects,
 * keys, logs. Other files stay, because STATE_DIR may be a directory with other things in it.
 * Returns a sentence that says what was done. Throws CommandError, with nothing removed, if no
 * stack ever ran in the directory.
 */
export async function resetState(stateDir: string): Promise<string> {
  const names = await list(stateDir);
  if (names.length === 0) return `${stateDir} is absent or empty: there is nothing to remove.`;
  if (!await hasRecords(stateDir) && !await isBareStart(stateDir, names)) {
    throw new CommandError(
      `${stateDir} is not a state directory, for no stack ever ran there: nothing was removed; set STATE_DIR to the right one.`,
    );
  }
  await stopStack(stateDir);
  const lock = await lockState(stateDir);
  let owner: string | null;
  try {
    owner = await removePostgresHome(stateDir);
    for (const file of filesToReset(stateDir)) await rm(file, { recursive: true, force: true });
  } catch (cause) {
    await lock.release();
    throw cause;
  }
  await lock.remove();
  await rmdir(stateDir).catch(() => {});
  return owner === null
    ? `Removed the database, objects, keys and logs of ${stateDir}.`
    : `Removed the objects, keys and logs of ${stateDir}; the database belongs to ${owner} and stays.`;
}

/** Whether `names` are only files of a start that died before it recorded itself. */
async function isBareStart(stateDir: string, names: readonly string[]): Promise<boolean> {
  const expected = filesOfBareStart(stateDir);
  if (!names.every((name) => expected.includes(join(stateDir, name)))) return false;
  return (await list(stateFiles(stateDir).logs)).length === 0;
}

async function list(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw cause;
  }
}

if (import.meta.main) {
  await runTask({
    task: "reset",
    summary: "End the service, and remove its database, objects, keys and logs.",
    example: "deno task reset",
    run: async () => console.log(await resetState(stateDirectory())),
  });
}
