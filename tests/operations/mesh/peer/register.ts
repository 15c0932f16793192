import assert from "node:assert/strict";
import { OWNER } from "../../../bench/fill/cast.ts";
import { configOf, newPubkey, valuesOf } from "../../../conformance/mesh_cast.ts";
import { as, call, PEER } from "../../../database/plans/planned_call.ts";
import type { MeshCard } from "../../card.ts";
import { assertConnected, newPair } from "../arrangements.ts";

const registeredPeer = {
  pubkey: `${"B".repeat(42)}A=`,
  endpoint: "198.51.100.2:51820",
  endpoint_ip: "198.51.100.2",
  listen_port: null,
  online_seconds: 90,
};

const MESH = { caller: as(PEER), agent_id: PEER };

export const card: MeshCard = {
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
  plans: [
    // Reads the neighbours twice: before taking the locks, and after.
    call("register_peer", { ...MESH, ...registeredPeer }, { bounds: { rows: 200, pages: 400 } }),
    call("register_peer", { caller: as(OWNER), agent_id: OWNER, ...registeredPeer }, {
      circumstances: "of a new peer",
    }),
  ],
  lockWaits: [
    {
      held: "the addresses",
      hold: (sql) => sql`select mesh.lock_addresses()`,
      functionName: "register_peer",
      refused: ({ mesh }) => mesh.register("newcomer"),
      passes: ({ mesh }) => mesh.register("alice", { pubkey: newPubkey() }),
    },
  ],
};
