import assert from "node:assert/strict";
import { createAgent } from "../../../conformance/client.ts";
import { heartbeat, join, netmapOf } from "../../../conformance/mesh_cast.ts";
import type { MeshCard } from "../../card.ts";
import { assertOnline, newPair } from "../arrangements.ts";
import { HEARTBEAT_PLANS } from "../plans/heartbeat.ts";

export const card: MeshCard = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id }),
  valid: ({ agent, other }) => [
    {
      as: agent,
      body: {
        agent_id: agent.id,
        config_version: 1,
        paths: [{
          agent_id: other.id,
          handshake_age_seconds: 42,
          endpoint: "[2001:db8::7]:51820",
          via: "direct",
        }],
        refused: [{ agent_id: other.id, port: 8080, proto: "tcp", attempts: 3 }],
      },
    },
  ],
  tool: { effect: "sets" },
  afterRestore: "not listed: is repeated, or counts",
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const [one, other] = await newPair();
        const path = { handshake_age_seconds: 42, endpoint: "203.0.113.7:4242", via: "direct" };
        return {
          request: {
            as: one,
            body: { agent_id: one.id, paths: [{ agent_id: other.id, ...path }] },
          },
          async holds() {
            await assertOnline(one);
            const peer = (await netmapOf(other)).peers.find(({ agent_id }) => agent_id === one.id);
            assert.equal(peer?.path?.reported_by_peer?.endpoint, path.endpoint);
          },
        };
      },
    },
    {
      situation: "that waits",
      settled: ["200"],
      async arrange() {
        const one = await createAgent("one");
        await join(one);
        const { config_version } = await heartbeat(one);
        // The service polls once a second, and first a second after it recorded the heartbeat.
        const body = { agent_id: one.id, config_version, wait_seconds: 4 };
        return { request: { as: one, body }, holds: () => assertOnline(one) };
      },
    },
  ],
  plans: HEARTBEAT_PLANS,
  lockWaits: [],
};
