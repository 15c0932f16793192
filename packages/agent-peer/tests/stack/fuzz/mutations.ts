/**
 * Damages IP packets in ways that parsers may handle badly. Most damaged packets get right
 * checksums.
 */
import { sum } from "../../../ip/filter/packet.ts";

export type Random = () => number;

const [ICMP, TCP, ICMP6] = [1, 6, 58];

/** Protocols, and IPv6 extension headers. */
const PROTOCOLS = [ICMP, TCP, ICMP6, 0, 17, 43, 44, 51, 59, 60, 135, 255];

export function below(random: Random, limit: number): number {
  return Math.floor(random() * limit);
}

function oneOf<Value>(random: Random, values: readonly Value[]): Value {
  return values[below(random, values.length)]!;
}

/** Values at the bounds of a field. */
function edge(random: Random, bits: number): number {
  const top = 2 ** bits;
  return oneOf(random, [0, 1, 2, top / 2 - 1, top / 2, top - 2, top - 1, below(random, top)]);
}

function isIpv4(packet: Uint8Array): boolean {
  return packet[0]! >> 4 === 4;
}

/** Where the content of the stack's own packets begins. */
function contentAt(packet: Uint8Array): number {
  return isIpv4(packet) ? 20 : 40;
}

function viewOf(packet: Uint8Array): DataView {
  return new DataView(packet.buffer, packet.byteOffset, packet.byteLength);
}

function fold(total: number): number {
  let folded = total;
  while (folded > 0xffff) folded = (folded & 0xffff) + (folded >>> 16);
  return folded;
}

/** Corrects the checksums, as far as the packet has whole headers. */
export function fixChecksums(packet: Uint8Array): void {
  const at = contentAt(packet);
  if (packet.length < at) return;
  const view = viewOf(packet);
  if (isIpv4(packet)) {
    const end = Math.min((packet[0]! & 15) * 4, packet.length);
    if (end < 20) return;
    view.setUint16(10, 0);
    view.setUint16(10, 0xffff - sum(packet, 0, end));
  }
  const protocol = packet[isIpv4(packet) ? 9 : 6]!;
  const from = isIpv4(packet) ? Math.min((packet[0]! & 15) * 4, packet.length) : at;
  const place = from + (protocol === TCP ? 16 : 2);
  if (![ICMP, TCP, ICMP6].includes(protocol) || place + 2 > packet.length) return;
  view.setUint16(place, 0);
  const content = sum(packet, from, packet.length);
  const pseudo = protocol + packet.length - from + sum(packet, isIpv4(packet) ? 12 : 8, at);
  view.setUint16(place, 0xffff - fold(content + (protocol === ICMP ? 0 : pseudo)));
}

function fixLength(packet: Uint8Array): void {
  const at = contentAt(packet);
  if (packet.length < at) return;
  const length = isIpv4(packet) ? packet.length : packet.length - 40;
  viewOf(packet).setUint16(isIpv4(packet) ? 2 : 4, length);
}

function withContent(packet: Uint8Array, content: Uint8Array, protocol: number): Uint8Array {
  const at = contentAt(packet);
  const changed = new Uint8Array(Math.min(at + content.length, 65535));
  changed.set(packet.subarray(0, at));
  changed.set(content.subarray(0, changed.length - at), at);
  changed[isIpv4(changed) ? 9 : 6] = protocol;
  fixLength(changed);
  return changed;
}

function randomBytes(random: Random, length: number): Uint8Array {
  return Uint8Array.from({ length }, () => below(random, 256));
}

/** TCP options: known kinds with right and wrong lengths, and unknown ones. */
function tcpOptions(random: Random): Uint8Array {
  const bytes: number[] = [];
  const lengths: Readonly<Record<number, number>> = { 2: 4, 3: 3, 4: 2, 5: 10, 8: 10 };
  while (bytes.length < 40 && random() < 0.8) {
    const kind = oneOf(random, [0, 1, 2, 3, 4, 5, 5, 8, 8, below(random, 256)]);
    if (kind < 2) {
      bytes.push(kind);
      continue;
    }
    const right = kind === 5 ? 2 + 8 * below(random, 5) : lengths[kind] ?? 2 + below(random, 8);
    const length = random() < 0.8 ? right : edge(random, 8);
    bytes.push(kind, length, ...randomBytes(random, Math.max(0, Math.min(length, 40) - 2)));
  }
  const padded = bytes.slice(0, 40);
  while (padded.length % 4 !== 0) padded.push(random() < 0.5 ? 0 : 1);
  return Uint8Array.from(padded);
}

type Mutation = (packet: Uint8Array, random: Random) => Uint8Array;

function change(edit: (packet: Uint8Array, random: Random) => void): Mutation {
  return (packet, random) => {
    const changed = packet.slice();
    edit(changed, random);
    return changed;
  };
}

/** Edits the TCP header, if the packet has one. */
function changeTcp(edit: (view: DataView, at: number, random: Random) => void): Mutation {
  return change((packet, random) => {
    const at = contentAt(packet);
    if (packet.length >= at + 20) edit(viewOf(packet), at, random);
  });
}

