import { createAgent } from "../../conformance/client.ts";
import { join } from "../../conformance/mesh_cast.ts";
import { OWN_RELAY } from "../../own_function/relay/relays.ts";
import type { MeshCard } from "../card.ts";

export const relay: MeshCard = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: ({ agent }) => [
    { as: agent, body: { agent_id: agent.id } },
  ],
  tool: "none: for programs",
  afterRestore: "not listed: reads",
  faults: [
    {
      environment: OWN_RELAY,
      settled: ["200"],
      async arrange() {
        const one = await createAgent("one");
        await join(one);
        return { request: { as: one } };
      },
    },
  ],
};
