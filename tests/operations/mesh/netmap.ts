import type { MeshCard } from "../card.ts";

export const netmap: MeshCard = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: ({ agent }) => [
    { as: agent, body: { agent_id: agent.id } },
  ],
  tool: { effect: "reads" },
  afterRestore: "not listed: reads",
};
