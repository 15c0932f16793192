import { bytesOf, formatAddress } from "../addresses.ts";
import { hex, type UdpPacket } from "../filter/packet.ts";
import { Shares } from "../shares/shares.ts";
import { TcpError } from "../tcp_error.ts";
import { type EntryEnd, IdleTable } from "./idle_table.ts";
import { costOf, type Datagram, ReceiveQueue } from "./receive_queue.ts";
import { mostBytes, portUnreachable, udpPacket } from "./udp_packet.ts";

/** After so many milliseconds without a datagram, nothing is an answer any more. */
export const IDLE_MS = 60_000;
/** The flows that all neighbours together have. */
export const MOST_FLOWS = 4096;
/** The bytes that wait to be read, with 256 for each datagram. */
export const MOST_BYTES: number = 8 * 1024 * 1024;

/** Datagrams between a port here and a port of a neighbour. */
export interface UdpFlow {
  /** `in`: the neighbour sent the first one. */
  readonly direction: "in" | "out";
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localPort: number;
}

/** Is told what happens to a flow. */
export interface FlowWatcher {
  received(bytes: number): void;
  sent(bytes: number): void;
  ended(why: EntryEnd): void;
}

/** Addresses are given as hex digits, as in `Packet`. */
export interface UdpOptions {
  /** Whether a rule lets a neighbour send to a port here. */
  readonly mayReceive: (source: string, port: number) => boolean;
  /** Whether a rule lets this side send to a port of a neighbour. */
  readonly maySend: (destination: string, port: number) => boolean;
  /** Which neighbour has an address. */
  readonly ownerOf: (address: string) => string;
  /** Whether one more ICMP error may be sent to a neighbour now. */
  readonly mayAnswer: (owner: string) => boolean;
  readonly onFlow: (flow: UdpFlow) => FlowWatcher;
  /** Called with each datagram that a rule allows, and that no program gets. */
  readonly onLost: (packet: UdpPacket, why: "nothing_listens" | "too_many") => void;
  /** Called with the owner of each datagram that is dropped because there is no room. */
  readonly onDropped: (owner: string) => void;
  readonly onOutput: (packet: Uint8Array) => void;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: (() => number) | undefined;
}

/** A UDP port of this side. */
export interface UdpPort {
  readonly port: number;
  /** Resolves to the next datagrams, at least one; to none after `close`. */
  receive(): Promise<readonly Datagram[]>;
  /**
   * Returns false, and sends nothing, if no rule allows the datagram, and it answers none. Throws
   * TcpError if there is no address of that IP family, RangeError if the datagram is too large.
   */
  send(
    data: Uint8Array,
    to: { readonly address: string; readonly port: number },
  ): boolean;
  close(): void;
}

interface Bound {
  readonly queue: ReceiveQueue;
  /** Programs that wait for datagrams. */
  readonly readers: ((datagrams: readonly Datagram[]) => void)[];
}

interface OpenFlow {
  readonly facts: UdpFlow;
  /** The remote address, as hex digits. */
  readonly remote: string;
  readonly watcher: FlowWatcher;
}

/**
 * UDP in this process. A datagram leaves if a rule allows it or if it answers one that has come in;
 * `isAnswer` says the same of those that come in. A neighbour that floods loses its own datagrams
 * and flows.
 */
export class UdpPorts {
  readonly #options: UdpOptions;
  readonly #bound = new Map<number, Bound>();
  readonly #flows: IdleTable<OpenFlow>;
  readonly #waiting = new Shares(MOST_BYTES);
  #addresses: readonly string[] = [];
  #mtu = 1280;

