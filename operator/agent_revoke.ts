import type { Output } from "../clients/typescript/src/cli/terminal/output.ts";
import { CommandError } from "../local/command/command_error.ts";
import { runTask } from "../local/command/run_task.ts";
import { callAsOperator } from "./operator_call.ts";

/**
 * Every key id that the database makes has this form. Anything else may be an agent, `key_x` too.
 */
const KEY_ID = /^key_[0-9a-f]{32}$/;

/** That there is nothing to revoke is an error: a mistyped name must show. Throws CommandError. */
async function revokeAgentKeys(target: string, output: Output): Promise<void> {
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
  await output.value(result, JSON.stringify);
}

await runTask({
  task: "agent:revoke",
  summary: "End one key, or every key of an agent.",
  positionals: {
    usage: "<agent_id | key_id>",
    least: 1,
    most: 1,
    wrong: "Name one agent or key.",
  },
  example: "deno task agent:revoke planner",
  run: ({ positionals: [target] }, output) => revokeAgentKeys(target!, output),
});
