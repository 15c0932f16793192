import { parseAddress } from "../addresses.ts";
import type { ConnectionFacts } from "../tcp_connection.ts";
import {
  hex,
  type Packet,
  parseOwnPacket,
  parsePacket,
  type TcpPacket,
  type UdpPacket,
} from "./packet.ts";

/** A visible neighbour, and the ports of the active rules in each direction. */
export interface FilterPeer {
  readonly addresses: readonly string[];
  /** The TCP ports here that the neighbour may reach. */
  readonly inbound: readonly number[];
  /** The TCP ports of the neighbour that this side may reach. */
  readonly outbound: readonly number[];
  /** The same of UDP. */
  readonly udp?: Pick<FilterPeer, "inbound" | "outbound">;
}

/** Who may reach what, by the newest configuration. */
export interface FilterRules {
  /** The addresses of this stack. */
  readonly addresses: readonly string[];
  readonly peers: readonly FilterPeer[];
}

interface Ports {
  readonly inbound: ReadonlySet<number>;
  readonly outbound: ReadonlySet<number>;
  readonly udpInbound: ReadonlySet<number>;
  readonly udpOutbound: ReadonlySet<number>;
}

interface Flow {
  readonly remote: string;
  readonly remotePort: number;
  /** When it was last used. */
  readonly at: number;
}

/** After this many idle milliseconds, packets of a closed connection are dropped. */
const CLOSED_MS = 5 * 60_000;

/** If there are more flows than this, those of closed connections are forgotten. */
const MANY_FLOWS = 8192;

export interface FilterOptions {
  /** The open connections of the stack. */
  readonly connections?: () => readonly ConnectionFacts[];
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
  /** Whether a UDP datagram answers one of this side. Default: it does not. */
  readonly isUdpAnswer?: (packet: UdpPacket) => boolean;
  /** Called for each packet of a visible neighbour to this stack that no rule allows. */
  readonly onRefused?: (packet: Packet) => void;
}

/**
 * Filters packets before the stack sees them. Lets in new connections that a rule allows, answers
 * to connections that this side opened, and ICMP of visible neighbours. Everything else must be
 * dropped without an answer: even a reset would reveal that this host exists.
 */
export class PacketFilter {
  #own: ReadonlySet<string> = new Set();
  #peers: ReadonlyMap<string, Ports> = new Map();
  /** The connections that this side opened, in order of last use, the longest idle first. */
  #flows = new Map<string, Flow>();
  /** With more flows than this, the closed ones are searched for and removed. */
  #most = MANY_FLOWS;
  readonly #connections: () => readonly ConnectionFacts[];
  readonly #now: () => number;
  readonly #isUdpAnswer: (packet: UdpPacket) => boolean;
  readonly #onRefused: (packet: Packet) => void;

  constructor(
    rules: FilterRules,
    {
      connections = () => [],
      now = () => performance.now(),
      isUdpAnswer = () => false,
      onRefused = () => {},
    }: FilterOptions = {},
  ) {
    this.#connections = connections;
    this.#now = now;
    this.#isUdpAnswer = isUdpAnswer;
    this.#onRefused = onRefused;
    this.update(rules);
  }