const MUTATIONS: readonly Mutation[] = [
  change((packet, random) => {
    packet[below(random, packet.length)]! ^= 1 << below(random, 8);
  }),
  change((packet, random) => {
    packet[below(random, Math.min(packet.length, 80))] = edge(random, 8);
  }),
  change((packet, random) => {
    if (packet.length < 2) return;
    const at = below(random, Math.min(packet.length - 1, 78));
    viewOf(packet).setUint16(at, edge(random, 16));
  }),
  // Sequence and acknowledgement numbers, slightly or far off. The stack's window is 2 MiB: a
  // segment may cross its end.
  changeTcp((view, at, random) => {
    const place = at + oneOf(random, [4, 8]);
    const acrossEnd = 2 ** 21 - below(random, 1240);
    const far = oneOf(random, [1, 2, 1240, 65535, acrossEnd, 2 ** 21, 2 ** 31 - 1, 2 ** 31]);
    view.setUint32(place, view.getUint32(place) + (random() < 0.5 ? far : -far));
  }),
  changeTcp((view, at, random) => view.setUint8(at + 13, below(random, random() < 0.8 ? 64 : 256))),
  changeTcp((view, at, random) => view.setUint16(at + 14, edge(random, 16))),
  changeTcp((view, at, random) => view.setUint8(at + 12, below(random, 16) << 4)),
  changeTcp((view, at, random) => view.setUint16(at + oneOf(random, [0, 2]), edge(random, 16))),
  // Other options.
  (packet, random) => {
    const at = contentAt(packet);
    if (packet.length < at + 20) return packet;
    const header = packet.slice(at, at + 20);
    const options = tcpOptions(random);
    const payload = packet.subarray(Math.min(at + (header[12]! >> 4) * 4, packet.length));
    header[12] = (5 + options.length / 4) << 4;
    return withContent(packet, Uint8Array.from([...header, ...options, ...payload]), TCP);
  },
  // A shorter or longer packet, whose length field is right or wrong.
  (packet, random) => {
    const length = 1 + below(random, packet.length);
    const cut = packet.slice(0, length);
    if (random() < 0.7) fixLength(cut);
    return cut;
  },
  (packet, random) => {
    const longer = Uint8Array.from([...packet, ...randomBytes(random, below(random, 200))]);
    if (random() < 0.7) fixLength(longer);
    return longer;
  },
  // ICMP: an error about the packet, an echo, or any other type.
  (packet, random) => {
    const isOld = isIpv4(packet);
    const type = isOld
      ? oneOf(random, [0, 3, 4, 5, 8, 11, 12, 13])
      : oneOf(random, [1, 2, 3, 4, 128, 129, 130, 131, 133, 134, 135, 136, 137]);
    const head = Uint8Array.from([type, edge(random, 8), 0, 0, ...randomBytes(random, 4)]);
    const body = random() < 0.5 ? packet : randomBytes(random, 8 * below(random, 12));
    return withContent(packet, Uint8Array.from([...head, ...body]), isOld ? ICMP : ICMP6);
  },
  // Extension headers between IPv6 and TCP; IPv4 options.
  (packet, random) => {
    const at = contentAt(packet);
    const extra = randomBytes(random, 8 * (1 + below(random, 3)));
    if (isIpv4(packet)) {
      const options = extra.subarray(0, 4 * (1 + below(random, 10)));
      const longer = Uint8Array.from([
        ...packet.subarray(0, at),
        ...options,
        ...packet.subarray(at),
      ]);
      longer[0] = 0x40 | ((20 + options.length) / 4);
      fixLength(longer);
      return longer;
    }
    extra[0] = random() < 0.7 ? packet[6]! : oneOf(random, PROTOCOLS);
    extra[1] = random() < 0.7 ? extra.length / 8 - 1 : edge(random, 8);
    const content = Uint8Array.from([...extra, ...packet.subarray(at)]);
    return withContent(packet, content, oneOf(random, [0, 43, 44, 60]));
  },
  // Fragments.
  change((packet, random) => {
    if (isIpv4(packet) && packet.length > 8) viewOf(packet).setUint16(6, edge(random, 16));
  }),
  // Source and destination addresses: swapped, or other ones.
  change((packet, random) => {
    const [at, size] = isIpv4(packet) ? [12, 4] : [8, 16];
    if (packet.length < at + 2 * size) return;
    const [source, destination] = [packet.slice(at, at + size), packet.slice(at + size)];
    const choice = below(random, 4);
    if (choice === 0) packet.set(destination.subarray(0, size), at);
    if (choice === 1) packet.set(source, at + size);
    if (choice === 2) packet.fill(oneOf(random, [0, 255, 224, 127]), at, at + size);
    if (choice === 3) packet.fill(oneOf(random, [0, 255, 224, 127]), at + size, at + 2 * size);
  }),
  change((packet, random) => {
    const at = isIpv4(packet) ? 9 : 6;
    if (packet.length > at) packet[at] = oneOf(random, PROTOCOLS);
  }),
];

/** Applies one to three mutations. The result is never empty. */
export function mutate(packet: Uint8Array, random: Random): Uint8Array {
  let changed = packet;
  for (let count = 1 + below(random, 3); count > 0; count--) {
    changed = oneOf(random, MUTATIONS)(changed, random);
  }
  if (random() < 0.9) {
    changed = changed === packet ? packet.slice() : changed;
    fixChecksums(changed);
  }
  return changed;
}
