/** The operator's commands in a terminal of a given width. */
import { PROJECT } from "../../../local/project.ts";
import { programOf } from "../../../local/tests/stack/stack_process.ts";

/** Runs a command of `agentops` in a terminal with `columns` columns. Returns its lines. */
export async function linesInTerminal(
  program: string,
  args: readonly string[],
  columns: number,
): Promise<string[]> {
  const words = [Deno.execPath(), "run", "--allow-all", ...programOf(program), ...args]
    .map((word) => `'${word.replaceAll("'", `'\\''`)}'`);
  const { stdout } = await new Deno.Command("script", {
    args: ["-qec", `stty cols ${columns} rows 40; ${words.join(" ")} 2>/dev/null`, "/dev/null"],
    cwd: PROJECT,
    stdin: "null",
  }).output();
  return new TextDecoder().decode(stdout).split(/\r?\n/).filter((line) => line !== "");
}
