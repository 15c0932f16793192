import type { ArtifactsCard } from "../card.ts";

export const openArtifact: ArtifactsCard = {
  document: "described",
  asks: ({ artifact_id }) => ({ artifact_id }),
  valid: ({ reader, committed: { artifact_id } }) => [
    { as: reader, body: { artifact_id, max_size: 5 } },
  ],
  tool: {
    name: "get",
    // Here `agent_id` names another agent, so the tool keeps it.
    hides: [],
    requiresOthers: true,
    effect: "adds",
  },
  afterRestore: "not listed: is repeated, or counts",
};
