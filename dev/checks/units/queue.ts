import { mkdir, open, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { FileCounts } from "./test_counts.ts";

/** Test files that one `deno test` runs together. */
export type Unit = readonly string[];

/** What a unit's run has shown and cost. */
export interface UnitResult {
  readonly unit: Unit;
  readonly counts: FileCounts;
  /** From the start of its run to the end. */
  readonly seconds: number;
  /** Of its tests and their processes. What the stack used meanwhile is not in it. */
  readonly processorSeconds: number;
}

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

/** Records what a unit that was taken from the queue has shown. */
export async function recordResult(directory: string, result: UnitResult): Promise<void> {
  await writeFile(join(directory, `${crypto.randomUUID()}.result`), JSON.stringify(result));
}

/** Resolves to the results of all units that have been run. */
export async function readResults(directory: string): Promise<UnitResult[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith(".result"));
  const read = async (name: string) => JSON.parse(await readFile(join(directory, name), "utf8"));
  return await Promise.all(names.map(read));
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
