import type { ArtifactsCard } from "../card.ts";

export const sweep: ArtifactsCard = {
  document: "described",
  asks: () => ({}),
  valid: () => [
    { as: "operator", body: { limit: 1, remove_many_orphans: false } },
  ],
  tool: "none: for the operator",
  afterRestore: "not listed: is repeated, or counts",
};
