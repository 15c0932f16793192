import assert from "node:assert/strict";
import type { MeshConfiguration } from "../../../agent-files/contract/types.ts";
import type { PeerState } from "../../mesh/engine/engine.ts";
import { knownPeers } from "../../mesh/service/known_peers.ts";

const PRIVATE = ["192.168.1.7:51820"];
const PUBLIC = ["203.0.113.7:51820"];

function configuration(
  { endpoints, relay = false }: { readonly endpoints: string[]; readonly relay?: boolean },
): MeshConfiguration {
  return {
    agent_id: "me",
    config_version: 1,
    interface: { addresses: ["10.213.0.1/16", "fd00::1/64"], mtu: 1280, listen_port: null },
    peers: [{
      agent_id: "Builder",
      name: "builder",
      public_key: "key",
      preshared_key: "",
      allowed_ips: ["10.213.0.2/32", "fd00::2/128"],
      endpoints,
      observed_endpoint: null,
      persistent_keepalive: 25,
    }],
    rules: [],
    relay,
  };
}

function state(via: PeerState["via"]): PeerState {
  const endpoint = via === "none" ? null : "203.0.113.7:51820";
  return {
    publicKey: "key",
    via,
    endpoint,
    handshakeAgeSeconds: 1,
    receivedBytes: 2,
    use: { connections: 1, heldBytes: 0, refused: 0 },
    sentBytes: 3,
  };
}

for (
  const { what, own, peer, relay = false, states, expected } of [
    {
      what: "a peer that is reached",
      own: PRIVATE,
      peer: PUBLIC,
      states: [state("direct")],
      expected: null,
    },
    {
      what: "both with private addresses, without a relay",
      own: PRIVATE,
      peer: ["10.0.0.7:51820"],
      states: [state("none")],
      expected: "both are behind NAT, and no relay is set",
    },
    {
      what: "both without an address, with a relay",
      own: [],
      peer: [],
      relay: true,
      states: [state("none")],
      expected: "both are behind NAT, and the relay does not connect them",
    },
    {
      what: "a peer with an address that the tunnel does not know yet",
      own: PRIVATE,
      peer: PUBLIC,
      states: [],
      expected: "no answer by UDP from Builder at 203.0.113.7:51820",
    },
  ] as const
) {
  Deno.test(`knownPeers(): ${what} → ${expected ?? "no reason"}`, () => {
    const [known] = knownPeers(configuration({ endpoints: [...peer], relay }), {
      states,
      ownEndpoints: own,
    });
    assert.equal(known?.reason, expected);
    assert.deepEqual([known?.agentId, known?.name, known?.via], [
      "Builder",
      "builder",
      states[0]?.via ?? "none",
    ]);
    assert.deepEqual(known?.addresses, ["10.213.0.2", "fd00::2"]);
  });
}
