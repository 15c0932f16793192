import assert from "node:assert/strict";
import { join, netmapOf, ruleBetween } from "../../../conformance/mesh_cast.ts";
import {
  as,
  ASKER,
  call,
  NEIGHBOUR,
  OPERATOR,
  PEER,
  STRANGER,
} from "../../../database/plans/planned_call.ts";
import type { MeshCard } from "../../card.ts";
import { newAgents } from "../arrangements.ts";

const rule = { from_agent: PEER, to_agent: NEIGHBOUR, port: 443, proto: "tcp" };

export const card: MeshCard = {
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
  plans: [
    call("put_rule", {
      caller: OPERATOR,
      ...rule,
      port: 80,
      max_rules: 10_000,
      max_requests: 1000,
    }),
    call("put_rule", {
      caller: as(PEER),
      ...rule,
      to_agent: STRANGER,
      max_rules: 10_000,
      max_requests: 1000,
    }, { circumstances: "as a request" }),
    call("put_rule", { caller: as(PEER), ...rule, to_agent: ASKER, port: 2, proto: "udp" }, {
      circumstances: "that was declined",
    }),
  ],
  lockWaits: [
    {
      held: "an agent",
      hold: (sql) => sql`select mesh.lock_agents(array['bob'])`,
      functionName: "put_rule",
      async refused({ mesh }) {
        const rule = { from_agent: "alice", to_agent: "bob", port: 1 };
        await mesh.put(rule, await mesh.callerOf("alice"));
      },
      async passes({ mesh }) {
        const rule = { from_agent: "alice", to_agent: "carol", port: 1 };
        await mesh.put(rule, await mesh.callerOf("alice"));
      },
    },
  ],
};
