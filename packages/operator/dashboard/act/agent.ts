import { AGENT_ID } from "../../../../supabase/functions/_shared/identity/named_ids.ts";
import { callAsOperator } from "../../operator_call.ts";
import type { DescribedAgent } from "../../reads/rows.ts";
import { nothingNames } from "../../reads/known_agent.ts";
import { CommandError } from "../../../command/command_error.ts";

/** Reads an agent. Throws CommandError if nothing names it. */
export async function readKnownAgent(agent_id: string): Promise<DescribedAgent> {
  const agent = await readAnyAgent(agent_id);
  if (agent === null) throw nothingNames(agent_id);
  return agent;
}

/** Null if nothing names this agent yet. Throws CommandError if `agent_id` is malformed. */
export async function readAnyAgent(agent_id: string): Promise<DescribedAgent | null> {
  if (!AGENT_ID.test(agent_id)) {
    throw new CommandError(
      "An agent's name has 1 to 128 of A-Z a-z 0-9 . _ : @ - and begins with a letter or digit.",
    );
  }
  return await callAsOperator("read_agent", { agent_id }) as DescribedAgent | null;
}
