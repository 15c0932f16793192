import { AGENT_ID } from "../../_shared/identity/named_ids.ts";
import { type Endpoint, parseEndpoint } from "../../_shared/operations/addresses/endpoint.ts";
import {
  type IpAddress,
  type Network,
  parseIpv4,
  parseIpv6,
  parseNetwork,
} from "../../_shared/operations/addresses/ip_address.ts";
import { type PublicKey, storedPublicKey } from "./key.ts";
import type { PresharedKey } from "./psk.ts";

const NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** One snapshot of an agent's place in the mesh, as the database returns it. Not parsed yet. */
export interface MeshState {
  readonly agent_id: string;
  /** The agent's own tunnel addresses: IPv4, then IPv6. */
  readonly addresses: readonly string[];
  /** The mesh's networks with prefix length: IPv4, then IPv6. */
  readonly networks: readonly string[];
  /** Null: any port. If the agent registered no port, the database gives the endpoint's port. */
  readonly listen_port: number | null;
  /** Every registered peer that the agent sees, in any order. */
  readonly peers: readonly PeerState[];
}

export interface PeerState {
  readonly agent_id: string;
  /** Its name in the mesh: a DNS label. */
  readonly name: string;
  readonly pubkey: string;
  readonly endpoint: string | null;
  /** In the order in which other hosts should try them. */
  readonly further_endpoints: readonly string[];
  /** Where reachable neighbours see the peer: a hint, which only the JSON configuration has. */
  readonly observed_endpoint?: string | null;
  readonly addresses: readonly string[];
  /** The active rules from this peer to the agent: what the peer may reach. */
  readonly inbound_rules: readonly { readonly proto: string; readonly port: number }[];
  /** The active rules from the agent to this peer: what the agent may reach there. */
  readonly outbound_rules: readonly { readonly proto: string; readonly port: number }[];
}

/** Everything that a rendered configuration depends on. */
export interface MeshConfiguration {
  readonly agentId: string;
  readonly addresses: AddressPair;
  readonly networks: { readonly ipv4: Network; readonly ipv6: Network };
  /** Null behind NAT: WireGuard then picks a port. */
  readonly listenPort: number | null;
  /** Sorted by the bytes of their identifiers. */
  readonly peers: readonly PeerConfiguration[];
}

export interface PeerConfiguration {
  readonly agentId: string;
  readonly name: string;
  readonly publicKey: PublicKey;
  readonly presharedKey: PresharedKey;
  readonly endpoint: Endpoint | null;
  /** Present only with an endpoint. */
  readonly furtherEndpoints: readonly Endpoint[];
  /** Where reachable neighbours see the peer: a hint. */
  readonly observedEndpoint: Endpoint | null;
  readonly addresses: AddressPair;
  /** Sorted by protocol, then by port. */
  readonly inboundRules: readonly PeerRule[];
  /** Sorted likewise. The peer's host enforces them, so wg-quick configurations leave them out. */
  readonly outboundRules: readonly PeerRule[];
}

/** A port that one side of a pair may reach on the other. */
export interface PeerRule {
  readonly proto: "tcp" | "udp";
  readonly port: number;
}

export interface AddressPair {
  readonly ipv4: IpAddress;
  readonly ipv6: IpAddress;
}

/** The database holds a value that no registration could have stored. */
export class MeshStateError extends Error {
  override name = "MeshStateError";
}

/**
 * Parses every value again, so that nothing unparsed is ever rendered, and sorts the lists. Throws
 * `MeshStateError` for any bad value: a configuration that left out one peer would cut it off.
 */
export function parseMeshConfiguration<Peer extends PeerState>(
  state: Omit<MeshState, "peers"> & { readonly peers: readonly Peer[] },
  presharedKeyOf: (peer: Peer) => PresharedKey,
): MeshConfiguration {
  const [ipv4, ipv6] = state.networks.map(parseNetwork);
  if (ipv4?.address.family !== "ipv4" || ipv6?.address.family !== "ipv6") {
    throw new MeshStateError("The mesh needs an IPv4 and an IPv6 network.");
  }
  const meshNetworks = [ipv4, ipv6];
  return {
    agentId: agentIdOf(state),
    addresses: addressesOf(state),
    networks: { ipv4, ipv6 },
    listenPort: state.listen_port === null ? null : portOf(state, state.listen_port),
    peers: state.peers.map((peer) => ({
      agentId: agentIdOf(peer),
      name: nameOf(peer),
      publicKey: publicKeyOf(peer),
      presharedKey: presharedKeyOf(peer),
      endpoint: peer.endpoint === null ? null : endpointOf(peer, peer.endpoint, meshNetworks),
      furtherEndpoints: peer.further_endpoints.map((further) =>
        endpointOf(peer, further, meshNetworks)
      ),
      observedEndpoint: observedEndpointOf(peer, meshNetworks),
      addresses: addressesOf(peer),
      inboundRules: rulesOf(peer, peer.inbound_rules),
      outboundRules: rulesOf(peer, peer.outbound_rules),
    })).sort((one, other) => one.agentId < other.agentId ? -1 : 1),
  };
}

function agentIdOf({ agent_id }: { agent_id: string }): string {
  if (!AGENT_ID.test(agent_id)) {
    throw new MeshStateError("An agent_id is malformed.");
  }
  return agent_id;
}

function nameOf({ agent_id, name }: PeerState): string {
  if (!NAME.test(name)) throw new MeshStateError(`The name of ${agent_id} is malformed.`);
  return name;
}

function publicKeyOf({ agent_id, pubkey }: PeerState): PublicKey {
  const publicKey = storedPublicKey(pubkey);
  if (publicKey === null) throw new MeshStateError(`The pubkey of ${agent_id} is malformed.`);
  return publicKey;
}

function endpointOf(
  { agent_id }: PeerState,
  endpoint: string,
  meshNetworks: readonly Network[],
): Endpoint {
  const parsed = parseEndpoint(endpoint, meshNetworks);
  if (!parsed.ok) throw new MeshStateError(`The endpoint of ${agent_id}: ${parsed.refusal}`);
  return parsed.value;
}

/** Null also if the text is no valid endpoint now: a configuration works without this hint. */
function observedEndpointOf(
  { observed_endpoint }: PeerState,
  meshNetworks: readonly Network[],
): Endpoint | null {
  const parsed = parseEndpoint(observed_endpoint ?? "", meshNetworks);
  return parsed.ok ? parsed.value : null;
}

function addressesOf({ agent_id, addresses }: Pick<PeerState, "agent_id" | "addresses">) {
  const [ipv4, ipv6] = [parseIpv4(addresses[0] ?? ""), parseIpv6(addresses[1] ?? "")];
  if (ipv4 === null || ipv6 === null || addresses.length !== 2) {
    throw new MeshStateError(`The addresses of ${agent_id} are not one IPv4 and one IPv6 address.`);
  }
  return { ipv4, ipv6 };
}

function rulesOf(peer: PeerState, rules: PeerState["inbound_rules"]): PeerRule[] {
  return rules.map(({ proto, port }) => {
    if (proto !== "tcp" && proto !== "udp") {
      throw new MeshStateError(`A rule with ${peer.agent_id} is for neither TCP nor UDP.`);
    }
    return { proto, port: portOf(peer, port) } as const;
  }).sort((one, other) =>
    one.proto === other.proto ? one.port - other.port : one.proto < other.proto ? -1 : 1
  );
}

function portOf({ agent_id }: { agent_id: string }, port: number): number {
  if (!Number.isInteger(port) || port < 1 || port > 65535) {
    throw new MeshStateError(`A port of ${agent_id} is out of range.`);
  }
  return port;
}
