import type { ArtifactsCard } from "../card.ts";

export const revoke: ArtifactsCard = {
  document: "described",
  asks: ({ artifact_id, other }) => ({ artifact_id, to_agent: other.id }),
  valid: ({ agent, reader, doomed, grant_id }) => [
    { as: agent, body: { artifact_id: doomed.artifact_id, to_agent: reader.id } },
    // Of the right form, but nearly never a grant.
    { as: agent, body: { grant_id: grant_id.replace(/.$/, "0") } },
  ],
  tool: { hides: ["to_tag", "expires_at", "max_downloads", "token"], effect: "replaces" },
  afterRestore: "listed",
};
