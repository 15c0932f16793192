import { newPubkey } from "../../../conformance/mesh_cast.ts";
import type { MeshCard } from "../../card.ts";

export const peerRegister: MeshCard = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id, pubkey: newPubkey() }),
  valid: ({ agent }) => [
    {
      as: agent,
      body: {
        agent_id: agent.id,
        pubkey: newPubkey(),
        endpoint: "203.0.113.7:51820",
        endpoints: ["203.0.113.7:51820", "[2001:db8::7]:51820"],
        listen_port: 51_820,
      },
    },
  ],
  tool: { effect: "replaces" },
  afterRestore: "listed",
};
