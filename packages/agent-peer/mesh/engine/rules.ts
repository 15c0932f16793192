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
export function filterRules(configuration: MeshConfiguration): FilterRules {
  const { interface: { addresses }, peers } = configuration;
  return {
    addresses: addresses.map(addressOf),
    peers: peers.map((peer) => ({
      addresses: peer.allowed_ips.map(addressOf),
      ...portsOf(configuration, peer.agent_id, "tcp"),
      udp: portsOf(configuration, peer.agent_id, "udp"),
    })),
  };
}

function portsOf({ agent_id, rules }: MeshConfiguration, peer: string, protocol: "tcp" | "udp") {
  const portsOf = (from: string, to: string) =>
    rules.filter(({ from_agent, to_agent, proto }) =>
      from_agent === from && to_agent === to && proto === protocol
    ).map(({ port }) => port);
  return { inbound: portsOf(peer, agent_id), outbound: portsOf(agent_id, peer) };
}
