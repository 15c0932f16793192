import { callAsOperator, runCommand } from "./operator_call.ts";
import { StartError } from "./start_error.ts";

/** Revokes one key by its id, or every key of an agent. */
async function revokeAgentKeys(): Promise<void> {
  const [target] = Deno.args;
  if (target === undefined || Deno.args.length > 1 || target.startsWith("-")) {
    throw new StartError("Usage: deno task agent:revoke <agent_id | key_id>");
  }
  const result = target.startsWith("key_")
    ? await callAsOperator("revoke_agent_key", { key_id: target })
    : await callAsOperator("revoke_agent_keys", { agent_id: target });
  console.log(JSON.stringify(result));
}

await runCommand(revokeAgentKeys);
