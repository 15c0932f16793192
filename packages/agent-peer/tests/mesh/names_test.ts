import assert from "node:assert/strict";
import type { MeshConfiguration } from "../../../agent-files/contract/types.ts";
import { filterRules } from "../../mesh/engine/rules.ts";
import { findPeer, mayReach } from "../../mesh/service/names.ts";

function peer(agent_id: string, name: string, number: number): MeshConfiguration["peers"][number] {
  return {
    agent_id,
    name,
    public_key: "",
    preshared_key: "",
    allowed_ips: [`10.213.0.${number}/32`, `fd00::${number}/128`],
    endpoints: [],
    observed_endpoint: null,
    persistent_keepalive: 25,
  };
}

const CONFIGURATION: MeshConfiguration = {
  agent_id: "me",
  config_version: 1,
  interface: { addresses: ["10.213.0.1/16", "fd00::1/64"], mtu: 1280, listen_port: null },
  peers: [
    peer("builder", "builder", 2),
    peer("Team.7", "team-7-0123456789abcdef", 3),
    // An agent's id may look like the name or the address of another peer.
    peer("team-7-0123456789abcdef", "team-7-0123456789abcdef-fedcba9876543210", 4),
    peer("10.213.0.2", "10-213-0-2", 5),
    peer("builder.mesh.internal", "builder-mesh-internal-0123456789abcdef", 6),
    peer("Odd.mesh.internal", "odd-mesh-internal-0123456789abcdef", 7),
  ],
  rules: [
    { from_agent: "me", to_agent: "builder", port: 443, proto: "tcp" },
    { from_agent: "me", to_agent: "builder", port: 53, proto: "udp" },
    { from_agent: "builder", to_agent: "me", port: 8080, proto: "tcp" },
    { from_agent: "Team.7", to_agent: "me", port: 22, proto: "tcp" },
  ],
  relay: false,
};

Deno.test("findPeer() by name, identifier or address → the peer, and which of its addresses", () => {
  for (
    const [host, agent, address] of [
      ["builder", "builder", "10.213.0.2"],
      ["BUILDER.", "builder", "10.213.0.2"],
      ["builder.mesh.internal", "builder", "10.213.0.2"],
      ["Builder.MESH.internal.", "builder", "10.213.0.2"],
      ["team-7-0123456789abcdef.mesh.internal", "Team.7", "10.213.0.3"],
      ["Odd.mesh.internal", "Odd.mesh.internal", "10.213.0.7"],
      ["10.213.0.2", "builder", "10.213.0.2"],
      ["fd00::2", "builder", "fd00::2"],
      ["[FD00:0::2]", "builder", "fd00::2"],
      ["Team.7", "Team.7", "10.213.0.3"],
      ["team-7-0123456789abcdef", "Team.7", "10.213.0.3"],
      ["10-213-0-2", "10.213.0.2", "10.213.0.5"],
    ] as const
  ) {
    const found = findPeer(CONFIGURATION, host);
    assert.deepEqual([found?.peer.agent_id, found?.address], [agent, address], host);
  }
  for (
    const host of [
      "",
      ".",
      "me",
      "team.7",
      "10.213.0.1",
      "10.213.0.9",
      "::1",
      "builder.x",
      "mesh.internal",
      ".mesh.internal",
      "me.mesh.internal",
      "x.builder.mesh.internal",
    ]
  ) {
    assert.equal(findPeer(CONFIGURATION, host), null, host);
  }
});

Deno.test("mayReach() → only by a TCP rule from this agent to that port of that peer", () => {
  const [builder, team] = CONFIGURATION.peers;
  assert.equal(mayReach(CONFIGURATION, builder!, 443), true);
  for (const port of [53, 8080, 80]) assert.equal(mayReach(CONFIGURATION, builder!, port), false);
  assert.equal(mayReach(CONFIGURATION, team!, 443), false);
  assert.equal(mayReach(CONFIGURATION, team!, 22), false);
});

Deno.test("filterRules() → the TCP ports of each direction by peer, and no prefix lengths", () => {
  const { addresses, peers } = filterRules(CONFIGURATION);
  assert.deepEqual(addresses, ["10.213.0.1", "fd00::1"]);
  assert.deepEqual(peers.map(({ inbound, outbound }) => [inbound, outbound]), [
    [[8080], [443]],
    [[22], []],
    [[], []],
    [[], []],
    [[], []],
    [[], []],
  ]);
  assert.deepEqual(peers[0]!.addresses, ["10.213.0.2", "fd00::2"]);
});
