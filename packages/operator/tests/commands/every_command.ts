/** Every command of `agentops`, by its words and by the file that defines it. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { VERBS } from "../../agentops/verbs.ts";
import type { Operation } from "../../command.ts";
import { loadVerbs } from "../../../command/verbs.ts";

const OPERATOR = new URL("../../", import.meta.url);

/** Every command with the words that name it, groups included. */
function commandsOf(
  commands: Readonly<Record<string, Operation>>,
  before = "agentops",
): [words: string, command: Operation][] {
  return Object.entries(commands).flatMap(([word, command]) => {
    const words = `${before} ${word}`;
    return [[words, command], ...commandsOf(command.parts ?? {}, words)];
  });
}

/** Groups included. */
export const COMMANDS = commandsOf(await loadVerbs(VERBS));

export interface CommandFile {
  /** From the package's folder, such as `reports/usage.ts`. */
  readonly path: string;
  /** Such as `agentops usage`. Undefined: no group and no verb is this command. */
  readonly words: string | undefined;
  readonly command: Operation;
}

/** The files in a folder of the package, at any depth, that define a command. */
export async function commandFilesIn(folder: string): Promise<CommandFile[]> {
  const found: CommandFile[] = [];
  for (const name of (await readdir(new URL(folder, OPERATOR), { recursive: true })).sort()) {
    const path = `${folder}${name}`;
    if (!path.endsWith(".ts") || path.startsWith("tests/")) continue;
    const source = await readFile(new URL(path, OPERATOR), "utf8");
    for (const [, exported] of source.matchAll(/^export const (\w+)\b.* = defineOperation\(/gm)) {
      const command = (await import(new URL(path, OPERATOR).href))[exported!] as Operation;
      const words = COMMANDS.find(([, listed]) => listed === command)?.[0];
      found.push({ path, words, command });
    }
  }
  assert.notEqual(found.length, 0, folder);
  return found;
}

/**
 * What a command's example passes to the command. `names` says what replaces the names in it, such
 * as `planner`.
 */
export function exampleArgs(
  { words, command }: CommandFile,
  names: Readonly<Record<string, string>>,
): string[] {
  const own = words?.split(" ") ?? [];
  const line = command.example.split("\n")[0]!.replace(/ > \S+$/, "").split(" ");
  let at = 0;
  // The example of `grants list` is `grants`.
  while (at < own.length && line[at] === own[at]) at++;
  return line.slice(at).map((word) => names[word] ?? word);
}
