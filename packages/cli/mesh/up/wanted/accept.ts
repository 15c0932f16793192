/**
 * Which answer of /wg_config a host accepts. Only its data is used: addresses, port, MTU, peers
 * with their keys and endpoints, and who may reach which port. There is nothing in it that is run.
 */
import type { Network } from "../../../../agent-peer/wireguard/routing/networks.ts";
import {
  isAgentId,
  isInteger,
  isKey,
  isPeerName,
  leadsAstray,
  ownIpv4,
  ownIpv6,
  parsePeerEndpoint,
  type PeerEndpoint,
  singleAddress,
} from "./values.ts";

/** What this host should run. Everything in it was parsed. */
export interface Wanted {
  readonly version: number;
  readonly agentId: string;
  /** This host's own tunnel addresses. */
  readonly ipv4: string;
  readonly ipv6: string;
  /** The networks of the mesh: IPv4, then IPv6. */
  readonly networks: readonly [Network, Network];
  readonly mtu: number;
  /** Null: any port. */
  readonly listenPort: number | null;
  readonly peers: readonly WantedPeer[];
  /** Whether the operator wants to know what peers tried without a rule. */
  readonly reportRefused: boolean;
}

export interface WantedPeer {
  readonly agentId: string;
  /** Null if the service's name for it is no DNS label. */
  readonly name: string | null;
  readonly publicKey: string;
  readonly presharedKey: string;
  readonly ipv4: string;
  readonly ipv6: string;
  /** Where it listens; null if it registered nothing that this host may send to. */
  readonly endpoint: PeerEndpoint | null;
  /** In seconds; 0 for none. */
  readonly keepalive: number;
  /** The ports of this host that it may reach. */
  readonly rules: readonly Rule[];
}

export interface Rule {
  readonly proto: "tcp" | "udp";
  readonly port: number;
}

/** Why an answer was refused: a sentence without a key in it. */
export class RefusedConfiguration extends Error {
  override readonly name = "RefusedConfiguration";
}

type Fields = Readonly<Record<string, unknown>>;

/** Throws RefusedConfiguration. */
export function accept(answer: unknown): Wanted {
  const { agent_id, config_version, interface: own, peers, rules, report_refused } = fieldsOf(
    answer,
    "it",
  );
  if (!isAgentId(agent_id)) refuse("it names no agent");
  if (!isInteger(config_version, 0, Number.MAX_SAFE_INTEGER)) refuse("it has no config_version");
  const { addresses, mtu, listen_port } = fieldsOf(own, "its interface");
  const [first, second, ...others] = listOf(addresses, "the addresses of this host");
  const [ipv4, ipv6] = [ownIpv4(first), ownIpv6(second)];
  if (ipv4 === null || ipv6 === null || others.length > 0) {
    refuse(
      "no mesh can be where addresses are unspecified, loopback, link-local, multicast or " +
        `reserved, or are not in fd00::/8: ${shown(first)}, ${shown(second)}`,
    );
  }
  if (!isInteger(mtu, 1280, 65_535)) refuse(`its MTU is ${shown(mtu)}`);
  if (listen_port !== null && !isInteger(listen_port, 1, 65_535)) {
    refuse(`its listen_port is ${shown(listen_port)}`);
  }
  const networks = [ipv4.network, ipv6.network] as const;
  const known = new PeerParser(networks, new Set([ipv4.address, ipv6.address]));
  const parsed = listOf(peers, "its peers").map((peer) => known.parse(fieldsOf(peer, "a peer")));
  const inbound = inboundRules(listOf(rules, "its rules"), {
    agentId: agent_id,
    peers: new Set(parsed.map(({ agentId }) => agentId)),
  });
  return {
    version: config_version,
    agentId: agent_id,
    ipv4: ipv4.address,
    ipv6: ipv6.address,
    networks,
    mtu,
    listenPort: listen_port,
    peers: parsed.map((peer) => ({ ...peer, rules: inbound.get(peer.agentId) ?? [] })),
    reportRefused: report_refused === true,
  };
}

class PeerParser {
  readonly #keys = new Set<unknown>();
  readonly #agents = new Set<unknown>();

