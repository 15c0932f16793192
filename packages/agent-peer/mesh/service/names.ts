import type { MeshConfiguration } from "../../service.ts";
import { addressOf } from "../engine/rules.ts";
import { formatAddress, parseAddress } from "../../ip/addresses.ts";

/** `<name>.mesh.internal` is a peer's name, too, for programs that look names up by DNS. */
export const MESH_DOMAIN = "mesh.internal";

export type ConfiguredPeer = MeshConfiguration["peers"][number];

/**
 * Finds a peer by its name, with or without the domain, its agent, or one of its tunnel addresses.
 * Null if no such peer is visible.
 */
export function findPeer(
  { peers }: MeshConfiguration,
  host: string,
): { readonly peer: ConfiguredPeer; readonly address: string } | null {
  const address = parseAddress(host.replace(/^\[(.*)\]$/, "$1"));
  if (address !== null) {
    const text = formatAddress(address);
    const peer = peers.find(({ allowed_ips }) => allowed_ips.map(addressOf).includes(text));
    return peer === undefined ? null : { peer, address: text };
  }
  const label = labelOf(host);
  const peer = peers.find((peer) => peer.name === label) ??
    peers.find(({ agent_id }) => agent_id === host);
  const [first] = peer?.allowed_ips ?? [];
  return peer === undefined || first === undefined ? null : { peer, address: addressOf(first) };
}

/** The name that a host name means, with or without the domain. */
export function labelOf(host: string): string {
  // A dot at the end marks a complete name (DNS), and changes nothing.
  const name = host.replace(/\.$/, "").toLowerCase();
  return name.endsWith(`.${MESH_DOMAIN}`) ? name.slice(0, -MESH_DOMAIN.length - 1) : name;
}

/** Whether a rule lets the agent connect to a TCP port of a peer. */
export function mayReach(
  { agent_id, rules }: MeshConfiguration,
  peer: ConfiguredPeer,
  port: number,
): boolean {
  return rules.some((rule) =>
    rule.from_agent === agent_id && rule.to_agent === peer.agent_id &&
    rule.port === port && rule.proto === "tcp"
  );
}
