import { mkdir, open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Test files that one `deno test` runs together. */
export type Unit = readonly string[];

/**
 * Writes a queue folder, from which several processes take units, each unit once and in order. Put
 * slow units first, so that no process is still busy with one at the end.
 */
export async function writeQueue(directory: string, units: readonly Unit[]): Promise<void> {
  await mkdir(directory, { recursive: true });
  await writeFile(unitsFile(directory), JSON.stringify(units));
}

/** Takes units until none are left. */
export async function* takeUnits(directory: string): AsyncGenerator<Unit> {
  const units: readonly Unit[] = JSON.parse(await readFile(unitsFile(directory), "utf8"));
  for (const [index, unit] of units.entries()) {
    if (await claim(join(directory, String(index)))) yield unit;
  }
}

/** Whether this process is the first to claim what the file stands for. */
async function claim(path: string): Promise<boolean> {
  try {
    await (await open(path, "wx")).close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function unitsFile(directory: string): string {
  return join(directory, "units.json");
}
