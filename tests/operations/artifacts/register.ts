import type { ArtifactsCard } from "../card.ts";

export const register: ArtifactsCard = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id, key: "k", mime: "a/b", size: 0, ttl_days: 1 }),
  valid: ({ agent }) => [
    {
      as: agent,
      body: { agent_id: agent.id, key: "a/b.txt", mime: "text/plain", size: 5, ttl_days: 7 },
    },
  ],
  tool: { name: "put", requiresOthers: true, effect: "renews" },
  afterRestore: "not listed: is repeated, or counts",
};
