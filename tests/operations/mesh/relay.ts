import type { MeshCard } from "../card.ts";

export const relay: MeshCard = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: ({ agent }) => [
    { as: agent, body: { agent_id: agent.id } },
  ],
  tool: "none: for programs",
  afterRestore: "not listed: reads",
};
