import { readFile } from "node:fs/promises";
import { AGENT_ID } from "../../supabase/functions/_shared/identity/named_ids.ts";
import type { Output } from "../command/terminal/output.ts";
import { readSigningKey } from "../local/auth/signing_key.ts";
import { DEFAULT_SECONDS, signUserToken } from "../local/auth/user_token.ts";
import { CommandError } from "../command/command_error.ts";
import { defineOperation, type Operation } from "./command.ts";
import { stateDirectory } from "../local/stack/options.ts";
import { stateFiles } from "../local/state/state_files.ts";

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Signs in a user of the local stack who acts as an agent. Prints the access token alone on
 * standard output, and who it is for on standard error.
 */
async function printUserToken(
  named: string,
  options: UserOptions,
  output: Output,
): Promise<void> {
  const { agentId, sub, seconds } = parseUser(named, options);
  const stateDir = stateDirectory();
  const key = await readSigningKey(stateDir, { make: false });
  const url = await readUrl(stateDir);
  const token = await signUserToken(key, { sub, agentId }, { url, seconds });
  await output.value({ token, sub, agent_id: agentId, expires_in: seconds }, () => token);
  console.error(
    `The token is of user ${sub}, who acts as ${agentId}. It is valid for ${seconds} seconds, only at ${url}.`,
  );
}

/** The local stack's URL: no other stack accepts the token. */
async function readUrl(stateDir: string): Promise<string> {
  const file = stateFiles(stateDir).env;
  const lines = await readFile(file, "utf8").catch(() => "");
  const url = /^SUPABASE_URL=(.+)$/m.exec(lines)?.[1];
  if (url === undefined) throw new CommandError(`${file} has no URL: start the service first.`);
  return url;
}

interface UserOptions {
  readonly sub: string | undefined;
  readonly seconds: string | undefined;
}

/** Throws CommandError. */
function parseUser(agentId: string, options: UserOptions): {
  readonly agentId: string;
  readonly sub: string;
  readonly seconds: number;
} {
  if (!AGENT_ID.test(agentId)) {
    throw new CommandError(
      "The agent_id must be 1 to 128 of A-Z a-z 0-9 . _ : @ - and begin with a letter or digit.",
    );
  }
  const sub = options.sub ?? crypto.randomUUID();
  if (!UUID.test(sub)) throw new CommandError("--sub must be a UUID.");
  const seconds = Number(options.seconds ?? DEFAULT_SECONDS);
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > 31_536_000) {
    throw new CommandError("--expires-in must be a whole number of seconds, at most 31536000.");
  }
  return { agentId, sub, seconds };
}

export const userToken: Operation = defineOperation({
  summary: "Sign in a user of the local stack who is an agent, and print the access token.",
  positionals: { usage: "<agent_id>", least: 1, most: 1, wrong: "Name one agent." },
  example: "agentops user token ada --expires-in 3600",
  options: {
    sub: { type: "string", value: "UUID", help: "the user's identifier; default: a new one" },
    "expires-in": { type: "string", value: "SECONDS", help: "how long the token is valid" },
  },
  run: ({ positionals: [agentId], values: { sub, "expires-in": seconds } }, output) =>
    printUserToken(agentId!, { sub, seconds }, output),
});
