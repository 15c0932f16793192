import type { ArtifactsCard } from "../card.ts";

export const grants: ArtifactsCard = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: ({ agent, reader, committed: { artifact_id } }) => [
    { as: agent, body: { agent_id: agent.id, artifact_id, to_agent: reader.id, limit: 1 } },
  ],
  tool: {
    // A grant to a tag is revoked by its `grant_id`.
    hides: ["agent_id", "to_tag"],
    effect: "reads",
  },
  afterRestore: "not listed: reads",
};
