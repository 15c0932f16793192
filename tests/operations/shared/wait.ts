import assert from "node:assert/strict";
import { createAgent, succeed } from "../../conformance/client.ts";
import { join, netmapOf } from "../../conformance/mesh_cast.ts";
import { type Card, WAITING } from "../card.ts";
import { positionsOf } from "../casts.ts";
import { WAIT_PLANS } from "./plans/wait.ts";

export const card: Card = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: async ({ functionName, agent }) => {
    const ofPeer = functionName === "agent-mesh" ? { config_version: 1, paths: [] } : {};
    return [{ as: agent, body: { agent_id: agent.id, ...ofPeer, ...await positionsOf(agent) } }];
  },
  tool: "none: for programs",
  afterRestore: "not listed: is repeated, or counts",
  faults: [
    {
      settled: ["200"],
      // The waiter has a peer, so that the request is a heartbeat as well.
      async arrange({ functionName }) {
        const waiter = await createAgent("waiter");
        await join(waiter);
        const { config_version } = await netmapOf(waiter);
        const { latest } = await succeed<{ latest: string }>("/agent-artifacts/inbox", {
          as: waiter,
        });
        // The service polls once a second, and first a second after it recorded the heartbeat.
        const wait = functionName === WAITING.functionName ? { wait_seconds: 2 } : {};
        return {
          request: { as: waiter, body: { config_version, inbox_after: latest, ...wait } },
          holds: async () => assert.equal((await netmapOf(waiter)).peers[0]?.online, true),
        };
      },
    },
  ],
  plans: WAIT_PLANS,
  lockWaits: [],
};
