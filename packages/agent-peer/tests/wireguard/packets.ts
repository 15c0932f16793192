/** IP packets written by hand, so that tests of the tunnel need no TCP/IP stack. */

interface Addresses {
  readonly source: string;
  readonly destination: string;
}

/** An IPv4 packet of an experimental protocol. */
export function ipv4Packet(
  content: Uint8Array,
  { source, destination, protocol = 253 }: Addresses & { readonly protocol?: number },
): Uint8Array {
  const packet = new Uint8Array(20 + content.length);
  packet.set([0x45, 0, packet.length >> 8, packet.length & 0xff, 0, 1, 0, 0, 64, protocol]);
  packet.set([...source.split("."), ...destination.split(".")].map(Number), 12);
  writeChecksum(packet.subarray(0, 20), 10);
  packet.set(content, 20);
  return packet;
}

/** An ICMP echo request (RFC 792). */
export function echoRequest(
  { sequence, size = 32, ...addresses }: Addresses & {
    readonly sequence: number;
    readonly size?: number;
  },
): Uint8Array {
  const message = new Uint8Array(8 + size);
  message.set([8, 0, 0, 0, 0x12, 0x34, sequence >> 8, sequence & 0xff]);
  writeChecksum(message, 2);
  return ipv4Packet(message, { ...addresses, protocol: 1 });
}

/** The answer to an ICMP echo request; null to other packets. */
export function echoReply(packet: Uint8Array): Uint8Array | null {
  if (packet[9] !== 1 || packet[20] !== 8) return null;
  const message = new Uint8Array(packet.subarray(20));
  message.set([0, 0, 0, 0]);
  writeChecksum(message, 2);
  const [source, destination] = [
    packet.subarray(16, 20).join("."),
    packet.subarray(12, 16).join("."),
  ];
  return ipv4Packet(message, { source, destination, protocol: 1 });
}

/** The sequence number of an ICMP echo reply; null for other packets. */
export function replySequence(packet: Uint8Array): number | null {
  if (packet[9] !== 1 || packet[20] !== 0) return null;
  return packet[26]! << 8 | packet[27]!;
}

/** An IPv6 packet of an experimental protocol, between addresses of 16 bytes. */
export function ipv6Packet(
  content: Uint8Array,
  { source, destination }: { readonly source: Uint8Array; readonly destination: Uint8Array },
): Uint8Array {
  const packet = new Uint8Array(40 + content.length);
  packet.set([0x60, 0, 0, 0, content.length >> 8, content.length & 0xff, 253, 64]);
  packet.set(source, 8);
  packet.set(destination, 24);
  packet.set(content, 40);
  return packet;
}

/** Writes the Internet checksum (RFC 1071). */
function writeChecksum(bytes: Uint8Array, at: number): void {
  let sum = 0;
  for (let index = 0; index < bytes.length; index += 2) {
    sum += bytes[index]! << 8 | (bytes[index + 1] ?? 0);
  }
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  bytes[at] = ~sum >> 8 & 0xff;
  bytes[at + 1] = ~sum & 0xff;
}
