import type { Command } from "./command.ts";
import { COMMANDS } from "./commands.ts";

/** What `agent --help` prints. */
export async function helpOfAll(): Promise<string> {
  const commands = await Promise.all(
    Object.entries(COMMANDS).map(async ([verb, load]) => [verb, await load()] as const),
  );
  const verbs = commands.map(([verb, { summary }]) => `  ${verb.padEnd(9)}${summary}\n`).join("");
  return `agent hands files from one agent to another, and connects agents by WireGuard.

Usage: agent <verb> …

${verbs}
Every verb takes --help, and --json for one JSON value per line instead of text.
AGENT_URL and AGENT_KEY go before what \`agent login\` wrote; AGENT_ID names the agent for the operator.

Exit codes: 1 failed, 2 wrong usage, 3 key missing or refused, 4 not there or no more, 5 request
refused, 6 not available now, 7 wrong bytes, 130 interrupted.
`;
}

/** What `agent <verb> --help` prints. */
export function helpOf(verb: string, { summary, usage, help, example }: Command): string {
  const options = Object.entries({ ...help, json: "one JSON value per line" })
    .map(([name, meaning]) => `  --${name.padEnd(14)} ${meaning}\n`).join("");
  return `${summary}\n\nUsage: agent ${verb} ${usage}\n\n${options}\nExample:\n${
    example.split("\n").map((line) => `  ${line}\n`).join("")
  }`;
}
