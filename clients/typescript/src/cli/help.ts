import type { Command } from "./command.ts";
import { COMMANDS } from "./commands.ts";

/** What `agent --help` prints. */
export async function helpOfAll(): Promise<string> {
  const commands = await Promise.all(
    Object.entries(COMMANDS).map(async ([verb, load]) => [verb, await load()] as const),
  );
  const verbs = commands.map(([verb, { summary }]) => `  ${verb.padEnd(9)}${summary}\n`).join("");
  return `agent hands files from one agent to another, and connects agents over WireGuard.

Usage: agent <verb> …

${verbs}
Every verb has --help, and --json, which prints one JSON value per line instead of text.
--retry-seconds N: how long temporary errors are retried; default: 120, 0: never.
HTTPS_PROXY, HTTP_PROXY, NO_PROXY, SSL_CERT_FILE and NODE_EXTRA_CA_CERTS are used.
AGENT_URL and AGENT_KEY take precedence over \`agent login\`. The operator sets AGENT_ID.

Exit codes: 1 unexpected error, 2 wrong usage, 3 agent key missing or refused, 4 not found or gone,
5 request refused, 6 unavailable: retry later, 7 wrong bytes, 130 interrupted.
`;
}

/** What `agent <verb> --help` prints. */
export function helpOf(verb: string, { summary, usage, help, example }: Command): string {
  const options = Object.entries({ ...help, json: "print one JSON value per line" })
    .map(([name, meaning]) => `  --${name.padEnd(14)} ${meaning}\n`).join("");
  return `${summary}\n\nUsage: agent ${verb} ${usage}\n\n${options}\nExample:\n${
    example.split("\n").map((line) => `  ${line}\n`).join("")
  }`;
}
