import type { MeshCard } from "../../card.ts";

export const peerRemove: MeshCard = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: ({ other }) => [
    { as: other, body: { agent_id: other.id } },
  ],
  isLast: true,
  tool: { effect: "replaces" },
  afterRestore: "listed",
};
