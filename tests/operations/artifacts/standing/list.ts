import { OWNER } from "../../../bench/fill/cast.ts";
import { createAgent } from "../../../conformance/client.ts";
import { as, call } from "../../../database/plans/planned_call.ts";
import type { ArtifactsCard } from "../../card.ts";

export const card: ArtifactsCard = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: ({ agent }) => [
    {
      as: agent,
      body: { agent_id: agent.id, limit: 1, cursor: `17.standing_${"0".repeat(32)}` },
    },
  ],
  tool: "none: for programs",
  afterRestore: "not listed: reads",
  faults: [
    {
      settled: ["200"],
      async arrange() {
        return { request: { as: await createAgent("owner"), body: {} } };
      },
    },
  ],
  plans: [
    call("list_standing_grants", { caller: as(OWNER), agent_id: null, max_entries: 100 }, {
      bounds: { rows: 500, pages: 500 },
    }),
  ],
  lockWaits: [],
};
