import type { MeshCard } from "../card.ts";

export const wgConfig: MeshCard = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: ({ agent }) => [
    {
      as: agent,
      body: { agent_id: agent.id, private_key_file: "/etc/wireguard/%i.key", firewall: "none" },
    },
    { as: agent, body: { agent_id: agent.id, format: "json" } },
  ],
  tool: {
    // `format` is for programs that are peers themselves.
    hides: ["agent_id", "format"],
    effect: "sets",
  },
  afterRestore: "not listed: is repeated, or counts",
};
