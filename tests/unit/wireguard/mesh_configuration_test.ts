import assert from "node:assert/strict";
import {
  MeshStateError,
  type PeerState,
} from "../../../supabase/functions/agent-mesh/wireguard/mesh_configuration.ts";
import { aliceState, configurationOf, peerState } from "./inputs/states.ts";

Deno.test("peers and rules in any order → peers in byte order, rules by protocol and port", () => {
  const rules = [["udp", 53], ["tcp", 443], ["tcp", 80]] as const;
  const { peers } = configurationOf(aliceState({
    peers: [
      peerState(2, { agent_id: "agent_1" }),
      peerState(3, {
        agent_id: "agent-2",
        inbound_rules: rules.map(([proto, port]) => ({ proto, port })),
      }),
      peerState(4, { agent_id: "Zoe" }),
    ],
  }));
  assert.deepEqual(peers.map(({ agentId }) => agentId), ["Zoe", "agent-2", "agent_1"]);
  assert.deepEqual(peers[1]?.inboundRules, [
    { proto: "tcp", port: 80 },
    { proto: "tcp", port: 443 },
    { proto: "udp", port: 53 },
  ]);
});

Deno.test("listen_port → listenPort; none → null", () => {
  assert.equal(configurationOf(aliceState({ listen_port: 51820 })).listenPort, 51820);
  assert.equal(configurationOf(aliceState()).listenPort, null);
});

Deno.test("one malformed value anywhere → MeshStateError, not a shorter configuration", () => {
  const badPeers: Partial<PeerState>[] = [
    { agent_id: "bob\nPostUp = id" },
    { agent_id: "" },
    { pubkey: "bob" },
    { name: "Bob" },
    { name: "bob.example" },
    { name: "-bob" },
    { name: "" },
    { endpoint: "10.213.0.9:51820" },
    { endpoint: "bob:51820\nPostUp = id" },
    { endpoint: "bob:51820", further_endpoints: ["10.213.0.9:51820"] },
    { endpoint: "bob:51820", further_endpoints: ["bob:51820\nPostUp = id"] },
    { addresses: ["10.213.0.2"] },
    { addresses: ["10.213.0.2/32", "fd12::2"] },
    { addresses: ["fd12::2", "10.213.0.2"] },
    { inbound_rules: [{ proto: "icmp", port: 1 }] },
    { inbound_rules: [{ proto: "tcp", port: 0 }] },
    { inbound_rules: [{ proto: "tcp", port: 65536 }] },
    { inbound_rules: [{ proto: "tcp", port: 1.5 }] },
    { outbound_rules: [{ proto: "sctp", port: 1 }] },
    { outbound_rules: [{ proto: "udp", port: 70_000 }] },
  ];
  for (const bad of badPeers) {
    const state = aliceState({ peers: [peerState(2, bad), peerState(3)] });
    assert.throws(() => configurationOf(state), MeshStateError, JSON.stringify(bad));
  }
  const badStates = [
    { agent_id: "al ice" },
    { listen_port: 0 },
    { addresses: [] },
    { networks: ["fd12::/64", "10.213.0.0/16"] },
    { networks: ["10.213.0.0/33", "fd12::/64"] },
    { networks: ["10.213.0.0", "fd12::/64"] },
  ];
  for (const bad of badStates) {
    assert.throws(() => configurationOf(aliceState(bad)), MeshStateError, JSON.stringify(bad));
  }
});
