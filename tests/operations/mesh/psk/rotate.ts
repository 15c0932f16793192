import type { MeshCard } from "../../card.ts";

export const pskRotate: MeshCard = {
  document: "described",
  asks: ({ one, other }) => ({ a: one.id, b: other.id }),
  valid: ({ agent, other }) => [
    { as: agent, body: { a: agent.id, b: other.id } },
  ],
  tool: { effect: "renews" },
  afterRestore: "listed",
};
