import { createAgent } from "../../conformance/client.ts";
import type { Card } from "../card.ts";
import { eventsFromNow } from "../casts.ts";
import { EVENTS_PLANS } from "./plans/events.ts";

const TYPES = {
  "agent-artifacts": ["artifact.committed", "grant.created"],
  "agent-mesh": ["peer.registered"],
};

export const card: Card = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: async ({ functionName, agent }) => [
    { as: agent, body: { ...await eventsFromNow(agent), types: TYPES[functionName] } },
  ],
  tool: { hides: ["agent_id", "types"], effect: "reads" },
  afterRestore: "not listed: reads",
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const asker = await createAgent("asker");
        return { request: { as: asker, body: { agent_id: asker.id } } };
      },
    },
  ],
  plans: EVENTS_PLANS,
  lockWaits: [],
};
