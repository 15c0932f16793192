import type { MeshCard } from "../card.ts";
import { assertConnected, newPair } from "./arrangements.ts";
import { WG_CONFIG_PLANS } from "./plans/wg_config.ts";

export const card: MeshCard = {
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
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const [one, other] = await newPair();
        return { request: { as: one }, holds: () => assertConnected(one, other) };
      },
    },
  ],
  plans: WG_CONFIG_PLANS,
  lockWaits: [],
};
