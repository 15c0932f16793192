/**
 * The parts of an IP packet by which the filter decides. A packet that is not understood is null.
 */

export interface Endpoints {
  /** The bytes of the addresses as text of hex digits, to compare and to look up. */
  readonly source: string;
  readonly destination: string;
}

export interface TcpPacket extends Endpoints {
  readonly kind: "tcp";
  readonly sourcePort: number;
  readonly destinationPort: number;
  readonly sequence: number;
  /** How many bytes of data. */
  readonly payload: number;
  readonly isSyn: boolean;
  readonly isAck: boolean;
  readonly isReset: boolean;
}

export interface UdpPacket extends Endpoints {
  readonly kind: "udp";
  readonly sourcePort: number;
  readonly destinationPort: number;
  /** The offset at which its data begins. It ends with the packet. */
  readonly dataAt: number;
}

export interface IcmpPacket extends Endpoints {
  readonly kind: "echo" | "echo-reply" | "error";
}

export type Packet = TcpPacket | UdpPacket | IcmpPacket;

const [ICMP, TCP, UDP, ICMP6] = [1, 6, 17, 58];
const [FIN, SYN, RST, ACK] = [1, 2, 4, 16];

/**
 * Returns null for everything that the stack does not use: other protocols, fragments, IPv6 with
 * extension headers, IPv4 with options (such as a source route), and packets that are truncated,
 * inconsistent or have a wrong checksum.
 */
export function parsePacket(bytes: Uint8Array): Packet | null {
  return parse(bytes, false);
}

/** Like `parsePacket`, for a packet of this side's stack: its TCP checksum is not checked. */
export function parseOwnPacket(bytes: Uint8Array): Packet | null {
  return parse(bytes, true);
}

function parse(bytes: Uint8Array, isOwn: boolean): Packet | null {
  const version = (bytes[0] ?? 0) >> 4;
  if (version === 4) return parseIpv4(bytes, isOwn);
  return version === 6 ? parseIpv6(bytes, isOwn) : null;
}

function parseIpv4(bytes: Uint8Array, isOwn: boolean): Packet | null {
  // Requires a 20-byte header without options, the packet's own length, and no fragment.
  if (
    bytes[0] !== 0x45 || bytes.length < 20 || word(bytes, 2) !== bytes.length
  ) return null;
  if ((word(bytes, 6) & 0xbfff) !== 0 || sum(bytes, 0, 20) !== 0xffff) {
    return null;
  }
  const addresses = {
    source: hex(bytes, 12, 16),
    destination: hex(bytes, 16, 20),
  };
  const content = { bytes, at: 20, addresses, protocol: bytes[9]!, isOwn };
  if (content.protocol === TCP) return parseTcp(content, sum(bytes, 12, 20));
  if (content.protocol === UDP) return parseUdp(content, sum(bytes, 12, 20));
  return content.protocol === ICMP ? parseIcmp(content) : null;
}

function parseIpv6(bytes: Uint8Array, isOwn: boolean): Packet | null {
  if (bytes.length < 40 || word(bytes, 4) !== bytes.length - 40) return null;
  const addresses = {
    source: hex(bytes, 8, 24),
    destination: hex(bytes, 24, 40),
  };
  const content = { bytes, at: 40, addresses, protocol: bytes[6]!, isOwn };
  const pseudoHeader = sum(bytes, 8, 40);
  if (content.protocol === TCP) return parseTcp(content, pseudoHeader);
  if (content.protocol === UDP) return parseUdp(content, pseudoHeader);
  return content.protocol === ICMP6 ? parseIcmp6(content, pseudoHeader) : null;
}

interface Content {
  readonly bytes: Uint8Array;
  /** The offset at which the content begins. */
  readonly at: number;
  readonly addresses: Endpoints;
  readonly protocol: number;
  /** Whether the packet is of this side's stack. */
  readonly isOwn: boolean;
}

