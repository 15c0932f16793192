/** Pings: ICMP echo requests (RFC 792, RFC 4443). */
import { bytesOf } from "../addresses.ts";
import { sum } from "./packet.ts";

const [ICMP, ICMP6] = [1, 58];
const [HEADER, HEADER6, ECHO_HEADER] = [20, 40, 8];

/** A whole IP packet. `bytes` is its length, headers included. Throws TypeError. */
export function echoRequest(
  { from, to, bytes = HEADER6 + ECHO_HEADER, identifier = 0, sequence = 0 }: {
    /** An IP address of the same family as `to`. */
    readonly from: string;
    readonly to: string;
    readonly bytes?: number;
    readonly identifier?: number;
    readonly sequence?: number;
  },
): Uint8Array {
  const [source, destination] = [bytesOf(from), bytesOf(to)];
  const packet = new Uint8Array(bytes);
  const view = new DataView(packet.buffer);
  const isIpv6 = destination.length === 16;
  const at = isIpv6 ? HEADER6 : HEADER;
  if (isIpv6) {
    packet.set([0x60, 0, 0, 0, 0, 0, ICMP6, 64]);
    view.setUint16(4, bytes - HEADER6);
    packet.set(source, 8);
    packet.set(destination, 24);
  } else {
    packet.set([0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, ICMP]);
    view.setUint16(2, bytes);
    packet.set(source, 12);
    packet.set(destination, 16);
    view.setUint16(10, 0xffff - sum(packet, 0, HEADER));
  }
  packet[at] = isIpv6 ? 128 : 8;
  view.setUint16(at + 4, identifier);
  view.setUint16(at + 6, sequence);
  const pseudoHeader = isIpv6 ? sum(packet, 8, HEADER6) + ICMP6 + bytes - HEADER6 : 0;
  let total = pseudoHeader + sum(packet, at, bytes);
  while (total > 0xffff) total = (total & 0xffff) + (total >>> 16);
  view.setUint16(at + 2, 0xffff - total);
  return packet;
}
