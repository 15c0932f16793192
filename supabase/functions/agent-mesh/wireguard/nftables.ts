import type { MeshConfiguration, PeerRule } from "./mesh_configuration.ts";

/**
 * The rendered lines cannot name the interface: wg-quick takes its name from the file's name. The
 * hook that loads them fills in the table's name, the interface's name and the tunnel's UDP port.
 */
export const PLACEHOLDERS = { table: "<table>", interface: "<interface>", port: "<port>" } as const;

/** Keeps the longest lines, those of IPv6 tuples, under a kilobyte. */
const ELEMENTS_PER_LINE = 12;

/**
 * The access rules as an nftables ruleset that replaces its predecessor in one transaction.
 *
 * It decides in prerouting, after connection tracking (-200) and before destination NAT (-100). The
 * input hook would be too late: published container ports are rewritten by then, and forwarded
 * packets never get there.
 *
 * Without a rule, only the reply direction of a known flow passes, so that a revoked rule also
 * stops open flows. An ICMP error passes if it is about a known flow, in either direction, because
 * this host learns the MTU of the path to a peer from errors about its replies. Other errors are
 * dropped: the kernel believes errors, so any peer could reduce the path MTU to any address.
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

/** The ruleset of an agent that enforces its access rules itself: only the guard against loops. */
export function renderLoopGuard(): string[] {
  return replaceTable(renderIntoTunnel([LOOP_GUARD]));
}

/**
 * The tunnel's own port sends into the tunnel only when an endpoint resolves into the mesh. Such a
 * packet would be encrypted again and again.
 */
const LOOP_GUARD = `oifname "${PLACEHOLDERS.interface}" udp sport ${PLACEHOLDERS.port} drop`;

/**
 * Keeps a revoked flow from coming back as one that this host began. Connection tracking sees a
 * peer's packets before they are dropped. So a peer can make connection tracking forget the flow,
 * with an RST that never reaches the socket. The next segment that this host sends would then count
 * as the start of a flow (nf_conntrack_tcp_loose), and the peer's packets would pass as its
 * replies. UDP needs no such guard: a datagram that this host sends by itself does begin a flow.
 */
const PICKUP_GUARD = `oifname "${PLACEHOLDERS.interface}" ct state new ` +
  "tcp flags & (fin | syn | rst | ack) != syn drop";

/**
 * Drops ICMP errors about flows outside the mesh. The sender of an error chooses which flow it is
 * about, and every peer knows the addresses and ports of the datagrams that carry the tunnels. A
 * true error about these datagrams never comes out of the tunnel.
 */
function foreignErrorGuard(family: "ip" | "ip6", peers: string): string {
  return `ct state related ct original ${family} saddr != @${peers} ` +
    `ct reply ${family} saddr != @${peers} drop`;
}

/** In postrouting: forwarded packets never get to the output hook. */
function renderIntoTunnel(rules: readonly string[]): string[] {
  return [
    "  chain into_tunnel {",
    "    type filter hook postrouting priority mangle; policy accept;",
    ...rules.map((rule) => `    ${rule}`),
    "  }",
  ];
}

/** Replaces the table in one transaction, whether it exists or not. */
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

function tuples(source: string, rules: readonly PeerRule[]): string[] {
  return rules.map(({ proto, port }) => `${source} . ${proto} . ${port}`);
}

/** Leaves out an empty list of elements, which nft refuses. */
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
