/** What a tunnel has to know of an IP packet. The addresses are views of the packet. */
export interface IpHeader {
  readonly source: Uint8Array;
  readonly destination: Uint8Array;
  /** The length of the packet, without padding after it. */
  readonly length: number;
}

const IPV4_HEADER_BYTES = 20;
const IPV6_HEADER_BYTES = 40;

/** Null unless the bytes begin with a whole IPv4 or IPv6 packet. */
export function readIpHeader(packet: Uint8Array): IpHeader | null {
  const version = (packet[0] ?? 0) >> 4;
  if (version === 4 && packet.length >= IPV4_HEADER_BYTES) {
    const length = packet[2]! << 8 | packet[3]!;
    if (length < IPV4_HEADER_BYTES || length > packet.length) return null;
    return {
      source: packet.subarray(12, 16),
      destination: packet.subarray(16, 20),
      length,
    };
  }
  if (version === 6 && packet.length >= IPV6_HEADER_BYTES) {
    const length = IPV6_HEADER_BYTES + (packet[4]! << 8 | packet[5]!);
    if (length > packet.length) return null;
    return {
      source: packet.subarray(8, 24),
      destination: packet.subarray(24, 40),
      length,
    };
  }
  return null;
}
