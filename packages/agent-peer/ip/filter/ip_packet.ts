/** Whole IP packets, with correct checksums. */
import { bytesOf } from "../addresses.ts";
import { fold, sum } from "./packet.ts";

export const IPV4_HEADER = 20;
export const IPV6_HEADER = 40;

export const PROTOCOL = { icmp: 1, udp: 17, icmp6: 58 } as const;

export interface Ends {
  /** IP addresses of the same family. */
  readonly from: string;
  readonly to: string;
}

export interface IpContent {
  readonly protocol: number;
  readonly content: Uint8Array;
  /** Where in the content its checksum is. The content has zeros there. */
  readonly checksumAt: number;
}

/** Throws TypeError if an address is malformed. */
export function ipPacket(
  { from, to }: Ends,
  { protocol, content, checksumAt }: IpContent,
): Uint8Array {
  const [source, destination] = [bytesOf(from), bytesOf(to)];
  const isIpv6 = destination.length === 16;
  const at = isIpv6 ? IPV6_HEADER : IPV4_HEADER;
  const packet = new Uint8Array(at + content.length);
  const view = new DataView(packet.buffer);
  packet.set(content, at);
  if (isIpv6) {
    packet.set([0x60, 0, 0, 0, 0, 0, protocol, 64]);
    view.setUint16(4, content.length);
    packet.set(source, 8);
    packet.set(destination, 24);
  } else {
    // 0x40: never to be fragmented, so it needs no identification (RFC 6864).
    packet.set([0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, protocol]);
    view.setUint16(2, packet.length);
    packet.set(source, 12);
    packet.set(destination, 16);
    view.setUint16(10, 0xffff - sum(packet, 0, IPV4_HEADER));
  }
  // Only ICMP for IPv4 is summed up without the addresses.
  const pseudoHeader = protocol === PROTOCOL.icmp
    ? 0
    : sum(packet, isIpv6 ? 8 : 12, at) + protocol + content.length;
  const total = fold(pseudoHeader + sum(packet, at, packet.length));
  const isZero = total === 0xffff && protocol === PROTOCOL.udp;
  // In UDP, zero means that there is no checksum (RFC 768).
  view.setUint16(at + checksumAt, isZero ? 0xffff : 0xffff - total);
  return packet;
}
