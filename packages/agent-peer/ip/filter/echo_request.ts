/** Pings: ICMP echo requests (RFC 792, RFC 4443). */
import { ipPacket, IPV4_HEADER, IPV6_HEADER, PROTOCOL } from "./ip_packet.ts";

const ECHO_HEADER = 8;

/** A whole IP packet. `bytes` is its length, headers included. Throws TypeError. */
export function echoRequest(
  { from, to, bytes = IPV6_HEADER + ECHO_HEADER, identifier = 0, sequence = 0 }: {
    /** An IP address of the same family as `to`. */
    readonly from: string;
    readonly to: string;
    readonly bytes?: number;
    readonly identifier?: number;
    readonly sequence?: number;
  },
): Uint8Array {
  const isIpv6 = to.includes(":");
  const content = new Uint8Array(bytes - (isIpv6 ? IPV6_HEADER : IPV4_HEADER));
  const view = new DataView(content.buffer);
  content[0] = isIpv6 ? 128 : 8;
  view.setUint16(4, identifier);
  view.setUint16(6, sequence);
  const protocol = isIpv6 ? PROTOCOL.icmp6 : PROTOCOL.icmp;
  return ipPacket({ from, to }, { protocol, content, checksumAt: 2 });
}
