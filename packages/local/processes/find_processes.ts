import { readdir, readFile } from "node:fs/promises";

/**
 * The processes that have one of `marks` in their command line or environment, each as its number
 * and command. Tests use it to find processes that they forgot to end. Empty except on Linux.
 */
export async function findProcessesWith(marks: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir("/proc").catch(() => [])) {
    if (!/^[0-9]+$/.test(entry) || Number(entry) === Deno.pid) continue;
    const command = await readFile(`/proc/${entry}/cmdline`, "utf8").catch(() => "");
    const environment = await readFile(`/proc/${entry}/environ`, "utf8").catch(() => "");
    if (marks.some((mark) => command.includes(mark) || environment.includes(mark))) {
      found.push(`process ${entry} (${command.split("\0").slice(0, 2).join(" ")})`);
    }
  }
  return found;
}
