import { createAgent } from "../../conformance/client.ts";
import type { Card } from "../card.ts";

export const leave: Card = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: async () => {
    const leaving = await createAgent("leaving");
    return [{ as: leaving, body: { agent_id: leaving.id } }];
  },
  isLast: true,
  tool: "none: for programs",
  afterRestore: "listed",
};
