/** What /inbox/block and /inbox/unblock take and answer. */
import * as z from "zod";
import { agentId, sentAgentId, subject } from "../_shared/request/fields.ts";

export const namesSender = z.strictObject({
  agent_id: subject,
  from_agent: agentId.meta({
    description: "The agent whose grants to hide or show.",
    examples: ["spammer"],
  }),
});

export const blockedSender = z.object({
  from_agent: sentAgentId.meta({ description: "The sender.", examples: ["spammer"] }),
});
