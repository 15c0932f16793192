import type { Packet, TcpPacket } from "../filter/packet.ts";
import { hex } from "../filter/packet.ts";
import { parseAddress } from "../addresses.ts";
import type { ConnectionFacts } from "../tcp_connection.ts";
import { emptyFlow, type Flow, heldBy } from "./flow.ts";
import { Shares } from "./shares.ts";
import type { Watch, Watcher } from "./watch.ts";

/** The connections that all neighbours together may have open. */
export const MOST_CONNECTIONS = 4096;
/** The connections to one port that are not yet established. lwIP's limit is 255. */
export const MOST_HALF_OPEN = 255;
/** The bytes that wait to be read, sent or put in order. lwIP's memory is twice as large. */
export const MOST_BYTES: number = 128 * 1024 * 1024;
/** The echo requests of one neighbour in a second, and the datagrams that get an ICMP error. */
export const MOST_ECHOS = 500;

/**
 * lwIP forgets a connection that is not established when it has heard nothing of it for this long,
 * in milliseconds: 20 s, and up to two steps of its clock.
 */
const HALF_OPEN_MS = 21_000;
/** What lwIP needs for a packet besides its bytes. */
const PACKET_BYTES = 128;
/** A neighbour with less than its part can always queue so many bytes. */
const WRITE_BYTES = 16 * 1024;

/** What a neighbour uses of this stack. */
export interface NeighbourUse {
  readonly connections: number;
  /** Bytes that wait here: to be read, to be sent, or for earlier ones. */
  readonly heldBytes: number;
  /** Packets and connections beyond the neighbour's share. */
  readonly refused: number;
}

interface HalfOpen {
  readonly owner: string;
  readonly port: number;
  readonly sequence: number;
  readonly at: number;
}

/**
 * Divides the stack among the neighbours, so that one cannot use it up for the others. `admits` is
 * asked about each packet before the stack gets it; a packet that is dropped will be sent again.
 */
export class NeighbourShares implements Watcher {
  readonly #now: () => number;
  readonly #isListening: (port: number) => boolean;
  readonly #bytes: Shares;
  #owners: ReadonlyMap<string, string> = new Map();
  readonly #connections = new Shares(MOST_CONNECTIONS);
  readonly #ports = new Map<number, Shares>();
  /** Ordered by their last packet, the oldest first. */
  readonly #halfOpen = new Map<string, HalfOpen>();
  readonly #flows = new Map<string, Flow>();
  readonly #refused = new Map<string, number>();
  #echos = new Map<string, number>();
  #echosSince = -Infinity;
  readonly #free = (greediest: string) => this.#drop(greediest, heldBy);

  constructor(
    { now = () => performance.now(), bytes = MOST_BYTES, isListening = () => true }: {
      readonly now?: () => number;
      readonly bytes?: number;
      readonly isListening?: (port: number) => boolean;
    } = {},
  ) {
    this.#now = now;
    this.#isListening = isListening;
    this.#bytes = new Shares(bytes);
  }

  /** Sets which addresses belong to one neighbour. */
  update(neighbours: ReadonlyMap<string, readonly string[]>): void {
    const entries = [...neighbours].flatMap(([owner, addresses]) =>
      addresses.map((address) => [keyOf(address), owner] as const)
    );
    this.#owners = new Map(entries);
    const owners = new Set(neighbours.keys());
    for (const owner of this.#refused.keys()) {
      if (!owners.has(owner)) this.#refused.delete(owner);
    }
  }

  useOf(owner: string): NeighbourUse {
    return {
      connections: this.#connections.heldBy(owner),
      heldBytes: this.#bytes.heldBy(owner),
      refused: this.#refused.get(owner) ?? 0,
    };
  }

  admits(packet: Packet): boolean {
    const owner = this.ownerOf(packet.source);
    const isAdmitted = packet.kind === "tcp"
      ? this.#admitsTcp(owner, packet)
      : packet.kind !== "echo" || this.mayAnswer(owner);
    if (!isAdmitted) this.refuse(owner);
    return isAdmitted;
  }

  accepts(facts: ConnectionFacts, drop: () => void): Watch | null {
    const key = keyOfConnection(facts);
    const halfOpen = this.#endHalfOpen(key);
    const owner = this.ownerOf(keyOf(facts.remoteAddress));
    const free = (greediest: string) => this.#drop(greediest, ({ places }) => places);
    if (!this.#connections.take(owner, 1, free)) {
      this.refuse(owner);
      return null;
    }
    const next = halfOpen === undefined ? null : (halfOpen.sequence + 1) | 0;
    return this.#watch(key, { ...emptyFlow(owner, drop), places: 1, next });
  }

  opens(facts: ConnectionFacts): Watch {
    const owner = this.ownerOf(keyOf(facts.remoteAddress));
    return this.#watch(keyOfConnection(facts), emptyFlow(owner, () => {}));
  }

