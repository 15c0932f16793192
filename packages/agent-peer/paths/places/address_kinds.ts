import { addressBytes } from "../../wireguard/routing/networks.ts";

/** An IP address or a DNS name, and a port. */
export interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

/** `<host>:<port>`, as the service writes endpoints. Null for anything else. */
export function parseEndpoint(text: string): HostAndPort | null {
  const [, ipv6, other, digits] =
    /^(?:\[([0-9a-fA-F:.]*:[0-9a-fA-F:.]*)\]|([^:\s[\]]+)):([1-9][0-9]{0,4})$/
      .exec(text) ?? [];
  const host = ipv6 ?? other;
  const port = Number(digits);
  if (host === undefined || port > 65535) return null;
  if (ipv6 !== undefined && addressBytes(ipv6) === null) return null;
  return { host, port };
}

export function formatEndpoint(
  { address, port }: { readonly address: string; readonly port: number },
): string {
  return address.includes(":") ? `[${address}]:${port}` : `${address}:${port}`;
}

/**
 * Which hosts may have the address. `none`: no other host can be there (unspecified, loopback,
 * link-local, multicast, reserved, or IPv6 that embeds IPv4). `private`: hosts of the same network
 * may be there (RFC 1918, RFC 6598, RFC 4193).
 */
export function kindOf(address: string): "public" | "private" | "none" {
  const bytes = addressBytes(address);
  if (bytes === null) return "none";
  return bytes.length === 4 ? kindOfIpv4(bytes) : kindOfIpv6(bytes);
}

function kindOfIpv4(bytes: Uint8Array): "public" | "private" | "none" {
  const [first, second] = [bytes[0]!, bytes[1]!];
  if (first === 0 || first === 127 || first >= 224) return "none";
  if (first === 169 && second === 254) return "none";
  const isPrivate = first === 10 || (first === 172 && second >= 16 && second < 32) ||
    (first === 192 && second === 168) || (first === 100 && second >= 64 && second < 128);
  return isPrivate ? "private" : "public";
}

function kindOfIpv6(bytes: Uint8Array): "public" | "private" | "none" {
  // Public addresses are assigned only in 2000::/3. fc00::/7 is for private networks.
  if (bytes[0]! >> 5 === 1) return "public";
  return bytes[0]! >> 1 === 0x7e ? "private" : "none";
}
