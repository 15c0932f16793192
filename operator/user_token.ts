import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { AGENT_ID } from "../supabase/functions/_shared/named_ids.ts";
import { readSigningKey } from "../local/auth/signing_key.ts";
import { DEFAULT_SECONDS, signUserToken } from "../local/auth/user_token.ts";
import { CommandError } from "../local/command/command_error.ts";
import { runCommand } from "../local/command/run_command.ts";
import { stateDirectory } from "../local/state/state_directory.ts";
import { stateFiles } from "../local/state/state_files.ts";

const USAGE = "deno task user:token <agent_id> [--sub UUID] [--expires-in SECONDS]";

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * Signs in a user of the local stack who is an agent. Prints the access token alone on standard
 * output, and who it is on standard error.
 */
async function printUserToken(): Promise<void> {
  const { agentId, sub, seconds } = readArguments();
  const stateDir = stateDirectory();
  const key = await readSigningKey(stateDir, { make: false });
  const url = await readUrl(stateDir);
  console.log(await signUserToken(key, { sub, agentId }, { url, seconds }));
  console.error(`User ${sub}, who is ${agentId}, for ${seconds} seconds, on ${url} alone.`);
}

/** The local stack's: no other one takes the token. */
async function readUrl(stateDir: string): Promise<string> {
  const file = stateFiles(stateDir).env;
  const lines = await readFile(file, "utf8").catch(() => "");
  const url = /^SUPABASE_URL=(.+)$/m.exec(lines)?.[1];
  if (url === undefined) throw new CommandError(`${file} has no URL: start the service first.`);
  return url;
}

function readArguments(): { agentId: string; sub: string; seconds: number } {
  const { positionals, values } = parse(Deno.args);
  const [agentId] = positionals;
  if (agentId === undefined || positionals.length > 1) throw new CommandError(`Usage: ${USAGE}`);
  if (!AGENT_ID.test(agentId)) {
    throw new CommandError(
      "The agent_id must be 1 to 128 of A-Z a-z 0-9 . _ : @ - and begin with a letter or digit.",
    );
  }
  const sub = values.sub ?? crypto.randomUUID();
  if (!UUID.test(sub)) throw new CommandError("--sub must be a UUID.");
  const seconds = Number(values["expires-in"] ?? DEFAULT_SECONDS);
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > 31_536_000) {
    throw new CommandError("--expires-in must be a whole number of seconds, at most 31536000.");
  }
  return { agentId, sub, seconds };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: { sub: { type: "string" }, "expires-in": { type: "string" } },
    });
  } catch (cause) {
    throw new CommandError(`Usage: ${USAGE}`, { cause });
  }
}

await runCommand(printUserToken);
