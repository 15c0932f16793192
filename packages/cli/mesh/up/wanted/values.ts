/** Single values of a served configuration. Each is parsed, and used only in its parsed form. */
import { isIPv4 } from "node:net";
import { AGENT_ID } from "../../../../agent-files/transfer/names.ts";
import { formatAddress, parseAddress } from "../../../../agent-peer/ip/addresses.ts";
import { kindOf } from "../../../../agent-peer/paths/places/address_kinds.ts";
import { masked, type Network } from "../../../../agent-peer/wireguard/routing/networks.ts";
import { parseKey } from "../../../../agent-peer/wireguard/key.ts";

/** An address in its canonical spelling, and the network that contains it. */
export interface Placed {
  readonly address: string;
  readonly network: Network;
}

/** Where a peer listens. */
export interface PeerEndpoint {
  /** An address in its canonical spelling, or a DNS name. */
  readonly host: string;
  readonly port: number;
  readonly isName: boolean;
}

export function isAgentId(text: unknown): text is string {
  return typeof text === "string" && AGENT_ID.test(text);
}

/** A DNS label that no resolver takes for an IPv4 address. */
export function isPeerName(text: unknown): text is string {
  return typeof text === "string" && /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(text) &&
    !/^(?:[0-9]+|0x[0-9a-f]*|null|localhost)$/.test(text);
}

export function isInteger(value: unknown, least: number, most: number): value is number {
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
}

/** A key in the one spelling that `wg` accepts. */
export function isKey(text: unknown): text is string {
  if (typeof text !== "string" || text.length !== 44) return false;
  try {
    parseKey(text);
    return true;
  } catch {
    return false;
  }
}

/** An address in its canonical spelling; null for anything else. */
export function canonicalAddress(text: string): string | null {
  const isOther = text.includes(":") ? !/^[0-9a-f:]{2,39}$/.test(text) : !isIPv4(text);
  const bytes = isOther ? null : parseAddress(text);
  return bytes && formatAddress(bytes);
}

/**
 * This host's own IPv4 address with the network of the mesh, /8 to /32. Null if it is malformed, or
 * if the network has addresses that no two hosts can use: unspecified, loopback, link-local,
 * multicast or reserved.
 */
export function ownIpv4(text: unknown): Placed | null {
  const [, host = "", bits] = /^([0-9.]+)\/([1-9][0-9]?)$/.exec(String(text)) ?? [];
  const address = host.includes(":") ? null : canonicalAddress(host);
  const prefixLength = Number(bits);
  if (address === null || !isInteger(prefixLength, 8, 32)) return null;
  const network = { bytes: masked(parseAddress(address)!, prefixLength), prefixLength };
  const special = ["0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3"];
  if (special.some((other) => overlaps(network, networkOf(other)))) return null;
  return { address, network };
}

/** This host's own IPv6 address. The network of the mesh is a /64 in fd00::/8. */
export function ownIpv6(text: unknown): Placed | null {
  const [, host = ""] = /^([0-9a-f:]+)\/64$/.exec(String(text)) ?? [];
  const address = host.includes(":") ? canonicalAddress(host) : null;
  const bytes = address === null ? null : parseAddress(address);
  if (address === null || bytes?.[0] !== 0xfd) return null;
  return { address, network: { bytes: masked(bytes, 64), prefixLength: 64 } };
}

/** The address of `<address>/<every bit>` inside the network; null for anything else. */
export function singleAddress(text: unknown, network: Network): string | null {
  const [, host = "", bits] = /^([0-9a-f:.]+)\/([1-9][0-9]{0,2})$/.exec(String(text)) ?? [];
  const address = canonicalAddress(host);
  if (address === null || Number(bits) !== network.bytes.length * 8) return null;
  return isIn(address, network) ? address : null;
}

/** `<host>:<port>`. Null if it is malformed; the host is not checked further. */
export function parsePeerEndpoint(text: unknown): PeerEndpoint | null {
  const [, ipv6, other = "", digits] =
    /^(?:\[([0-9a-f:]+)\]|([a-z0-9.-]{1,253})):([1-9][0-9]{0,4})$/.exec(String(text)) ?? [];
  const port = Number(digits);
  if (!isInteger(port, 1, 65_535)) return null;
  const address = canonicalAddress(ipv6 ?? other);
  if (address !== null) return { host: address, port, isName: false };
  return ipv6 === undefined && isDnsName(other) ? { host: other, port, isName: true } : null;
}

/** Its last label must not be a number: resolvers would read the name as an IPv4 address. */
function isDnsName(text: string): boolean {
  const labels = text.split(".");
  return labels.every((label) => /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/.test(label)) &&
    /[a-z]/.test(labels.at(-1)!) && !/^0x[0-9a-f]*$/.test(labels.at(-1)!);
}

/**
 * Whether packets to the address would stay on this host, or enter the tunnel again. `inside`: the
 * networks of the mesh.
 */
export function leadsAstray(address: string, inside: readonly Network[]): boolean {
  return inside.some((network) => isIn(address, network)) || kindOf(address) === "none";
}

export function isIn(address: string, network: Network): boolean {
  const bytes = parseAddress(address);
  return bytes?.length === network.bytes.length &&
    masked(bytes, network.prefixLength).join() === network.bytes.join();
}

/** Whether two networks have an address in common. */
export function overlaps(one: Network, other: Network): boolean {
  if (one.bytes.length !== other.bytes.length) return false;
  const bits = Math.min(one.prefixLength, other.prefixLength);
  return masked(one.bytes, bits).join() === masked(other.bytes, bits).join();
}

/** `<address>/<bits>` or `<address>`. Throws TypeError for anything else. */
export function networkOf(text: string): Network {
  const [host = "", bits] = text.split("/");
  const bytes = parseAddress(host);
  if (bytes === null) throw new TypeError(`${text} is not a network.`);
  const prefixLength = bits === undefined ? bytes.length * 8 : Number(bits);
  return { bytes: masked(bytes, prefixLength), prefixLength };
}

export function networkText({ bytes, prefixLength }: Network): string {
  return `${formatAddress(bytes)}/${prefixLength}`;
}
