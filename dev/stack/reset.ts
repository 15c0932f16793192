import { readdir, rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { removePostgresHome } from "../postgres/home.ts";
import { hasRecords } from "../state/process_records.ts";
import { CommandError } from "../command/command_error.ts";
import { runCommand } from "../command/run_command.ts";
import { stateDirectory } from "../state/state_directory.ts";
import { stopStack } from "./stop.ts";

// By name, never everything: STATE_DIR may be set to a directory with other things in it. The records go last: by them
// a reset that was broken off can be done again.
const STATE = ["env", "keys.json", "logs", "pid", "storage", "processes.json"];

/**
 * Stops the stack of `stateDir` and removes everything that it keeps: database, objects, keys, logs. Returns a sentence
 * that tells what was done. Throws CommandError, with nothing removed, for a directory in which no stack ever ran.
 */
export async function resetState(stateDir: string): Promise<string> {
  const entries = await list(stateDir);
  if (entries.length === 0) return `${stateDir} is absent or empty: there is nothing to remove.`;
  if (!await hasRecords(stateDir) && !await isBarelyStarted(stateDir, entries)) {
    throw new CommandError(
      `${stateDir} is not a state directory, for no stack ever ran there: nothing was removed; set STATE_DIR to the right one.`,
    );
  }
  await stopStack(stateDir);
  const owner = await removePostgresHome(stateDir);
  for (const name of STATE.flatMap((name) => [`${name}.new`, name])) {
    await rm(join(stateDir, name), { recursive: true, force: true });
  }
  await rmdir(stateDir).catch(() => {});
  return owner === null
    ? `Removed the database, objects, keys and logs of ${stateDir}.`
    : `Removed the objects, keys and logs of ${stateDir}; the database belongs to ${owner} and stays.`;
}

/** Whether `entries` are what a start leaves that died before it recorded itself, and nothing more. */
async function isBarelyStarted(stateDir: string, entries: readonly string[]): Promise<boolean> {
  if (!entries.every((name) => ["logs", "pid", "processes.json.new"].includes(name))) return false;
  return (await list(join(stateDir, "logs"))).length === 0;
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
  await runCommand(async () => console.log(await resetState(stateDirectory())));
}
