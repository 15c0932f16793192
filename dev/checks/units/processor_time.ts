import { readFile } from "node:fs/promises";

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
