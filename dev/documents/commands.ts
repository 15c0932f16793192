import { loadVerbs } from "../../packages/command/verbs.ts";
import { VERBS } from "../../packages/operator/agentops/verbs.ts";
import type { Operation } from "../../packages/operator/command.ts";

/** Every command of `agentops`, with its summary. Groups are left out. */
export async function commandsList(): Promise<string> {
  return linesOf(await loadVerbs(VERBS)).join("\n");
}

function linesOf(commands: Readonly<Record<string, Operation>>, before = ""): string[] {
  return Object.entries(commands).flatMap(([word, { summary, parts }]) =>
    parts === undefined
      ? [`- \`${before}${word}\`: ${summary}`]
      : linesOf(parts, `${before}${word} `)
  );
}
