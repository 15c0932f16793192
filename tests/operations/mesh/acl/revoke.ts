import assert from "node:assert/strict";
import { netmapOf, ruleBetween } from "../../../conformance/mesh_cast.ts";
import { as, ASKER, call, NEIGHBOUR, PEER } from "../../../database/plans/planned_call.ts";
import type { MeshCard } from "../../card.ts";
import { newPair } from "../arrangements.ts";

const rule = { from_agent: PEER, to_agent: NEIGHBOUR, port: 443, proto: "tcp" };

export const card: MeshCard = {
  document: "described",
  asks: ({ one, other }) => ({ ...ruleBetween(one, other) }),
  valid: ({ agent, other }) => [
    { as: agent, body: { ...ruleBetween(agent, other, { port: 8443 }) } },
  ],
  tool: { effect: "replaces" },
  afterRestore: async ({ ask }) => {
    const rule = { from_agent: "beta", to_agent: "alpha", proto: "tcp", port: 8443 };
    await ask("/agent-mesh/acl/put", rule);
    return {
      make: () => ask("/agent-mesh/acl/revoke", rule),
      told: "/acl/revoke by operator: from_agent beta, to_agent alpha",
      async isThere() {
        const { acls } = await ask("/agent-mesh/netmap", { agent_id: "alpha" });
        return !acls.some(({ port }: { port: number }) => port === rule.port);
      },
    };
  },
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const [one, other] = await newPair();
        return {
          request: { as: one, body: ruleBetween(one, other) },
          async holds() {
            for (const agent of [one, other]) assert.deepEqual((await netmapOf(agent)).acls, []);
          },
        };
      },
    },
  ],
  plans: [
    call("revoke_rule", { caller: as(PEER), ...rule }),
    call("revoke_rule", { caller: as(PEER), ...rule, from_agent: ASKER, to_agent: PEER }, {
      circumstances: "that declines a request",
    }),
  ],
  lockWaits: [
    {
      held: "a config_version",
      hold: (sql) => sql`select mesh.lock_config_versions(array['bob'])`,
      functionName: "revoke_rule",
      async refused({ mesh }) {
        const rule = { from_agent: "alice", to_agent: "bob", port: 443, proto: "tcp" };
        await mesh.call("revoke_rule", { caller: await mesh.callerOf("alice"), ...rule });
      },
      async passes({ mesh }) {
        const heartbeat = { agent_id: "bob", config_version: 1 };
        await mesh.call("record_heartbeat", { caller: await mesh.callerOf("bob"), ...heartbeat });
      },
    },
  ],
};