  constructor(
    private readonly networks: readonly [Network, Network],
    private readonly addresses: Set<string>,
  ) {}

  parse(peer: Fields): Omit<WantedPeer, "rules"> {
    const { agent_id: agentId, name, public_key, preshared_key } = peer;
    if (!isAgentId(agentId) || taken(this.#agents, agentId)) {
      refuse(`a peer's agent_id is malformed, or another peer has it: ${shown(agentId)}`);
    }
    if (!isKey(public_key) || taken(this.#keys, public_key)) {
      refuse(`the public key of ${agentId} is none, or another peer has it`);
    }
    if (!isKey(preshared_key)) refuse(`the PSK of ${agentId} is none`);
    const listed = listOf(peer["allowed_ips"], `the addresses of ${agentId}`);
    const [ipv4, ipv6] = this.networks.map((network, at) => singleAddress(listed[at], network));
    if (ipv4 == null || ipv6 == null || listed.length !== 2) {
      refuse(`${agentId} has other addresses than one IPv4 and one IPv6 of the mesh`);
    }
    if (taken(this.addresses, ipv4) || taken(this.addresses, ipv6)) {
      refuse(`${agentId} has an address of this host or of another peer`);
    }
    const keepalive = peer["persistent_keepalive"];
    if (!isInteger(keepalive, 0, 65_535)) refuse(`the keepalive of ${agentId} is malformed`);
    return {
      agentId,
      name: isPeerName(name) ? name : null,
      publicKey: public_key,
      presharedKey: preshared_key,
      ipv4,
      ipv6,
      endpoint: this.#endpoint(agentId, listOf(peer["endpoints"], `the endpoints of ${agentId}`)),
      keepalive,
    };
  }

  /** The first one. The other ones are for a program that seeks paths. */
  #endpoint(agentId: string, texts: readonly unknown[]): PeerEndpoint | null {
    const [first = null] = texts.map((text) => {
      const endpoint = parsePeerEndpoint(text);
      if (endpoint === null) refuse(`an endpoint of ${agentId} is malformed: ${shown(text)}`);
      return endpoint;
    });
    return first !== null && !first.isName && leadsAstray(first.host, this.networks) ? null : first;
  }
}

/** The rules of each peer towards this agent. Those of this agent towards peers are for them. */
function inboundRules(
  rules: readonly unknown[],
  { agentId, peers }: { readonly agentId: string; readonly peers: ReadonlySet<string> },
): ReadonlyMap<string, Rule[]> {
  const inbound = new Map<string, Rule[]>();
  for (const rule of rules) {
    const { from_agent, to_agent, port, proto } = fieldsOf(rule, "a rule");
    const [from, to] = [String(from_agent), String(to_agent)];
    if (proto !== "tcp" && proto !== "udp") refuse(`a rule is for ${shown(proto)}`);
    if (!isInteger(port, 1, 65_535)) refuse(`a rule is for port ${shown(port)}`);
    if (from === agentId && peers.has(to)) continue;
    if (to !== agentId || !peers.has(from)) {
      refuse(`a rule is not between this agent and a peer: ${shown(from)}, ${shown(to)}`);
    }
    const known = inbound.get(from) ?? [];
    if (known.some((other) => other.port === port && other.proto === proto)) continue;
    inbound.set(from, [...known, { proto, port }]);
  }
  return inbound;
}

/** Adds the value. Returns whether it was there already. */
function taken<Value>(values: Set<Value>, value: Value): boolean {
  const wasThere = values.has(value);
  values.add(value);
  return wasThere;
}

function fieldsOf(value: unknown, what: string): Fields {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    refuse(`${what} is no object`);
  }
  return value as Fields;
}

function listOf(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) refuse(`${what} are no list`);
  return value;
}

/** The value for a message. It may be long, or have control characters. */
function shown(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "missing";
  return text.slice(0, 100).replace(/[^ -~]/g, "?").replace(/[A-Za-z0-9+/]{40,}=*/g, "(a key)");
}

function refuse(why: string): never {
  throw new RefusedConfiguration(`the configuration is refused: ${why}`);
}
