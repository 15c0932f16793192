import { readFile } from "node:fs/promises";

/** The line of a log that best tells why its process ended: its last error, else its last line. */
export async function logTail(file: string): Promise<string> {
  const lines = (await readFile(file, "utf8").catch(() => "")).split("\n").filter((line) =>
    line.trim()
  );
  return lines.findLast((line) => /\b(?:error|fatal):/i.test(line)) ?? lines.at(-1) ??
    `nothing was logged in ${file}`;
}
