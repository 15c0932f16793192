import type { ArtifactsCard } from "../card.ts";

export const deleteArtifact: ArtifactsCard = {
  document: "described",
  asks: ({ artifact_id }) => ({ artifact_id }),
  valid: ({ agent, doomed: { artifact_id } }) => [
    { as: agent, body: { artifact_id } },
  ],
  isLast: true,
  tool: { effect: "replaces" },
  afterRestore: "listed",
};
