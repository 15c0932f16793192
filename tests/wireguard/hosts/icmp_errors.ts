import {
  parseIpv4,
  parseIpv6,
} from "../../../supabase/functions/_shared/operations/addresses/ip_address.ts";
import type { Host } from "./host.ts";

/** The packet that an error quotes. */
export interface Quoted {
  readonly source: string;
  readonly destination: string;
  readonly flow: "echo reply" | { readonly udpPort: number };
}

const ICMP = { protocol: 1, echoReply: 0 };
const ICMPV6 = { protocol: 58, echoReply: 129 };
const UDP = 17;

/**
 * Sends "fragmentation needed", or for IPv6 "packet too big", to `to` through `device`, regardless
 * of routes. The quoted packet was never sent, and `mtu` is made up.
 */
export async function sendForgedError(
  host: Host,
  { to, device, mtu, quoted }: { to: string; device: string; mtu: number; quoted: Quoted },
): Promise<void> {
  const isIpv4 = parseIpv4(to) !== null;
  const path = `${host.directory}/icmp-error`;
  await Deno.writeFile(path, isIpv4 ? ipv4Error({ mtu, quoted }) : ipv6Error({ mtu, quoted }));
  const target = isIpv4
    ? `IP4-SENDTO:${to}:${ICMP.protocol}`
    : `IP6-SENDTO:[${to}]:${ICMPV6.protocol}`;
  await host.run(["socat", "-u", `FILE:${path}`, `${target},so-bindtodevice=${device}`]);
}

/** Destination unreachable, fragmentation needed and DF set (RFC 792, RFC 1191). */
function ipv4Error({ mtu, quoted }: { mtu: number; quoted: Quoted }): Uint8Array {
  const { protocol, bytes } = payload(quoted, ICMP);
  const [source, destination] = addresses(quoted, parseIpv4);
  const length = 20 + bytes.length;
  const header = [0x45, 0, ...word(length), 0, 1, 0x40, 0, 64, protocol, 0, 0];
  const packet = withChecksum([...header, ...source, ...destination], { at: 10 });
  return Uint8Array.from(
    withChecksum([3, 4, 0, 0, 0, 0, ...word(mtu), ...packet, ...bytes], { at: 2 }),
  );
}

/** Packet too big (RFC 4443). The kernel fills in the checksum. */
function ipv6Error({ mtu, quoted }: { mtu: number; quoted: Quoted }): Uint8Array {
  const { protocol, bytes } = payload(quoted, ICMPV6);
  const [source, destination] = addresses(quoted, parseIpv6);
  const header = [0x60, 0, 0, 0, ...word(bytes.length), protocol, 64];
  return Uint8Array.from([2, 0, 0, 0, 0, 0, ...word(mtu)].concat(
    header,
    source,
    destination,
    bytes,
  ));
}

function payload({ flow }: Quoted, icmp: typeof ICMP): { protocol: number; bytes: number[] } {
  if (flow === "echo reply") {
    const bytes = withChecksum([icmp.echoReply, 0, 0, 0, ...word(77), ...word(1)], { at: 2 });
    return { protocol: icmp.protocol, bytes };
  }
  const port = word(flow.udpPort);
  return { protocol: UDP, bytes: [...port, ...port, ...word(8), 0, 0] };
}

function addresses(
  { source, destination }: Quoted,
  parse: typeof parseIpv4,
): [readonly number[], readonly number[]] {
  const [from, to] = [parse(source), parse(destination)];
  if (from === null || to === null) throw new TypeError(`${source}, ${destination}: one family`);
  return [from.bytes, to.bytes];
}

function word(value: number): [number, number] {
  return [value >> 8, value & 0xff];
}

/** Writes the checksum of RFC 1071 at `at`. The number of bytes must be even. */
function withChecksum(bytes: readonly number[], { at }: { at: number }): number[] {
  let sum = 0;
  for (const [index, byte] of bytes.entries()) sum += index % 2 === 0 ? byte << 8 : byte;
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return bytes.toSpliced(at, 2, ...word(~sum & 0xffff));
}
