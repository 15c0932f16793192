import { parseArgs } from "node:util";
import { timestamp } from "../../supabase/functions/_shared/fields.ts";
import { CommandError } from "../command/command_error.ts";
import { runCommand } from "../command/run_command.ts";
import { callAsOperator } from "./operator_call.ts";

const USAGE = "deno task agent:create <agent_id> [--label TEXT] [--expires-at TIMESTAMP]";

/** What is to be made, as `create_agent_key` takes it. */
interface KeyRequest {
  readonly agent_id: string;
  readonly label: string | null;
  readonly expires_at: string | null;
}

/**
 * Makes a key for an agent. Prints the key alone on standard output, and what to know on standard
 * error.
 */
async function createAgentKey(): Promise<void> {
  const request = readArguments();
  const created = await callAsOperator("create_agent_key", { ...request }) as {
    key: string;
    key_id: string;
  };
  console.log(created.key);
  console.error(
    `Key ${created.key_id} of ${request.agent_id}. It is not shown again; revoke it with: deno task agent:revoke ${created.key_id}`,
  );
}

function readArguments(): KeyRequest {
  const { positionals, values } = parse(Deno.args);
  const [agentId] = positionals;
  if (agentId === undefined || positionals.length > 1) throw new CommandError(`Usage: ${USAGE}`);
  return {
    agent_id: agentId,
    label: values.label ?? null,
    expires_at: readExpiry(values["expires-at"]),
  };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: { label: { type: "string" }, "expires-at": { type: "string" } },
    });
  } catch (cause) {
    throw new CommandError(`Usage: ${USAGE}`, { cause });
  }
}

/**
 * The same form as in a request. PostgreSQL would take `tomorrow`, `01/02/2027` and `infinity` too.
 */
function readExpiry(text: string | undefined): string | null {
  if (text === undefined) return null;
  const parsed = timestamp.safeParse(text);
  if (!parsed.success) {
    throw new CommandError(
      "--expires-at must be an ISO 8601 timestamp in UTC, such as 2027-01-31T09:30:00Z. No key was made.",
    );
  }
  return parsed.data;
}

await runCommand(createAgentKey);
