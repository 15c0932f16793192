import { readFile } from "node:fs/promises";
import { type CpuInfo, cpus } from "node:os";

/** Ticks in a second, as Linux shows them in /proc on every machine. See proc_pid_stat(5). */
const TICKS = 100;

/**
 * Resolves to the processor time of this process' ended children, and of theirs, in seconds. Zero
 * where there is no /proc.
 */
export async function processorSecondsOfChildren(): Promise<number> {
  const text = await readFile("/proc/self/stat", "utf8").catch(() => "");
  // The second field is the program's name in parentheses, which may contain anything.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [user = 0, system = 0] = fields.slice(13, 15).map(Number);
  return (user + system) / TICKS;
}

type Times = CpuInfo["times"];

/**
 * Measures from now on. The function that it returns tells in what share of all processors' time
 * nothing ran, by any program of the machine: from 0 to 1.
 */
export function measureIdle(
  read: () => readonly Times[] = () => cpus().map(({ times }) => times),
): () => number {
  const start = sumOf(read());
  return () => {
    const end = sumOf(read());
    return end.all === start.all ? 0 : (end.idle - start.idle) / (end.all - start.all);
  };
}

function sumOf(processors: readonly Times[]) {
  const add = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0);
  return {
    idle: add(processors.map(({ idle }) => idle)),
    all: add(processors.flatMap((times) => Object.values(times))),
  };
}
