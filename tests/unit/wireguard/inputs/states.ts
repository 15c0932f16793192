import assert from "node:assert/strict";
import { encodeBase64 } from "../../../../supabase/functions/_shared/identity/encryption/base64.ts";
import { parseNetwork } from "../../../../supabase/functions/_shared/operations/addresses/ip_address.ts";
import {
  type MeshConfiguration,
  type MeshState,
  parseMeshConfiguration,
  type PeerState,
} from "../../../../supabase/functions/agent-mesh/wireguard/mesh_configuration.ts";
import { PresharedKey } from "../../../../supabase/functions/agent-mesh/wireguard/psk.ts";
import { readVectors } from "../vectors.ts";

export const networks = ["10.213.0.0/16", "fd12:3456:789a:1::/64"] as const;
export const meshNetworks = networks.map((text) => {
  const network = parseNetwork(text);
  assert.ok(network);
  return network;
});

const publicKeys = readVectors("public_keys.txt");

/** A peer whose addresses have the host number `host`, from 2 to 25. */
export function peerState(host: number, rest: Partial<PeerState> = {}): PeerState {
  return {
    agent_id: `agent-${host}`,
    name: `agent-${host}`,
    pubkey: publicKeys[host - 2] ?? "",
    endpoint: null,
    further_endpoints: [],
    addresses: [`10.213.0.${host}`, `fd12:3456:789a:1::${host.toString(16)}`],
    inbound_rules: [],
    outbound_rules: [],
    ...rest,
  };
}

/** alice, whose addresses have the host number 1. */
export function aliceState(rest: Partial<MeshState> = {}): MeshState {
  return {
    agent_id: "alice",
    addresses: ["10.213.0.1", "fd12:3456:789a:1::1"],
    networks,
    listen_port: null,
    peers: [],
    ...rest,
  };
}

/** alice with up to 1,000 peers. Each has an IP endpoint and rules that let it reach her. */
export function largeState(
  { peers, rulesPerPeer }: { peers: number; rulesPerPeer: number },
): MeshState {
  return aliceState({
    peers: Array.from({ length: peers }, (_, index) => {
      const key = new Uint8Array(32).fill(9);
      new DataView(key.buffer).setUint16(0, index);
      const [high, low] = [index >> 8, index & 0xff];
      return peerState(2, {
        agent_id: `agent-${index}`,
        pubkey: encodeBase64(key),
        endpoint: `203.0.${113 + high}.${low}:51820`,
        addresses: [`10.213.${high + 1}.${low}`, `fd12:3456:789a:1:1::${index.toString(16)}`],
        inbound_rules: Array.from({ length: rulesPerPeer }, (_, rule) => ({
          proto: rule % 2 === 0 ? "tcp" : "udp",
          port: 1000 + rule,
        })),
      });
    }),
  });
}

/** Parses a state. The PSK of each peer is the last byte of its IPv4 address, 32 times. */
export function configurationOf(state: MeshState): MeshConfiguration {
  return parseMeshConfiguration(state, ({ addresses }) => {
    return new PresharedKey(new Uint8Array(32).fill(Number(addresses[0]?.split(".")[3])));
  });
}
