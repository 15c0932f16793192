import { secondsFromNow } from "../../conformance/artifacts.ts";
import type { ArtifactsCard } from "../card.ts";

export const grant: ArtifactsCard = {
  document: "described",
  asks: ({ artifact_id, other }) => ({
    artifact_id,
    to_agent: other.id,
    expires_at: "2999-01-01T00:00:00Z",
  }),
  valid: ({ agent, reader, committed: { artifact_id } }) => [
    { as: agent, body: { artifact_id, to_agent: reader.id, expires_at: secondsFromNow(600) } },
    { as: agent, body: { artifact_id, expires_at: secondsFromNow(600), max_downloads: 5 } },
  ],
  tool: { requiresOthers: true, effect: "adds" },
  afterRestore: "listed",
};
