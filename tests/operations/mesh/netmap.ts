import { as, call, HUB, PEER } from "../../database/plans/planned_call.ts";
import type { MeshCard } from "../card.ts";
import { newPair } from "./arrangements.ts";

const MESH = { caller: as(PEER), agent_id: PEER };

export const card: MeshCard = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: ({ agent }) => [
    { as: agent, body: { agent_id: agent.id } },
  ],
  tool: { effect: "reads" },
  afterRestore: "not listed: reads",
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const [one] = await newPair();
        return { request: { as: one } };
      },
    },
  ],
  plans: [
    call("read_netmap", { ...MESH, online_seconds: 90 }, { bounds: { rows: 200, pages: 500 } }),
    call("read_netmap", { caller: as(HUB.agentId), agent_id: HUB.agentId, online_seconds: 90 }, {
      circumstances: "of a thousand peers and five thousand rules",
      bounds: { rows: 30_000, pages: 40_000 },
    }),
  ],
  lockWaits: [],
};
