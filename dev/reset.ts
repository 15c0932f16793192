import { rm, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { removePostgresHome } from "./postgres_home.ts";
import { reasonOf } from "./start_error.ts";
import { stateDirectory } from "./state_directory.ts";
import { stopStack } from "./stop.ts";

// By name, never everything: STATE_DIR may be set to a directory with other things in it.
const STATE = ["env", "keys.json", "logs", "pid", "processes.json", "storage"];

/** Stops the stack of `stateDir` and removes everything that it keeps: database, objects, keys, logs. */
export async function resetState(stateDir: string): Promise<void> {
  await stopStack(stateDir);
  await removePostgresHome(stateDir);
  for (const name of STATE) await rm(join(stateDir, name), { recursive: true, force: true });
  await rmdir(stateDir).catch(() => {});
}

if (import.meta.main) {
  const stateDir = stateDirectory();
  try {
    await resetState(stateDir);
    console.log(`Removed the database, objects, keys and logs of ${stateDir}.`);
  } catch (cause) {
    console.error(reasonOf(cause));
    Deno.exit(1);
  }
}
