import { createAgent } from "../../../conformance/client.ts";
import type { ArtifactsCard } from "../../card.ts";
import { INBOX_PLANS } from "../plans/inbox.ts";

export const inbox: ArtifactsCard = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: ({ reader }) => [
    { as: reader, body: { agent_id: reader.id, limit: 10 } },
  ],
  tool: { hides: ["agent_id", "states"], effect: "reads" },
  afterRestore: "not listed: reads",
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const reader = await createAgent("reader");
        return { request: { as: reader, body: { agent_id: reader.id } } };
      },
    },
  ],
  plans: INBOX_PLANS,
  lockWaits: [],
};
