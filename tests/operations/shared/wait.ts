import { positionsOf } from "../casts.ts";
import type { Card } from "../card.ts";

export const wait: Card = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: async ({ functionName, agent }) => {
    const ofPeer = functionName === "agent-mesh" ? { config_version: 1, paths: [] } : {};
    return [{ as: agent, body: { agent_id: agent.id, ...ofPeer, ...await positionsOf(agent) } }];
  },
  tool: "none: for programs",
  afterRestore: "not listed: is repeated, or counts",
};
