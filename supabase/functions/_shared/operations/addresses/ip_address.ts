/** `text` is the one spelling that this project writes: dotted quad, or RFC 5952 for IPv6. */
export interface IpAddress {
  readonly family: "ipv4" | "ipv6";
  /** Network byte order: 4 bytes, or 16. */
  readonly bytes: readonly number[];
  readonly text: string;
}

export interface Network {
  readonly address: IpAddress;
  /** 0 to 32, or 0 to 128. */
  readonly prefixLength: number;
}

const OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
const DOTTED_QUAD = new RegExp(`^${OCTET}(?:\\.${OCTET}){3}$`);

/** Four decimal octets without leading zeros; null for the older forms that `inet_aton` takes. */
export function parseIpv4(text: string): IpAddress | null {
  if (!DOTTED_QUAD.test(text)) return null;
  return { family: "ipv4", bytes: text.split(".").map(Number), text };
}

/** An IPv6 address without brackets and without a zone, or null. */
export function parseIpv6(text: string): IpAddress | null {
  // With only these characters, the URL parser can read nothing but a host.
  if (!/^[0-9A-Fa-f:.]{2,45}$/.test(text)) return null;
  const url = URL.parse(`http://[${text}]/`);
  if (url === null) return null;
  const canonical = url.hostname.slice(1, -1);
  return { family: "ipv6", bytes: bytesOfCanonicalIpv6(canonical), text: canonical };
}

/** `<address>/<prefix length>`, else null. Bits after the prefix may be set and are ignored. */
export function parseNetwork(text: string): Network | null {
  const match = /^([^/]+)\/(0|[1-9][0-9]{0,2})$/.exec(text);
  if (match === null) return null;
  const address = parseIpv4(match[1] ?? "") ?? parseIpv6(match[1] ?? "");
  const prefixLength = Number(match[2]);
  if (address === null || prefixLength > address.bytes.length * 8) return null;
  return { address, prefixLength };
}

export function isWithin(address: IpAddress, network: Network): boolean {
  if (address.family !== network.address.family) return false;
  return network.address.bytes.every((byte, index) => {
    const significantBits = Math.min(Math.max(network.prefixLength - index * 8, 0), 8);
    const mask = (0xff << (8 - significantBits)) & 0xff;
    return ((byte ^ (address.bytes[index] ?? 0)) & mask) === 0;
  });
}

/** The IPv4 address that `::ffff:0:0/96` maps (RFC 4291, 2.5.5.2), else the address itself. */
export function withoutIpv4Mapping(address: IpAddress): IpAddress {
  return hasPrefix(address, MAPPED) ? lastFourBytes(address) : address;
}

/**
 * The IPv4 address in an IPv4-compatible IPv6 address (`::/96`: RFC 4291, 2.5.5.1), or in one that
 * a translator serves (`64:ff9b::/96`: RFC 6052); else null.
 */
export function embeddedIpv4(address: IpAddress): IpAddress | null {
  return [COMPATIBLE, TRANSLATED].some((prefix) => hasPrefix(address, prefix))
    ? lastFourBytes(address)
    : null;
}

/** The first 12 bytes of IPv6 addresses whose last 4 are an IPv4 address. */
const COMPATIBLE = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] as const;
const MAPPED = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff] as const;
const TRANSLATED = [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0] as const;

function hasPrefix({ family, bytes }: IpAddress, prefix: readonly number[]): boolean {
  return family === "ipv6" && prefix.every((byte, index) => byte === bytes[index]);
}

function lastFourBytes({ bytes }: IpAddress): IpAddress {
  const embedded = bytes.slice(12);
  return { family: "ipv4", bytes: embedded, text: embedded.join(".") };
}

function bytesOfCanonicalIpv6(canonical: string): number[] {
  const [head = [], tail = []] = canonical.split("::").map((half) =>
    half.split(":").filter((group) => group !== "")
  );
  const zeros = Array<string>(8 - head.length - tail.length).fill("0");
  return [...head, ...zeros, ...tail].flatMap((group) => {
    const value = parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}
