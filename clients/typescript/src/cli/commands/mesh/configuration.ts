import { rename, rm, writeFile } from "node:fs/promises";
import process from "node:process";
import type { Context } from "../../context.ts";
import { note, write } from "../../terminal/output.ts";

/** The wg-quick configuration, which holds secrets: a file of it is its owner's alone. */
export async function writeConfiguration(
  _args: readonly string[],
  context: Context,
  { out }: { readonly out?: string },
): Promise<void> {
  const answer = await (await context.mesh()).configuration();
  if (context.output.json) return await context.output.value(answer, String);
  if (out === undefined) return await write(answer.config);
  const temporary = `${out}.${process.pid}.part`;
  try {
    await writeFile(temporary, answer.config, { mode: 0o600, flag: "wx" });
    await rename(temporary, out);
  } finally {
    await rm(temporary, { force: true });
  }
  note(`${out}  version ${answer.config_version}`);
}
