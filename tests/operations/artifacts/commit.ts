import { sha256 } from "../../conformance/artifacts.ts";
import type { ArtifactsCard } from "../card.ts";

export const commit: ArtifactsCard = {
  document: "described",
  asks: ({ artifact_id }) => ({ artifact_id, sha256: "0".repeat(64) }),
  valid: ({ agent, uploaded: { artifact_id } }) => [
    { as: agent, body: { artifact_id, sha256: sha256("hello") } },
  ],
  tool: { requiresOthers: true, effect: "replaces" },
  afterRestore: "listed",
};