function parseTcp(
  { bytes, at, addresses, isOwn }: Content,
  addressSum: number,
): TcpPacket | null {
  const length = bytes.length - at;
  if (length < 20) return null;
  const headerLength = (bytes[at + 12]! >> 4) * 4;
  if (headerLength < 20 || headerLength > length) return null;
  if (!isOwn && fold(addressSum + TCP + length + sum(bytes, at, bytes.length)) !== 0xffff) {
    return null;
  }
  const flags = bytes[at + 13]!;
  const [sourcePort, destinationPort] = [word(bytes, at), word(bytes, at + 2)];
  if (sourcePort === 0 || destinationPort === 0 || !isSane(flags)) return null;
  return {
    ...addresses,
    kind: "tcp",
    sourcePort,
    destinationPort,
    sequence: (word(bytes, at + 4) << 16) | word(bytes, at + 6),
    payload: length - headerLength,
    isSyn: (flags & SYN) !== 0,
    isAck: (flags & ACK) !== 0,
    isReset: (flags & RST) !== 0,
  };
}

/** Whether a segment opens, ends, resets or continues a connection. */
function isSane(flags: number): boolean {
  if ((flags & SYN) !== 0) return (flags & (FIN | RST)) === 0;
  return (flags & (ACK | RST)) !== 0;
}

function parseUdp({ bytes, at, addresses }: Content, addressSum: number): UdpPacket | null {
  const length = bytes.length - at;
  if (length < 8 || word(bytes, at + 4) !== length) return null;
  // Zero says that there is no checksum, which only IPv4 allows (RFC 768, RFC 8200).
  const isUnchecked = word(bytes, at + 6) === 0;
  const isRight = isUnchecked
    ? at === 20
    : fold(addressSum + UDP + length + sum(bytes, at, bytes.length)) === 0xffff;
  const [sourcePort, destinationPort] = [word(bytes, at), word(bytes, at + 2)];
  if (!isRight || sourcePort === 0 || destinationPort === 0) return null;
  return { ...addresses, kind: "udp", sourcePort, destinationPort, dataAt: at + 8 };
}

const ICMP_KINDS: ReadonlyMap<number, IcmpPacket["kind"]> = new Map([
  [0, "echo-reply"],
  [8, "echo"],
  [3, "error"],
  [11, "error"],
  [12, "error"],
]);

const ICMP6_KINDS: ReadonlyMap<number, IcmpPacket["kind"]> = new Map([
  [129, "echo-reply"],
  [128, "echo"],
  [1, "error"],
  [2, "error"],
  [3, "error"],
  [4, "error"],
]);

function parseIcmp({ bytes, at, addresses }: Content): IcmpPacket | null {
  const kind = ICMP_KINDS.get(bytes[at] ?? -1);
  if (kind === undefined || bytes.length - at < 8) return null;
  return sum(bytes, at, bytes.length) === 0xffff ? { ...addresses, kind } : null;
}

function parseIcmp6(
  { bytes, at, addresses }: Content,
  addressSum: number,
): IcmpPacket | null {
  const kind = ICMP6_KINDS.get(bytes[at] ?? -1);
  const length = bytes.length - at;
  if (kind === undefined || length < 8) return null;
  const whole = fold(
    addressSum + ICMP6 + length + sum(bytes, at, bytes.length),
  );
  return whole === 0xffff ? { ...addresses, kind } : null;
}

function word(bytes: Uint8Array, at: number): number {
  return (bytes[at]! << 8) | bytes[at + 1]!;
}

const HEX: readonly string[] = Array.from(
  { length: 256 },
  (_, byte) => byte.toString(16).padStart(2, "0"),
);

export function hex(
  bytes: Uint8Array,
  from = 0,
  to: number = bytes.length,
): string {
  let text = "";
  for (let at = from; at < to; at++) {
    text += HEX[bytes[at]!];
  }
  return text;
}

/** The internet checksum's sum (RFC 1071), not complemented. An odd last byte is padded. */
export function sum(bytes: Uint8Array, from: number, to: number): number {
  let total = 0;
  for (let at = from; at + 1 < to; at += 2) {
    total += (bytes[at]! << 8) | bytes[at + 1]!;
  }
  if ((to - from) % 2 === 1) total += bytes[to - 1]! << 8;
  return fold(total);
}

export function fold(total: number): number {
  let folded = total;
  while (folded > 0xffff) folded = (folded & 0xffff) + (folded >>> 16);
  return folded;
}