  #admitsTcp(owner: string, packet: TcpPacket): boolean {
    const key = `${packet.source} ${packet.sourcePort} ${packet.destinationPort}`;
    const flow = this.#flows.get(key);
    if (flow === undefined) {
      return this.#hearsHalfOpen(key, packet) || !packet.isSyn || packet.isAck ||
        this.#admitsSyn(owner, packet, key);
    }
    if (flow.next === null && packet.isSyn) {
      flow.next = (packet.sequence + 1) | 0;
    }
    if (packet.payload === 0 || flow.next === null) return true;
    const end = (packet.sequence + packet.payload) | 0;
    if (((packet.sequence - flow.next) | 0) <= 0) {
      // These bytes are counted when the stack has received them.
      return ((end - flow.next) | 0) <= 0 || this.#bytes.allows(owner, packet.payload, this.#free);
    }
    const cost = packet.payload + PACKET_BYTES;
    if (!this.#bytes.take(owner, cost, this.#free)) return false;
    if (flow.ahead === 0 || ((end - flow.aheadEnd) | 0) > 0) {
      flow.aheadEnd = end;
    }
    flow.ahead += cost;
    return true;
  }

  #admitsSyn(
    owner: string,
    { destinationPort: port, sequence }: TcpPacket,
    key: string,
  ): boolean {
    // The stack answers with a reset, and remembers nothing.
    if (!this.#isListening(port)) return true;
    const now = this.#now();
    for (const [other, { at }] of this.#halfOpen) {
      if (now - at < HALF_OPEN_MS) break;
      this.#endHalfOpen(other);
    }
    const shares = this.#ports.get(port) ?? new Shares(MOST_HALF_OPEN);
    this.#ports.set(port, shares);
    if (!shares.take(owner, 1)) return false;
    this.#halfOpen.set(key, { owner, port, sequence, at: now });
    return true;
  }

  /** Whether the connection is half open. Each packet of it lengthens its time in lwIP. */
  #hearsHalfOpen(key: string, { isReset, sequence }: TcpPacket): boolean {
    const halfOpen = this.#halfOpen.get(key);
    if (halfOpen === undefined) return false;
    if (isReset && sequence === ((halfOpen.sequence + 1) | 0)) {
      // lwIP forgets the connection now. It ignores a reset with any other number (RFC 5961, 3.2).
      this.#endHalfOpen(key);
      return true;
    }
    this.#halfOpen.delete(key);
    this.#halfOpen.set(key, { ...halfOpen, at: this.#now() });
    return true;
  }

  #endHalfOpen(key: string): HalfOpen | undefined {
    const halfOpen = this.#halfOpen.get(key);
    if (halfOpen !== undefined) {
      this.#ports.get(halfOpen.port)?.add(halfOpen.owner, -1);
    }
    this.#halfOpen.delete(key);
    return halfOpen;
  }

  /** Whether a neighbour may get one more answer of ICMP now. */
  mayAnswer(owner: string): boolean {
    if (this.#now() - this.#echosSince >= 1000) {
      this.#echos = new Map();
      this.#echosSince = this.#now();
    }
    const count = (this.#echos.get(owner) ?? 0) + 1;
    this.#echos.set(owner, count);
    return count <= MOST_ECHOS;
  }

  /** Drops the connection of an owner that has the most of something, the newest among equals. */
  #drop(owner: string, amountOf: (flow: Flow) => number): boolean {
    let most: Flow | null = null;
    for (const flow of this.#flows.values()) {
      if (flow.owner !== owner || flow.places === 0 || amountOf(flow) === 0) continue;
      if (most === null || amountOf(flow) >= amountOf(most)) most = flow;
    }
    if (most === null) return false;
    this.refuse(owner);
    this.#release(most);
    most.drop();
    return true;
  }

  #release(flow: Flow): void {
    this.#bytes.add(flow.owner, -heldBy(flow));
    this.#connections.add(flow.owner, -flow.places);
    flow.unread =
      flow.unsent =
      flow.ahead =
      flow.places =
        0;
  }

  #watch(key: string, flow: Flow): Watch {
    const { owner } = flow;
    this.#flows.set(key, flow);
    return {
      room: () => {
        const isAllowed = this.#bytes.allows(owner, WRITE_BYTES, this.#free);
        return Math.max(this.#bytes.roomFor(owner), isAllowed ? WRITE_BYTES : 0);
      },
      queued: (length) => {
        flow.unsent += length;
        this.#bytes.add(owner, length);
      },
      acknowledged: (length) => {
        const known = Math.min(length, flow.unsent);
        flow.unsent -= known;
        this.#bytes.add(owner, -known);
      },
      received: (length) => {
        flow.unread += length;
        this.#bytes.add(owner, length);
        if (flow.next !== null) flow.next = (flow.next + length) | 0;
        if (flow.ahead > 0 && ((flow.aheadEnd - flow.next!) | 0) <= 0) {
          this.#bytes.add(owner, -flow.ahead);
          flow.ahead = 0;
        }
      },
      taken: (length) => {
        const known = Math.min(length, flow.unread);
        flow.unread -= known;
        this.#bytes.add(owner, -known);
      },
      closed: () => {
        if (this.#flows.get(key) === flow) this.#flows.delete(key);
        this.#release(flow);
      },
    };
  }

  /** The neighbour that has an address, given as hex digits. */
  ownerOf(source: string): string {
    return this.#owners.get(source) ?? source;
  }

  /** Counts something beyond the neighbour's share. */
  refuse(owner: string): void {
    this.#refused.set(owner, (this.#refused.get(owner) ?? 0) + 1);
  }
}

function keyOf(address: string): string {
  return hex(parseAddress(address)!);
}

function keyOfConnection(
  { remoteAddress, remotePort, localPort }: ConnectionFacts,
): string {
  return `${keyOf(remoteAddress)} ${remotePort} ${localPort}`;
}
