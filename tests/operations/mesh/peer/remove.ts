import assert from "node:assert/strict";
import { idsIn, netmapOf } from "../../../conformance/mesh_cast.ts";
import type { MeshCard } from "../../card.ts";
import { newPair } from "../arrangements.ts";

export const peerRemove: MeshCard = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: ({ other }) => [
    { as: other, body: { agent_id: other.id } },
  ],
  isLast: true,
  tool: { effect: "replaces" },
  afterRestore: "listed",
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const [one, other] = await newPair();
        return {
          request: { as: one, body: { agent_id: one.id } },
          holds: async () => assert.deepEqual(idsIn(await netmapOf(other)), [other.id]),
        };
      },
    },
  ],
};