  /**
   * Replaces the rules. They also apply to open connections: the caller resets those that are not
   * allowed any more (`allowsConnection`).
   */
  update({ addresses, peers }: FilterRules): void {
    this.#own = new Set(addresses.map(keyOf));
    this.#peers = new Map(
      peers.flatMap(({ addresses, inbound, outbound, udp }) => {
        const ports = {
          inbound: new Set(inbound),
          outbound: new Set(outbound),
          udpInbound: new Set(udp?.inbound),
          udpOutbound: new Set(udp?.outbound),
        };
        return addresses.map((address) => [keyOf(address), ports] as const);
      }),
    );
    for (const [key, { remote, remotePort }] of this.#flows) {
      if (this.#peers.get(remote)?.outbound.has(remotePort) !== true) {
        this.#flows.delete(key);
      }
    }
  }

  /** Whether a packet that came from the tunnel may go to the stack. */
  allows(bytes: Uint8Array): boolean {
    return this.allowed(bytes) !== null;
  }

  /** The parts of a packet that may go to the stack; null if it may not. */
  allowed(bytes: Uint8Array): Packet | null {
    const packet = parsePacket(bytes);
    if (packet === null || !this.#own.has(packet.destination)) return null;
    const peer = this.#peers.get(packet.source);
    if (peer === undefined) return null;
    const isAllowed = this.#isOpen(packet, peer);
    if (!isAllowed) this.#onRefused(packet);
    return isAllowed ? packet : null;
  }

  /** Whether a rule lets a neighbour send datagrams to a UDP port here. Addresses: hex digits. */
  mayReceiveUdp(source: string, port: number): boolean {
    return this.#peers.get(source)?.udpInbound.has(port) === true;
  }

  /** Whether a rule lets this side send datagrams to a UDP port of a neighbour. */
  maySendUdp(destination: string, port: number): boolean {
    return this.#peers.get(destination)?.udpOutbound.has(port) === true;
  }

  #isOpen(packet: Packet, peer: Ports): boolean {
    if (packet.kind === "tcp") {
      return peer.inbound.has(packet.destinationPort) || this.#isAnswer(packet);
    }
    if (packet.kind !== "udp") return true;
    return peer.udpInbound.has(packet.destinationPort) || this.#isUdpAnswer(packet);
  }

  #isAnswer(packet: TcpPacket): boolean {
    // A SYN without ACK opens a connection, so it is not an answer.
    if (packet.isSyn && !packet.isAck) return false;
    const key = keyOfFlow(
      packet.source,
      packet.sourcePort,
      packet.destinationPort,
    );
    const flow = this.#flows.get(key);
    if (flow === undefined) return false;
    if (this.#now() - flow.at > CLOSED_MS && !this.#openFlows().has(key)) {
      // Forget the flow: otherwise each further packet of the peer would repeat this lookup.
      this.#flows.delete(key);
      return false;
    }
    this.#remember(key, flow);
    return true;
  }

  /** Whether a packet of the stack may leave. If it opens a connection, answers may come in. */
  sends(bytes: Uint8Array): boolean {
    const packet = parseOwnPacket(bytes);
    const peer = packet === null ? undefined : this.#peers.get(packet.destination);
    if (packet === null || peer === undefined) return false;
    // The stack sends no UDP: `UdpPorts` does.
    if (packet.kind !== "tcp") return packet.kind !== "udp";
    const { destination: remote, destinationPort: remotePort } = packet;
    const key = keyOfFlow(remote, remotePort, packet.sourcePort);
    const begins = packet.isSyn && !packet.isAck;
    if (begins && !peer.outbound.has(remotePort)) return false;
    if (begins || this.#flows.has(key)) {
      this.#remember(key, { remote, remotePort });
    }
    return true;
  }

  #remember(key: string, { remote, remotePort }: Omit<Flow, "at">): void {
    this.#flows.delete(key);
    this.#flows.set(key, { remote, remotePort, at: this.#now() });
    if (this.#flows.size > this.#most) this.#forgetClosed();
  }

  /**
   * Forgets flows of closed connections, the longest idle first, until half of the room is free.
   * Flows of open connections stay: their number is limited by the stack's local ports.
   */
  #forgetClosed(): void {
    const open = this.#openFlows();
    for (const key of this.#flows.keys()) {
      if (this.#flows.size <= MANY_FLOWS / 2) break;
      if (!open.has(key)) this.#flows.delete(key);
    }
    this.#most = Math.max(MANY_FLOWS, 2 * this.#flows.size);
  }

  #openFlows(): ReadonlySet<string> {
    return new Set(this.#connections().map(keyOfConnection));
  }

  /** Whether the rules still allow a connection of the stack. */
  allowsConnection(connection: ConnectionFacts): boolean {
    const remote = keyOf(connection.remoteAddress);
    return this.#flows.has(keyOfConnection(connection)) ||
      this.#peers.get(remote)?.inbound.has(connection.localPort) === true;
  }
}

function keyOfFlow(
  remote: string,
  remotePort: number,
  localPort: number,
): string {
  return `${remote} ${remotePort} ${localPort}`;
}

function keyOfConnection({ remoteAddress, remotePort, localPort }: ConnectionFacts): string {
  return keyOfFlow(keyOf(remoteAddress), remotePort, localPort);
}

function keyOf(address: string): string {
  const bytes = parseAddress(address);
  if (bytes === null) throw new TypeError(`${address} is not an IP address.`);
  return hex(bytes);
}