  constructor(options: UdpOptions) {
    this.#options = options;
    this.#flows = new IdleTable<OpenFlow>({
      most: MOST_FLOWS,
      idleMs: IDLE_MS,
      onEnd: ({ watcher }, why) => watcher.ended(why),
      ...(options.now && { now: options.now }),
    });
  }

  /** Applies new rules: ends the flows that they do not allow. */
  update({ addresses, mtu }: {
    /** This side's own: at most one of IPv4 and one of IPv6. */
    readonly addresses: readonly string[];
    /** The largest packet, in bytes. */
    readonly mtu: number;
  }): void {
    this.#addresses = addresses;
    this.#mtu = mtu;
    const { mayReceive, maySend } = this.#options;
    const isAllowed = ({ remote, facts: { direction, localPort, remotePort } }: OpenFlow) =>
      direction === "in" ? mayReceive(remote, localPort) : maySend(remote, remotePort);
    this.#flows.endIf((flow) => !isAllowed(flow), "revoked");
  }

  /** The bytes of a neighbour that wait to be read, with the cost of each datagram. */
  heldBy(owner: string): number {
    return this.#waiting.heldBy(owner);
  }

  /** Port 0: any free one. Throws TcpError if the port is taken. */
  bind(wanted: number): UdpPort {
    const port = wanted === 0 ? this.#freePort() : wanted;
    if (this.#bound.has(port)) throw new TcpError("EADDRINUSE");
    const bound: Bound = { queue: new ReceiveQueue(), readers: [] };
    this.#bound.set(port, bound);
    const isOpen = () => this.#bound.get(port) === bound;
    return {
      port,
      receive: () =>
        isOpen()
          ? new Promise((resolve) => {
            bound.readers.push(resolve);
            this.#deliver(bound);
          })
          : Promise.resolve([]),
      send: (data, to) => isOpen() && this.#send(port, data, to),
      close: () => isOpen() && this.#close(port, bound),
    };
  }

  /** Whether an incoming datagram belongs to a flow that this side began. */
  isAnswer({ source, sourcePort, destinationPort }: UdpPacket): boolean {
    const flow = this.#flows.get(keyOf(source, sourcePort, destinationPort));
    return flow?.facts.direction === "out";
  }

  /** Takes a datagram that a rule allows or that is an answer. */
  input(bytes: Uint8Array, packet: UdpPacket): void {
    const { source, sourcePort, destinationPort } = packet;
    const bound = this.#bound.get(destinationPort);
    if (bound === undefined) return this.#refuse(bytes, packet);
    const owner = this.#options.ownerOf(source);
    const address = formatAddress(fromHex(source));
    const data = bytes.slice(packet.dataAt);
    const datagram = { data, address, port: sourcePort };
    const key = keyOf(source, sourcePort, destinationPort);
    const flow = this.#flows.use(key) ?? this.#open(key, source, {
      direction: "in",
      remoteAddress: address,
      remotePort: sourcePort,
      localPort: destinationPort,
    });
    const hasRoom = flow !== null &&
      this.#waiting.take(owner, costOf(datagram), (greediest) => this.#dropOldest(greediest));
    if (!hasRoom) {
      this.#options.onDropped(owner);
      return this.#options.onLost(packet, "too_many");
    }
    flow.watcher.received(data.length);
    bound.queue.push(owner, datagram);
    this.#deliver(bound);
  }

  close(): void {
    for (const [port, bound] of this.#bound) this.#close(port, bound);
  }

  #send(
    localPort: number,
    data: Uint8Array,
    { address, port }: { readonly address: string; readonly port: number },
  ): boolean {
    const from = this.#addresses.find((own) => own.includes(":") === address.includes(":"));
    if (from === undefined) throw new TcpError("ENETUNREACH");
    if (data.length > mostBytes(address, this.#mtu)) {
      throw new RangeError("The datagram is too large.");
    }
    const remote = hex(bytesOf(address));
    const key = keyOf(remote, port, localPort);
    let flow = this.#flows.use(key) ?? null;
    if (flow === null && this.#options.maySend(remote, port)) {
      const remoteAddress = formatAddress(bytesOf(address));
      const facts = { direction: "out", remoteAddress, remotePort: port, localPort } as const;
      flow = this.#open(key, remote, facts);
    }
    if (flow === null) return false;
    flow.watcher.sent(data.length);
    const packet = { fromPort: localPort, toPort: port, data };
    this.#options.onOutput(udpPacket({ from, to: address }, packet));
    return true;
  }

  #open(key: string, remote: string, facts: UdpFlow): OpenFlow | null {
    const flow = { facts, remote, watcher: this.#options.onFlow(facts) };
    if (this.#flows.add(this.#options.ownerOf(remote), key, flow)) return flow;
    flow.watcher.ended("too_many");
    return null;
  }

  /** Answers as a host does on whose port nothing listens. */
  #refuse(bytes: Uint8Array, packet: UdpPacket): void {
    this.#options.onLost(packet, "nothing_listens");
    if (!this.#options.mayAnswer(this.#options.ownerOf(packet.source))) return;
    const [from, to] = [packet.destination, packet.source]
      .map((address) => formatAddress(fromHex(address)));
    this.#options.onOutput(portUnreachable({ from: from!, to: to! }, bytes));
  }

  #deliver({ queue, readers }: Bound): void {
    while (readers.length > 0) {
      const taken = queue.take();
      if (taken.length === 0) return;
      for (const [owner, datagram] of taken) this.#waiting.add(owner, -costOf(datagram));
      readers.shift()!(taken.map(([, datagram]) => datagram));
    }
  }

  #dropOldest(owner: string): boolean {
    for (const { queue } of this.#bound.values()) {
      const datagram = queue.takeFrom(owner);
      if (datagram === undefined) continue;
      this.#waiting.add(owner, -costOf(datagram));
      this.#options.onDropped(owner);
      return true;
    }
    return false;
  }

  #close(port: number, { queue, readers }: Bound): void {
    this.#bound.delete(port);
    for (const [owner, datagram] of queue.take(Infinity)) {
      this.#waiting.add(owner, -costOf(datagram));
    }
    for (const resolve of readers.splice(0)) resolve([]);
    this.#flows.endIf(({ facts }) => facts.localPort === port, "closed");
  }

  #freePort(): number {
    const [first, count] = [49_152, 16_384];
    const begin = crypto.getRandomValues(new Uint16Array(1))[0]! % count;
    for (let step = 0; step < count; step++) {
      const port = first + (begin + step) % count;
      if (!this.#bound.has(port)) return port;
    }
    throw new TcpError("EADDRINUSE");
  }
}

function keyOf(remote: string, remotePort: number, localPort: number): string {
  return `${remote} ${remotePort} ${localPort}`;
}

function fromHex(text: string): Uint8Array {
  return Uint8Array.from(text.match(/../g)!, (pair) => parseInt(pair, 16));
}
