import { mkdir, open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Test files that one `deno test` runs. */
export type Unit = readonly string[];

/**
 * A folder from which several processes take units, each of them once and in their order. What
 * takes long belongs to the front: then no process is left with it at the end.
 */
export async function writeQueue(directory: string, units: readonly Unit[]): Promise<void> {
  await mkdir(directory, { recursive: true });
  await writeFile(unitsFile(directory), JSON.stringify(units));
}

/** Takes units until all are taken. */
export async function* takeUnits(directory: string): AsyncGenerator<Unit> {
  const units: readonly Unit[] = JSON.parse(await readFile(unitsFile(directory), "utf8"));
  for (const [index, unit] of units.entries()) {
    if (await claim(join(directory, String(index)))) yield unit;
  }
}

/** Whether this process is the one that may have what the file stands for. */
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
