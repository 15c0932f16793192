import type { MeshCard } from "../../card.ts";

export const peerHeartbeat: MeshCard = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: ({ agent, other }) => [
    {
      as: agent,
      body: {
        agent_id: agent.id,
        config_version: 1,
        paths: [{
          agent_id: other.id,
          handshake_age_seconds: 42,
          endpoint: "[2001:db8::7]:51820",
          via: "direct",
        }],
      },
    },
  ],
  tool: { effect: "sets" },
  afterRestore: "not listed: is repeated, or counts",
};
