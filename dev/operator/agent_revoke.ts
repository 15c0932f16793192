import { runCommand } from "../command/run_command.ts";
import { callAsOperator } from "./operator_call.ts";
import { CommandError } from "../command/command_error.ts";

/**
 * Every key id that the database makes has this form. Anything else may be an agent, `key_x` too.
 */
const KEY_ID = /^key_[0-9a-f]{32}$/;

/**
 * Revokes one key, or every key of an agent. That there is none is an error: a mistyped name must
 * show.
 */
async function revokeAgentKeys(): Promise<void> {
  const [target] = Deno.args;
  if (target === undefined || Deno.args.length > 1 || target.startsWith("-")) {
    throw new CommandError("Usage: deno task agent:revoke <agent_id | key_id>");
  }
  const isKeyId = KEY_ID.test(target);
  const result = isKeyId
    ? await callAsOperator("revoke_agent_key", { key_id: target })
    : await callAsOperator("revoke_agent_keys", { agent_id: target });
  if ((result as { revoked: number }).revoked === 0) {
    throw new CommandError(
      isKeyId
        ? "Nothing was revoked: no live key has this key_id."
        : "Nothing was revoked: no agent of this agent_id has a live key.",
    );
  }
  console.log(JSON.stringify(result));
}

await runCommand(revokeAgentKeys);
