import assert from "node:assert/strict";
import { configOf, valuesOf } from "../../../conformance/mesh_cast.ts";
import { as, call, NEIGHBOUR, PEER } from "../../../database/plans/planned_call.ts";
import type { MeshCard } from "../../card.ts";
import { assertConnected, newPair } from "../arrangements.ts";

export const card: MeshCard = {
  document: "described",
  asks: ({ one, other }) => ({ a: one.id, b: other.id }),
  valid: ({ agent, other }) => [
    { as: agent, body: { a: agent.id, b: other.id } },
  ],
  tool: { effect: "renews" },
  afterRestore: async ({ ask }) => {
    const pskWithBeta = async () => {
      const { config } = await ask("/agent-mesh/wg_config", { agent_id: "alpha" });
      return /^PresharedKey = (.+)$/m.exec(config)![1]!;
    };
    const psk = await pskWithBeta();
    return {
      make: () => ask("/agent-mesh/psk/rotate", { a: "alpha", b: "beta" }),
      told: "/psk/rotate by operator: a alpha, b beta",
      isThere: async () => await pskWithBeta() !== psk,
    };
  },
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const [one, other] = await newPair();
        const [old] = valuesOf("PresharedKey", await configOf(one));
        return {
          request: { as: one, body: { a: one.id, b: other.id } },
          async holds() {
            await assertConnected(one, other);
            assert.ok(!valuesOf("PresharedKey", await configOf(one)).includes(old!));
          },
        };
      },
    },
  ],
  plans: [
    call("rotate_psk", { caller: as(PEER), a: PEER, b: NEIGHBOUR }),
  ],
  lockWaits: [
    {
      held: "a pair",
      hold: (sql) => sql`select mesh.lock_pairs('alice')`,
      functionName: "rotate_psk",
      refused: ({ mesh }) => mesh.rotate("alice", "bob"),
      passes: ({ mesh }) => mesh.configuration("alice"),
    },
  ],
};
