import type { ArtifactsCard } from "../../card.ts";

export const inboxUnblock: ArtifactsCard = {
  document: "described",
  asks: ({ one, other }) => ({ agent_id: other.id, from_agent: one.id }),
  valid: ({ reader, stranger }) => [
    { as: reader, body: { agent_id: reader.id, from_agent: stranger.id } },
  ],
  tool: { effect: "sets" },
  afterRestore: "listed",
};
