import { plain } from "../../clients/typescript/src/cli/terminal/output.ts";
import { CommandError } from "../../local/command/command_error.ts";
import { callAsOperator } from "../operator_call.ts";
import { findEvents } from "./find_events.ts";

/** Throws CommandError where neither a row nor an event names the agent. */
export async function assertAgentIsNamed(agent_id: string): Promise<void> {
  if (await callAsOperator("read_agent", { agent_id }) !== null) return;
  const { events } = await findEvents({ agent_id, max_entries: 1 });
  if (events.length === 0) throw nothingNames(agent_id);
}

export function nothingNames(agentId: string): CommandError {
  return new CommandError(
    `Nothing names an agent ${plain(agentId)}. deno task agent:list shows those that are there.`,
  );
}
