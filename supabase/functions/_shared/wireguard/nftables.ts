import type { InboundRule, MeshConfiguration } from "./mesh_configuration.ts";

/**
 * The rendered lines do not know the interface: wg-quick takes its name from the file's name. The
 * hook that loads them puts the table's name, the interface's and the tunnel's UDP port in.
 */
export const PLACEHOLDERS = { table: "<table>", interface: "<interface>", port: "<port>" } as const;

/** Keeps the longest line, of IPv6 tuples, under a kilobyte. */
const ELEMENTS_PER_LINE = 12;

/**
 * The access rules as an nftables ruleset that replaces its predecessor in one transaction.
 *
 * It decides in prerouting, after connection tracking (-200) and before destination NAT (-100): on
 * the input hook a published container port is already rewritten and forwarded packets never show.
 * Only the reply direction of a known flow passes without a rule, so that a revoked rule stops a
 * flow that is open. An ICMP error passes when it is about a known flow, in either direction:
 * without those that are about replies, what answers a peer would never learn a path's MTU. The
 * kernel believes the others too, and any peer could narrow the path to any address.
 */
export function renderRuleset({ addresses, peers }: MeshConfiguration): string[] {
  return replaceTable([
    ...renderSet("peers_ipv4", {
      type: "ipv4_addr",
      elements: peers.map((peer) => peer.addresses.ipv4.text),
    }),
    ...renderSet("peers_ipv6", {
      type: "ipv6_addr",
      elements: peers.map((peer) => peer.addresses.ipv6.text),
    }),
    ...renderSet("rules_ipv4", {
      type: "ipv4_addr . inet_proto . inet_service",
      elements: peers.flatMap((peer) => tuples(peer.addresses.ipv4.text, peer.inboundRules)),
    }),
    ...renderSet("rules_ipv6", {
      type: "ipv6_addr . inet_proto . inet_service",
      elements: peers.flatMap((peer) => tuples(peer.addresses.ipv6.text, peer.inboundRules)),
    }),
    "  chain from_tunnel {",
    "    type filter hook prerouting priority mangle; policy accept;",
    `    iifname != "${PLACEHOLDERS.interface}" accept`,
    `    ${foreignErrorGuard("ip", "peers_ipv4")}`,
    `    ${foreignErrorGuard("ip6", "peers_ipv6")}`,
    "    ct direction reply ct state established,related accept",
    `    ip daddr ${addresses.ipv4.text} ip saddr . meta l4proto . th dport @rules_ipv4 accept`,
    `    ip6 daddr ${addresses.ipv6.text} ip6 saddr . meta l4proto . th dport @rules_ipv6 accept`,
    `    ip daddr ${addresses.ipv4.text} ip saddr @peers_ipv4 ct state != invalid icmp type { ${ICMP_TYPES} } accept`,
    `    ip6 daddr ${addresses.ipv6.text} ip6 saddr @peers_ipv6 ct state != invalid icmpv6 type { ${ICMPV6_TYPES} } accept`,
    "    drop",
    "  }",
    ...renderIntoTunnel([LOOP_GUARD, PICKUP_GUARD]),
  ]);
}

/** The ruleset of an agent that enforces its access rules itself: what keeps its host out of a loop. */
export function renderLoopGuard(): string[] {
  return replaceTable(renderIntoTunnel([LOOP_GUARD]));
}

/**
 * What the tunnel's own port would send through the tunnel goes to an endpoint that resolves into
 * the mesh, and would be encrypted in a loop.
 */
const LOOP_GUARD = `oifname "${PLACEHOLDERS.interface}" udp sport ${PLACEHOLDERS.port} drop`;

/**
 * Connection tracking sees a peer's packets before they are dropped, so the peer of a revoked flow
 * can have it forgotten, with one RST that never reaches the socket. What this host then sends
 * again would be picked up in the middle (nf_conntrack_tcp_loose) as a flow that this host began,
 * and the peer's packets would pass as its replies. A datagram that this host sends of its own
 * accord is no such case: it begins a flow.
 */
const PICKUP_GUARD = `oifname "${PLACEHOLDERS.interface}" ct state new ` +
  "tcp flags & (fin | syn | rst | ack) != syn drop";

/**
 * What an error is about is for its sender to write. The datagrams that carry the tunnels are flows
 * whose addresses and ports every peer knows; an error from inside the tunnel is never about these.
 */
function foreignErrorGuard(family: "ip" | "ip6", peers: string): string {
  return `ct state related ct original ${family} saddr != @${peers} ` +
    `ct reply ${family} saddr != @${peers} drop`;
}

/** Postrouting, since what is forwarded never shows on the output hook. */
function renderIntoTunnel(rules: readonly string[]): string[] {
  return [
    "  chain into_tunnel {",
    "    type filter hook postrouting priority mangle; policy accept;",
    ...rules.map((rule) => `    ${rule}`),
    "  }",
  ];
}

/** In one transaction, whether there was one or not. */
function replaceTable(body: readonly string[]): string[] {
  const { table } = PLACEHOLDERS;
  return [
    `table inet ${table}`,
    `delete table inet ${table}`,
    `table inet ${table} {`,
    ...body,
    "}",
  ];
}

const ICMP_TYPES = "echo-request, destination-unreachable, time-exceeded, parameter-problem";
const ICMPV6_TYPES =
  "echo-request, destination-unreachable, packet-too-big, time-exceeded, parameter-problem";

function tuples(source: string, rules: readonly InboundRule[]): string[] {
  return rules.map(({ proto, port }) => `${source} . ${proto} . ${port}`);
}

/** nft refuses an empty list of elements. */
function renderSet(
  name: string,
  { type, elements }: { type: string; elements: readonly string[] },
): string[] {
  return [
    `  set ${name} {`,
    `    type ${type}`,
    ...(elements.length === 0 ? [] : ["    elements = {", ...renderElements(elements), "    }"]),
    "  }",
  ];
}

function renderElements(elements: readonly string[]): string[] {
  const lineCount = Math.ceil(elements.length / ELEMENTS_PER_LINE);
  return Array.from({ length: lineCount }, (_, line) => {
    const onThisLine = elements.slice(line * ELEMENTS_PER_LINE, (line + 1) * ELEMENTS_PER_LINE);
    return `      ${onThisLine.join(", ")},`;
  });
}
