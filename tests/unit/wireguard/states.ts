import assert from "node:assert/strict";
import { parseNetwork } from "../../../supabase/functions/_shared/wireguard/ip_address.ts";
import {
  type MeshConfiguration,
  type MeshState,
  parseMeshConfiguration,
  type PeerState,
} from "../../../supabase/functions/_shared/wireguard/mesh_configuration.ts";
import { PresharedKey } from "../../../supabase/functions/_shared/wireguard/psk.ts";
import { readVectors } from "./vectors.ts";

export const networks = ["10.213.0.0/16", "fd12:3456:789a:1::/64"] as const;
export const meshNetworks = networks.map((text) => {
  const network = parseNetwork(text);
  assert.ok(network);
  return network;
});

const publicKeys = readVectors("public_keys.txt");

/** The peer with the number `host` in the mesh's networks, 2 to 25. */
export function peerState(host: number, rest: Partial<PeerState> = {}): PeerState {
  return {
    agent_id: `agent-${host}`,
    pubkey: publicKeys[host - 2] ?? "",
    endpoint: null,
    addresses: [`10.213.0.${host}`, `fd12:3456:789a:1::${host.toString(16)}`],
    inbound_rules: [],
    ...rest,
  };
}

/** alice, with the number 1. */
export function aliceState(rest: Partial<MeshState> = {}): MeshState {
  return {
    agent_id: "alice",
    addresses: ["10.213.0.1", "fd12:3456:789a:1::1"],
    networks,
    listen_port: null,
    endpoint: null,
    peers: [],
    ...rest,
  };
}

/** Parsed, with a PSK for each peer that is the last byte of its address, 32 times. */
export function configurationOf(state: MeshState): MeshConfiguration {
  return parseMeshConfiguration(state, ({ addresses }) => {
    return new PresharedKey(new Uint8Array(32).fill(Number(addresses[0]?.split(".")[3])));
  });
}
