/**
 * The firewall of the tunnel as an nftables ruleset, which replaces its predecessor in one
 * transaction. The rules are those of the wg-quick configuration that the service renders, and a
 * test compares the two.
 */
import type { Wanted, WantedPeer } from "./accept.ts";

export type Firewall = "nftables" | "none";

/** Where the ruleset applies. */
export interface TunnelPlace {
  readonly interfaceName: string;
  /** The tunnel's UDP port. */
  readonly port: number;
}

/** nft accepts neither + nor = in a name. */
export function tableOf(interfaceName: string): string {
  return `agent_mesh_${interfaceName.replace(/[+=]/g, "_")}`;
}

/** With `none`, only the guard against packets that the tunnel would carry again and again. */
export function rulesetOf(
  wanted: Pick<Wanted, "ipv4" | "ipv6" | "peers" | "reportRefused">,
  { firewall, ...place }: TunnelPlace & { readonly firewall: Firewall },
): string {
  const table = tableOf(place.interfaceName);
  const body = firewall === "none" ? intoTunnel([loopGuard(place)]) : [
    ...setsOf(wanted.peers),
    ...(wanted.reportRefused ? REFUSED_SETS : []),
    ...fromTunnel(wanted, place),
    ...intoTunnel([loopGuard(place), pickupGuard(place)]),
  ];
  const lines = [`table inet ${table}`, `delete table inet ${table}`, `table inet ${table} {`];
  return [...lines, ...body, "}", ""].join("\n");
}

function setsOf(peers: readonly WantedPeer[]): string[] {
  const tuples = (family: "ipv4" | "ipv6") =>
    peers.flatMap((peer) => peer.rules.map(({ proto, port }) => [peer[family], proto, port]))
      .map((words) => words.join(" . "));
  const tuple = (family: string) => `${family}_addr . inet_proto . inet_service`;
  return [
    ...setOf("peers_ipv4", "ipv4_addr", peers.map(({ ipv4 }) => ipv4)),
    ...setOf("peers_ipv6", "ipv6_addr", peers.map(({ ipv6 }) => ipv6)),
    ...setOf("rules_ipv4", tuple("ipv4"), tuples("ipv4")),
    ...setOf("rules_ipv6", tuple("ipv6"), tuples("ipv6")),
  ];
}

/** The names of the sets that count what no rule allows. */
export const REFUSED = ["refused_ipv4", "refused_ipv6"] as const;

const REFUSED_SETS = REFUSED.flatMap((name) => [
  `  set ${name} {`,
  `    type ${name.slice("refused_".length)}_addr . inet_proto . inet_service`,
  "    size 256",
  "    flags dynamic",
  "  }",
]);

/** Leaves out an empty list of elements, which nft refuses. */
function setOf(name: string, type: string, elements: readonly string[]): string[] {
  const listed = elements.length === 0
    ? []
    : ["    elements = {", ...elements.map((element) => `      ${element},`), "    }"];
  return [`  set ${name} {`, `    type ${type}`, ...listed, "  }"];
}

/**
 * Decides in prerouting, before the destination of a packet is rewritten. The first two rules drop
 * ICMP errors about flows outside of the mesh. Only the reply direction of a flow passes without a
 * rule, so a revoked rule also ends open flows.
 */
function fromTunnel(
  { ipv4, ipv6, reportRefused }: Pick<Wanted, "ipv4" | "ipv6" | "reportRefused">,
  place: TunnelPlace,
): string[] {
  const foreign = (ip: string, peers: string) =>
    `ct state related ct original ${ip} saddr != @${peers} ct reply ${ip} saddr != @${peers} drop`;
  const errors = "destination-unreachable, time-exceeded, parameter-problem";
  const errors6 = "destination-unreachable, packet-too-big, time-exceeded, parameter-problem";
  return chain("from_tunnel", "prerouting", [
    `iifname != "${place.interfaceName}" accept`,
    foreign("ip", "peers_ipv4"),
    foreign("ip6", "peers_ipv6"),
    "ct direction reply ct state established,related accept",
    `ip daddr ${ipv4} ip saddr . meta l4proto . th dport @rules_ipv4 accept`,
    `ip6 daddr ${ipv6} ip6 saddr . meta l4proto . th dport @rules_ipv6 accept`,
    `ip daddr ${ipv4} ip saddr @peers_ipv4 ct state != invalid ` +
    `icmp type { echo-request, ${errors} } accept`,
    `ip6 daddr ${ipv6} ip6 saddr @peers_ipv6 ct state != invalid ` +
    `icmpv6 type { echo-request, ${errors6} } accept`,
    ...(reportRefused ? [counted("ip", ipv4), counted("ip6", ipv6)] : []),
    "drop",
  ]);
}

/** A full set counts no further kinds. A peer sends to the discard port only to probe its path. */
function counted(ip: "ip" | "ip6", address: string): string {
  const family = ip === "ip" ? "ipv4" : "ipv6";
  return `${ip} daddr ${address} ${ip} saddr @peers_${family} ct state new ` +
    `meta l4proto { tcp, udp } th dport != 9 ` +
    `add @refused_${family} { ${ip} saddr . meta l4proto . th dport counter }`;
}

function intoTunnel(rules: readonly string[]): string[] {
  return chain("into_tunnel", "postrouting", rules);
}

function chain(name: string, hook: string, rules: readonly string[]): string[] {
  const type = `type filter hook ${hook} priority mangle; policy accept;`;
  return [`  chain ${name} {`, ...[type, ...rules].map((rule) => `    ${rule}`), "  }"];
}

/** The tunnel's own port sends into the tunnel only if an endpoint resolves into the mesh. */
function loopGuard({ interfaceName, port }: TunnelPlace): string {
  return `oifname "${interfaceName}" udp sport ${port} drop`;
}

/** A revoked flow must not come back as one that this host began. */
function pickupGuard({ interfaceName }: TunnelPlace): string {
  return `oifname "${interfaceName}" ct state new tcp flags & (fin | syn | rst | ack) != syn drop`;
}
