import { parseArgs } from "node:util";
import { runCommand } from "../command/run_command.ts";
import { callAsOperator } from "./operator_call.ts";
import { CommandError } from "../command/command_error.ts";

const USAGE = "deno task agent:create <agent_id> [--label TEXT] [--expires-at ISO]";

/** Makes a key for an agent: the key alone on standard output, what to know about it on standard error. */
async function createAgentKey(): Promise<void> {
  const { agentId, label, expiresAt } = readArguments();
  const created = await callAsOperator("create_agent_key", {
    agent_id: agentId,
    label,
    expires_at: expiresAt,
  }) as { key: string; key_id: string };
  console.log(created.key);
  console.error(
    `Key ${created.key_id} of ${agentId}. It is not shown again; revoke it with: deno task agent:revoke ${created.key_id}`,
  );
}

function readArguments(): { agentId: string; label: string | null; expiresAt: string | null } {
  try {
    const { positionals, values } = parseArgs({
      args: Deno.args,
      allowPositionals: true,
      options: { label: { type: "string" }, "expires-at": { type: "string" } },
    });
    const [agentId] = positionals;
    if (agentId === undefined || positionals.length > 1) throw new Error("one agent_id is needed");
    return { agentId, label: values.label ?? null, expiresAt: values["expires-at"] ?? null };
  } catch (cause) {
    throw new CommandError(`Usage: ${USAGE}`, { cause });
  }
}

await runCommand(createAgentKey);
