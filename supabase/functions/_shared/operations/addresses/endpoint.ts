import {
  embeddedIpv4,
  type IpAddress,
  isWithin,
  type Network,
  parseIpv4,
  parseIpv6,
  parseNetwork,
  withoutIpv4Mapping,
} from "./ip_address.ts";
import { accepted, type Parsed, refused } from "./parsed.ts";

/** Where a peer listens. `host` is canonical: a name in lower case, IPv6 without brackets. */
export interface Endpoint {
  readonly kind: "ipv4" | "ipv6" | "name";
  readonly host: string;
  readonly port: number;
}

const NOT_REACHABLE = [
  { network: required("0.0.0.0/8"), is: "an unspecified address" },
  { network: required("127.0.0.0/8"), is: "a loopback address" },
  { network: required("169.254.0.0/16"), is: "a link-local address" },
  { network: required("224.0.0.0/4"), is: "a multicast address" },
  { network: required("255.255.255.255/32"), is: "the broadcast address" },
  { network: required("240.0.0.0/4"), is: "a reserved address" },
  { network: required("::/128"), is: "the unspecified address" },
  { network: required("::1/128"), is: "the loopback address" },
  { network: required("fe80::/10"), is: "a link-local address" },
  { network: required("fec0::/10"), is: "a site-local address" },
  { network: required("ff00::/8"), is: "a multicast address" },
] as const;

/** Private networks. No translator may serve them in `64:ff9b::/96` (RFC 6052, section 3.1). */
const NOT_TRANSLATED = {
  prefix: required("64:ff9b::/96"),
  networks: ["10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16"].map(required),
} as const;

const LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
const DNS_NAME = new RegExp(`^${LABEL}(?:\\.${LABEL})*$`);

/**
 * Parses the `<host>:<port>` of a registration. An IPv4 address spelled as IPv6 (`::ffff:…`)
 * becomes plain IPv4. An address inside `meshNetworks` is refused: every neighbour would encrypt
 * its own ciphertext in a loop. Names are not resolved here. The neighbours' hosts check the
 * addresses, because only they know what a name resolves to.
 */
export function parseEndpoint(text: string, meshNetworks: readonly Network[]): Parsed<Endpoint> {
  const match = /^(?:\[([^\]]*)\]|([^\[\]:]+)):([1-9][0-9]{0,4})$/.exec(text);
  const port = Number(match?.[3]);
  if (match === null || port > 65535) {
    return refused("Must be <host>:<port> with a port from 1 to 65535; an IPv6 host in brackets.");
  }
  const [, bracketed, plain = ""] = match;
  const address = bracketed === undefined ? parseIpv4(plain) : parseIpv6(bracketed);
  if (address !== null) {
    return addressEndpoint(withoutIpv4Mapping(address), { port, meshNetworks });
  }
  if (bracketed !== undefined) {
    return refused("Must have an IPv6 address, without a zone, between the brackets.");
  }
  const name = plain.toLowerCase();
  // isAscii gets the original: toLowerCase() turns U+212A, the Kelvin sign, into an ASCII `k`.
  if (!isAscii(plain) || !isDnsName(name)) {
    return refused("Must have a DNS name or a dotted-quad IPv4 address as its host.");
  }
  if (name === "localhost" || name.endsWith(".localhost")) {
    return refused("Must be reachable from other hosts: localhost is each host itself.");
  }
  return accepted({ kind: "name", host: name, port });
}

/** The text that `wg` reads, and that `parseEndpoint` turns into the same endpoint. */
export function formatEndpoint({ kind, host, port }: Endpoint): string {
  return kind === "ipv6" ? `[${host}]:${port}` : `${host}:${port}`;
}

function addressEndpoint(
  address: IpAddress,
  { port, meshNetworks }: { port: number; meshNetworks: readonly Network[] },
): Parsed<Endpoint> {
  const obstacle = obstacleOf(address, meshNetworks);
  return obstacle === undefined
    ? accepted({ kind: address.family, host: address.text, port })
    : refused(`Must be reachable from other hosts: ${address.text} is ${obstacle}.`);
}

/** Why other hosts cannot reach an address, or the IPv4 address in it; undefined: they can. */
function obstacleOf(address: IpAddress, meshNetworks: readonly Network[]): string | undefined {
  const embedded = embeddedIpv4(address);
  for (const candidate of embedded === null ? [address] : [address, embedded]) {
    const isInside = (network: Network) => isWithin(candidate, network);
    if (meshNetworks.some(isInside)) return "inside the mesh";
    const found = NOT_REACHABLE.find(({ network }) => isInside(network));
    if (found !== undefined) return found.is;
  }
  const isPrivateBehindTranslator = embedded !== null &&
    isWithin(address, NOT_TRANSLATED.prefix) &&
    NOT_TRANSLATED.networks.some((network) => isWithin(embedded, network));
  return isPrivateBehindTranslator
    ? "a private address, which NAT64 does not translate"
    : undefined;
}

function required(text: string): Network {
  const network = parseNetwork(text);
  if (network === null) throw new TypeError(`${text} is not a network`);
  return network;
}

function isAscii(text: string): boolean {
  return /^[ -~]*$/.test(text);
}

/**
 * Whether it is a name by RFC 1123. Its last label must not be a number, decimal or `0x…`:
 * resolvers take such a text (`127.1`, `0x7f.0x1`) for an IPv4 address.
 */
function isDnsName(name: string): boolean {
  const lastLabel = name.slice(name.lastIndexOf(".") + 1);
  return name.length <= 253 && DNS_NAME.test(name) &&
    /[a-z]/.test(lastLabel) && !/^0x[0-9a-f]*$/.test(lastLabel);
}
