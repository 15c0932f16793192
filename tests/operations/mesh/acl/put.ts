import assert from "node:assert/strict";
import { join, netmapOf, ruleBetween } from "../../../conformance/mesh_cast.ts";
import type { MeshCard } from "../../card.ts";
import { newAgents } from "../arrangements.ts";

export const aclPut: MeshCard = {
  document: "described",
  asks: ({ one, other }) => ({ ...ruleBetween(one, other, { port: 22 }) }),
  valid: ({ agent, other }) => [
    { as: agent, body: { ...ruleBetween(agent, other, { port: 8443 }) } },
  ],
  tool: { effect: "sets" },
  afterRestore: "listed",
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const [one, other] = await newAgents();
        await join(other);
        const rule = ruleBetween(one, other);
        return {
          request: { as: one, body: rule },
          async holds() {
            const { acl_requests } = await netmapOf(other);
            assert.deepEqual(acl_requests, [{ ...rule, waiting_for: other.id }]);
          },
        };
      },
    },
  ],
};
