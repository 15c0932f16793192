import assert from "node:assert/strict";
import { configOf, newPubkey, valuesOf } from "../../../conformance/mesh_cast.ts";
import type { MeshCard } from "../../card.ts";
import { assertConnected, newPair } from "../arrangements.ts";

export const peerRegister: MeshCard = {
  document: "described",
  asks: ({ one }) => ({ agent_id: one.id, pubkey: newPubkey() }),
  valid: ({ agent }) => [
    {
      as: agent,
      body: {
        agent_id: agent.id,
        pubkey: newPubkey(),
        endpoint: "203.0.113.7:51820",
        endpoints: ["203.0.113.7:51820", "[2001:db8::7]:51820"],
        listen_port: 51_820,
      },
    },
  ],
  tool: { effect: "replaces" },
  afterRestore: "listed",
  faults: [
    {
      settled: ["200"],
      async arrange() {
        const [one, other] = await newPair();
        const pubkey = newPubkey();
        return {
          request: { as: one, body: { agent_id: one.id, pubkey } },
          async holds() {
            assert.deepEqual(valuesOf("PublicKey", await configOf(other)), [pubkey]);
            await assertConnected(one, other);
          },
        };
      },
    },
  ],
};
