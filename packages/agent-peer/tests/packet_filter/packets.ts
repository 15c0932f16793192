/** Correct IP packets, which tests then damage. */
import { parseAddress } from "../../ip/addresses.ts";
import { sum } from "../../ip/filter/packet.ts";

export interface Ends {
  readonly from: string;
  readonly to: string;
}

export const [FIN, SYN, RST, PSH, ACK] = [1, 2, 4, 8, 16] as const;

export function tcpPacket(
  ends: Ends,
  { fromPort, toPort, flags, payload = 0, sequence = 0, acknowledged = 0, options = [] }: {
    readonly fromPort: number;
    readonly toPort: number;
    readonly flags: number;
    readonly payload?: number;
    readonly sequence?: number;
    readonly acknowledged?: number;
    /** Whole words of four bytes. */
    readonly options?: readonly number[];
  },
): Uint8Array {
  const segment = new Uint8Array(20 + options.length + payload);
  const view = new DataView(segment.buffer);
  view.setUint16(0, fromPort);
  view.setUint16(2, toPort);
  view.setUint32(4, sequence);
  view.setUint32(8, acknowledged);
  view.setUint16(14, 65_535);
  segment[12] = (5 + options.length / 4) << 4;
  segment.set(options, 20);
  segment[13] = flags;
  return ipPacket(ends, { protocol: 6, content: segment, checksumAt: 16 });
}

export function udpPacket(
  ends: Ends,
  { fromPort = 5000, toPort, data = new Uint8Array(5), length = 8 + data.length }: {
    readonly fromPort?: number;
    readonly toPort: number;
    readonly data?: Uint8Array;
    /** What its header says. */
    readonly length?: number;
  },
): Uint8Array {
  const content = new Uint8Array(8 + data.length);
  const view = new DataView(content.buffer);
  view.setUint16(0, fromPort);
  view.setUint16(2, toPort);
  view.setUint16(4, length);
  content.set(data, 8);
  return ipPacket(ends, { protocol: 17, content, checksumAt: 6 });
}

export function icmpPacket(ends: Ends, type: number): Uint8Array {
  const protocol = ends.to.includes(":") ? 58 : 1;
  const content = Uint8Array.from([type, 0, 0, 0, 0, 1, 0, 1, 7]);
  return ipPacket(ends, { protocol, content, checksumAt: 2 });
}

/** Sets every checksum. */
export function ipPacket(
  { from, to }: Ends,
  { protocol, content, checksumAt }: {
    readonly protocol: number;
    readonly content: Uint8Array;
    readonly checksumAt: number;
  },
): Uint8Array {
  const [source, destination] = [parseAddress(from)!, parseAddress(to)!];
  const isIpv4 = source.length === 4;
  const at = isIpv4 ? 20 : 40;
  const packet = new Uint8Array(at + content.length);
  const view = new DataView(packet.buffer);
  packet.set(content, at);
  packet.set(source, isIpv4 ? 12 : 8);
  packet.set(destination, isIpv4 ? 16 : 24);
  packet[0] = isIpv4 ? 0x45 : 0x60;
  view.setUint16(isIpv4 ? 2 : 4, isIpv4 ? packet.length : content.length);
  packet[isIpv4 ? 9 : 6] = protocol;
  packet[isIpv4 ? 8 : 7] = 64;
  if (isIpv4) view.setUint16(10, 0xffff - sum(packet, 0, 20));
  const pseudo = protocol === 1 ? 0 : sum(packet, isIpv4 ? 12 : 8, at) + protocol + content.length;
  let total = pseudo + sum(packet, at, packet.length);
  while (total > 0xffff) total = (total & 0xffff) + (total >>> 16);
  view.setUint16(at + checksumAt, 0xffff - total);
  return packet;
}
