import assert from "node:assert/strict";
import { idsIn, netmapOf, newPubkey } from "../../../conformance/mesh_cast.ts";
import { as, call, PEER } from "../../../database/plans/planned_call.ts";
import type { MeshCard } from "../../card.ts";
import { newPair } from "../arrangements.ts";

const MESH = { caller: as(PEER), agent_id: PEER };

export const card: MeshCard = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: ({ other }) => [
    { as: other, body: { agent_id: other.id } },
  ],
  isLast: true,
  tool: { effect: "replaces" },
  afterRestore: async ({ ask, post }) => {
    await ask("/agent-mesh/peer/register", { agent_id: "gamma", pubkey: newPubkey() });
    return {
      make: () => ask("/agent-mesh/peer/remove", { agent_id: "gamma" }),
      told: "/peer/remove by operator: .*agent_id gamma",
      isThere: async () => (await post("/agent-mesh/netmap", { agent_id: "gamma" })).status === 404,
    };
  },
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
  plans: [
    call("remove_peer", MESH, { bounds: { rows: 300, pages: 1200 } }),
  ],
  lockWaits: [
    {
      held: "a pair",
      hold: (sql) => sql`select mesh.lock_pairs('alice')`,
      functionName: "remove_peer",
      refused: ({ mesh }) => mesh.remove("bob"),
      passes: ({ mesh }) => mesh.put({ from_agent: "carol", to_agent: "dave" }),
    },
  ],
};
