import type { MeshConfiguration } from "../../service.ts";
import type { FilterRules } from "../../ip/filter/packet_filter.ts";

/** The address of a network, without the prefix length. */
export function addressOf(network: string): string {
  return network.slice(0, network.lastIndexOf("/"));
}

/** The tunnel addresses of each peer, by its public key. */
export function addressesByPeer({ peers }: MeshConfiguration): Map<string, string[]> {
  return new Map(peers.map((peer) => [peer.public_key, peer.allowed_ips.map(addressOf)]));
}

/** The rules of a configuration, in the form of the packet filter. */
export function filterRules(
  { agent_id, interface: { addresses }, peers, rules }: MeshConfiguration,
): FilterRules {
  const tcp = rules.filter(({ proto }) => proto === "tcp");
  return {
    addresses: addresses.map(addressOf),
    peers: peers.map((peer) => ({
      addresses: peer.allowed_ips.map(addressOf),
      inbound: tcp.filter(({ from_agent }) => from_agent === peer.agent_id)
        .map(({ port }) => port),
      outbound: tcp.filter((rule) =>
        rule.from_agent === agent_id && rule.to_agent === peer.agent_id
      ).map(({ port }) => port),
    })),
  };
}
