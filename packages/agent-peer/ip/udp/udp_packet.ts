/** UDP datagrams (RFC 768) as whole IP packets. */
import { type Ends, ipPacket, IPV4_HEADER, IPV6_HEADER, PROTOCOL } from "../filter/ip_packet.ts";

const UDP_HEADER = 8;

/** How many bytes a datagram to an address can have, with packets of `mtu` bytes. */
export function mostBytes(address: string, mtu: number): number {
  return mtu - (address.includes(":") ? IPV6_HEADER : IPV4_HEADER) - UDP_HEADER;
}

/** Throws TypeError if an address is malformed. */
export function udpPacket(
  ends: Ends,
  { fromPort, toPort, data }: {
    readonly fromPort: number;
    readonly toPort: number;
    readonly data: Uint8Array;
  },
): Uint8Array {
  const content = new Uint8Array(UDP_HEADER + data.length);
  const view = new DataView(content.buffer);
  view.setUint16(0, fromPort);
  view.setUint16(2, toPort);
  view.setUint16(4, content.length);
  content.set(data, UDP_HEADER);
  return ipPacket(ends, { protocol: PROTOCOL.udp, content, checksumAt: 6 });
}

/** The most of a packet that an ICMP error about it has (RFC 1812, RFC 4443). */
const [QUOTED, QUOTED6] = [548, 1232];

/** The ICMP error "port unreachable", about a packet that `ends.to` has sent. */
export function portUnreachable(ends: Ends, about: Uint8Array): Uint8Array {
  const isIpv6 = ends.to.includes(":");
  const quoted = about.subarray(0, isIpv6 ? QUOTED6 : QUOTED);
  const content = new Uint8Array(8 + quoted.length);
  content.set(isIpv6 ? [1, 4] : [3, 3]);
  content.set(quoted, 8);
  const protocol = isIpv6 ? PROTOCOL.icmp6 : PROTOCOL.icmp;
  return ipPacket(ends, { protocol, content, checksumAt: 2 });
}
