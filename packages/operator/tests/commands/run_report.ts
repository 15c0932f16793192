/** The operator's commands that only read, in this process. */
import assert from "node:assert/strict";
import { agentops } from "./in_process.ts";

export type Command =
  | "agent_list"
  | "agent_show"
  | "events"
  | "grants"
  | "mesh"
  | "mesh_check"
  | "mesh_why"
  | "trace"
  | "usage";

/** The commands whose words are not their file's name. */
const WORDS: Partial<Record<Command, string>> = {
  agent_list: "agent list",
  agent_show: "agent show",
  mesh_check: "mesh check",
  mesh_why: "mesh why",
};

/** Runs a command, which may fail. */
export function run(command: Command, ...args: string[]) {
  return agentops(WORDS[command] ?? command, args);
}

/** The output of a command. An exit code other than 0 fails the test. */
export async function printed(command: Command, ...args: string[]): Promise<string> {
  const { code, output, errors } = await run(command, ...args);
  assert.equal(code, 0, errors);
  return output;
}

/** The rows that a command prints with `--json`. */
export async function rows<Row = Record<string, unknown>>(
  command: Command,
  ...args: string[]
): Promise<Row[]> {
  return parseRows(await printed(command, ...args, "--json"));
}

export function parseRows<Row>(output: string): Row[] {
  return output === "" ? [] : output.split("\n").map((line) => JSON.parse(line) as Row);
}
