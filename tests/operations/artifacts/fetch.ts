import type { ArtifactsCard } from "../card.ts";

export const fetchGrant: ArtifactsCard = {
  document: "described",
  asks: "has its credential in the body",
  valid: ({ reader, token }) => [
    { as: reader, body: { grant_token: token } },
  ],
  tool: { effect: "adds" },
  afterRestore: "not listed: is repeated, or counts",
};
