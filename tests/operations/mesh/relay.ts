import { createAgent } from "../../conformance/client.ts";
import { join } from "../../conformance/mesh_cast.ts";
import { as, call, OPERATOR, PEER } from "../../database/plans/planned_call.ts";
import { OWN_RELAY } from "../../own_function/relay/relays.ts";
import type { MeshCard } from "../card.ts";

const MESH = { caller: as(PEER), agent_id: PEER };

export const card: MeshCard = {
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
  plans: [
    call("read_relay_name", MESH),
    call("read_relay_name", { caller: OPERATOR, agent_id: null }, {
      circumstances: "of the operator",
    }),
  ],
  lockWaits: [],
};
