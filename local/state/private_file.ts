import { rename, writeFile } from "node:fs/promises";
import { unfinishedFile } from "./state_files.ts";

/** Writes a file that only this user can read, whole or not at all. */
export async function writePrivateFile(path: string, text: string): Promise<void> {
  const unfinished = unfinishedFile(path);
  await writeFile(unfinished, text, { mode: 0o600 });
  await rename(unfinished, path);
}
