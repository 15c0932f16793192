import { parseArgs } from "node:util";
import { CommandError } from "../command/command_error.ts";
import { runCommand } from "../command/run_command.ts";
import { callAsOperator } from "./operator_call.ts";

const USAGE = "deno task agent:remove <agent_id> [--keep-artifacts]";

/** What one call of `remove_agent` ended. */
interface Removal {
  readonly keys: number;
  readonly peer: boolean;
  readonly grants: number;
  readonly artifacts: number;
  readonly remaining: boolean;
}

/**
 * Ends everything of an agent, in as many calls as that takes, and prints what was ended. That
 * there was nothing is an error: a mistyped name must show.
 */
async function removeAgent(): Promise<void> {
  const { agentId, keepArtifacts } = readArguments();
  const ended = { keys: 0, peer: false, grants: 0, artifacts: 0 };
  let removal: Removal;
  do {
    removal = await callAsOperator("remove_agent", {
      agent_id: agentId,
      keep_artifacts: keepArtifacts,
    }) as Removal;
    ended.keys += removal.keys;
    ended.peer ||= removal.peer;
    ended.grants += removal.grants;
    ended.artifacts += removal.artifacts;
  } while (removal.remaining);
  if (!ended.peer && ended.keys + ended.grants + ended.artifacts === 0) {
    throw new CommandError(
      "Nothing was removed: there is nothing of an agent of this agent_id. Its users' tokens are refused from now on.",
    );
  }
  console.log(JSON.stringify(ended));
}

function readArguments(): { agentId: string; keepArtifacts: boolean } {
  try {
    const { positionals, values } = parseArgs({
      args: Deno.args,
      allowPositionals: true,
      options: { "keep-artifacts": { type: "boolean", default: false } },
    });
    const [agentId, ...others] = positionals;
    if (agentId === undefined || others.length > 0) throw new TypeError("not one agent_id");
    return { agentId, keepArtifacts: values["keep-artifacts"] };
  } catch (cause) {
    throw new CommandError(`Usage: ${USAGE}`, { cause });
  }
}

await runCommand(removeAgent);
