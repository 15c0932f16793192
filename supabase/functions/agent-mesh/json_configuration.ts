import * as z from "zod";
import { sentAgentId, sentSubject } from "../_shared/request/fields.ts";
import {
  PUBKEY_EXAMPLE,
  rule,
  sentConfigVersion,
  sentEndpoint,
  sentName,
  sentPubkey,
} from "./fields.ts";
import { formatEndpoint } from "../_shared/operations/addresses/endpoint.ts";
import type { MeshConfiguration, PeerConfiguration } from "./wireguard/mesh_configuration.ts";
import { MTU, PERSISTENT_KEEPALIVE } from "./wireguard/wg_quick.ts";

/** An address or a network, in the form that wg-quick takes. */
const sentNetwork = z.string().meta({ pattern: "^[0-9a-f:.]{2,45}/[0-9]{1,3}$" });

const peer = z.object({
  agent_id: sentAgentId.meta({ description: "The agent of the peer.", examples: ["builder"] }),
  name: sentName,
  public_key: sentPubkey.meta({ description: "The peer's WireGuard public key." }),
  preshared_key: z.string().meta({
    description: "The PSK of the pair: a secret.",
    pattern: "^[A-Za-z0-9+/]{43}=$",
    examples: [PUBKEY_EXAMPLE],
  }),
  allowed_ips: z.array(sentNetwork).meta({
    description: "The peer's tunnel addresses: one IPv4, one IPv6.",
    examples: [["10.213.0.2/32", "fd5a:3c1e:94b7::2/128"]],
  }),
  endpoints: z.array(sentEndpoint).meta({
    description: "Everywhere the peer listens, in the order in which to try them. Names are for " +
      "the agent's host to look up.",
  }),
  observed_endpoint: sentEndpoint.nullable().meta({
    description: "Where other peers last saw the peer; null if none reported it. A hint.",
  }),
  persistent_keepalive: z.int().min(0).max(65_535).meta({
    description: "How often to send the peer a keepalive, in seconds.",
    examples: [PERSISTENT_KEEPALIVE],
  }),
});

/** The configuration for a program that is a peer itself, without wg-quick. */
export const jsonConfiguration = z.object({
  agent_id: sentSubject,
  config_version: sentConfigVersion,
  interface: z.object({
    addresses: z.array(sentNetwork).meta({
      description: "The agent's tunnel addresses, each with the prefix length of the mesh: one " +
        "IPv4, one IPv6.",
      examples: [["10.213.0.1/16", "fd5a:3c1e:94b7::1/64"]],
    }),
    mtu: z.int().min(576).max(65_535).meta({
      description: "The size of the largest packet in the tunnel, in bytes.",
      examples: [MTU],
    }),
    listen_port: z.int().min(1).max(65_535).nullable().meta({
      description: "The UDP port to listen on; null: any.",
      examples: [51_820],
    }),
  }).meta({ description: "The agent's own end of the tunnels." }),
  peers: z.array(peer).meta({ description: "The peers that share an active rule with the agent." }),
  rules: z.array(rule).meta({
    description: "The active rules that name the agent. It must enforce those that name it as " +
      "`to_agent`. Those that name it as `from_agent` say what it may reach, and do not raise its " +
      "`config_version`: wait for events, too.",
  }),
  relay: z.boolean().meta({
    description: "Whether the operator has set a relay.",
    examples: [false],
  }),
  report_refused: z.boolean().optional().meta({
    description: "Whether the operator wants heartbeats to report `refused` connections.",
    examples: [false],
  }),
}).meta({ id: "MeshConfiguration" });

/**
 * Renders the state of the wg-quick configuration, plus observed endpoints, outbound rules and what
 * the operator has set.
 */
export function renderJson(
  { agentId, addresses, networks, listenPort, peers }: MeshConfiguration,
  { relay, reportRefused }: { readonly relay: boolean; readonly reportRefused: boolean },
): Omit<z.output<typeof jsonConfiguration>, "config_version"> {
  return {
    agent_id: agentId,
    interface: {
      addresses: (["ipv4", "ipv6"] as const).map((family) =>
        `${addresses[family].text}/${networks[family].prefixLength}`
      ),
      mtu: MTU,
      listen_port: listenPort,
    },
    peers: peers.map(renderPeer),
    rules: rulesOf(agentId, peers),
    relay,
    report_refused: reportRefused,
  };
}

function renderPeer(peer: PeerConfiguration) {
  const { ipv4, ipv6 } = peer.addresses;
  const endpoints = peer.endpoint === null ? [] : [peer.endpoint, ...peer.furtherEndpoints];
  return {
    agent_id: peer.agentId,
    name: peer.name,
    public_key: peer.publicKey,
    preshared_key: peer.presharedKey.revealBase64(),
    allowed_ips: [`${ipv4.text}/32`, `${ipv6.text}/128`],
    endpoints: endpoints.map(formatEndpoint),
    observed_endpoint: peer.observedEndpoint && formatEndpoint(peer.observedEndpoint),
    persistent_keepalive: PERSISTENT_KEEPALIVE,
  };
}

/** In the order of `acls` in /netmap. */
function rulesOf(agentId: string, peers: readonly PeerConfiguration[]) {
  const outbound = peers.flatMap((peer) =>
    peer.outboundRules.map((rule) => ({ from_agent: agentId, to_agent: peer.agentId, ...rule }))
  );
  const inbound = peers.flatMap((peer) =>
    peer.inboundRules.map((rule) => ({ from_agent: peer.agentId, to_agent: agentId, ...rule }))
  );
  // Both lists are sorted already, because peers are sorted by agent_id. The agent's outbound rules
  // go where its own agent_id belongs.
  const before = inbound.findIndex(({ from_agent }) => from_agent > agentId);
  const at = before === -1 ? inbound.length : before;
  return [...inbound.slice(0, at), ...outbound, ...inbound.slice(at)];
}
