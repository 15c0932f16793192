import { readFile } from "node:fs/promises";

/** The last non-empty line of a log, for an error message. */
export async function logTail(file: string): Promise<string> {
  const text = await readFile(file, "utf8").catch(() => "");
  return text.trimEnd().split("\n").at(-1) || `nothing was logged in ${file}`;
}
