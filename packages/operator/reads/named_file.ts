import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import process from "node:process";
import { CommandError } from "../../command/command_error.ts";

/**
 * The text of the file that an argument names, relative to where the task was called; `-` is
 * standard input. Throws CommandError.
 */
export async function readNamedFile(file: string): Promise<string> {
  try {
    if (file === "-") return await text(process.stdin);
    return await readFile(resolve(process.env["INIT_CWD"] ?? ".", file), "utf8");
  } catch (cause) {
    throw new CommandError(`${file} cannot be read.`, { cause });
  }
}
