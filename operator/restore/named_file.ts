import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { CommandError } from "../../local/command/command_error.ts";

/** The text of a file that an option names, from where the task was called. Throws CommandError. */
export async function readNamedFile(file: string): Promise<string> {
  return await readFile(resolve(Deno.env.get("INIT_CWD") ?? ".", file), "utf8").catch((cause) => {
    throw new CommandError(`${file} cannot be read.`, { cause });
  });
}
