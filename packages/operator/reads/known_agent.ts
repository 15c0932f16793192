import { note, plain } from "../../command/terminal/output.ts";
import { CommandError } from "../../command/command_error.ts";
import { callAsOperator } from "../operator_call.ts";
import { findEvents } from "./find_events.ts";

/** Throws CommandError if neither a row nor an event names one of these agents. */
export async function assertAgentIsNamed(
  ...agents: readonly (string | null | undefined)[]
): Promise<void> {
  for (const agentId of agents) {
    if (agentId != null && !await isNamed(agentId)) throw nothingNames(agentId);
  }
}

/**
 * Notes on standard error that nothing names the agent yet. That is allowed: the agent may come
 * later.
 */
export async function noteUnlessNamed(agentId: string): Promise<void> {
  if (!await isNamed(agentId)) {
    note(`${nothingNames(agentId).message} The change is for a future agent of that name.`);
  }
}

async function isNamed(agent_id: string): Promise<boolean> {
  if (await callAsOperator("read_agent", { agent_id }) !== null) return true;
  const { events } = await findEvents({ agent_id, max_entries: 1 });
  return events.length > 0;
}

export function nothingNames(agentId: string): CommandError {
  return new CommandError(
    `Nothing names an agent ${plain(agentId)}. agentops agent list shows those that are there.`,
  );
}
