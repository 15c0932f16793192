import type { ArtifactsCard } from "../card.ts";

/** A name in the alphabet of cursors: the page after it. */
const CURSOR = btoa("committed").replaceAll("=", "");

export const list: ArtifactsCard = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: ({ agent }) => [
    { as: agent, body: { agent_id: agent.id, prefix: "", limit: 1, cursor: CURSOR } },
  ],
  tool: { effect: "reads" },
  afterRestore: "not listed: reads",
};
