import type { ArtifactsCard } from "../../card.ts";

export const inbox: ArtifactsCard = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: ({ reader }) => [
    { as: reader, body: { agent_id: reader.id, limit: 10 } },
  ],
  tool: { effect: "reads" },
  afterRestore: "not listed: reads",
};
