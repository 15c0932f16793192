import { eventsFromNow } from "../casts.ts";
import type { Card } from "../card.ts";

const TYPES = {
  "agent-artifacts": ["artifact.committed", "grant.created"],
  "agent-mesh": ["peer.registered"],
};

export const events: Card = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: async ({ functionName, agent }) => [
    { as: agent, body: { ...await eventsFromNow(agent), types: TYPES[functionName] } },
  ],
  tool: { effect: "reads" },
  afterRestore: "not listed: reads",
};
