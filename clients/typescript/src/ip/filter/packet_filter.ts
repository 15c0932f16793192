import { parseAddress } from "../addresses.ts";
import type { ConnectionFacts } from "../tcp_connection.ts";
import { hex, parsePacket, type TcpPacket } from "./packet.ts";

/** A neighbour that is visible, and the TCP ports of the active rules in each direction. */
export interface FilterPeer {
  readonly addresses: readonly string[];
  /** What it may reach here. */
  readonly inbound: readonly number[];
  /** What may be reached there. */
  readonly outbound: readonly number[];
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
}

interface Flow {
  readonly remote: string;
  readonly remotePort: number;
  /** When it was last used. */
  readonly at: number;
}

/** How long a closed connection may be silent before its answers are dropped, in milliseconds. */
const CLOSED_MS = 5 * 60_000;

/** From so many flows on, those of closed connections are forgotten. */
const MANY_FLOWS = 8192;

export interface FilterOptions {
  /** The open connections of the stack. */
  readonly connections?: () => readonly ConnectionFacts[];
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

/**
 * Decides what comes in, before the stack sees it: new connections that a rule allows, answers to
 * those that this side began, and ICMP of visible neighbours. Everything else is to be dropped
 * without an answer: even a reset would tell that there is somebody.
 */
export class PacketFilter {
  #own: ReadonlySet<string> = new Set();
  #peers: ReadonlyMap<string, Ports> = new Map();
  /** The connections that this side began, the one that was idle longest first. */
  #flows = new Map<string, Flow>();
  /** So many flows are kept before the closed ones are looked for. */
  #most = MANY_FLOWS;
  readonly #connections: () => readonly ConnectionFacts[];
  readonly #now: () => number;

  constructor(
    rules: FilterRules,
    { connections = () => [], now = () => performance.now() }: FilterOptions = {},
  ) {
    this.#connections = connections;
    this.#now = now;
    this.update(rules);
  }

  /**
   * From now on, other rules hold, for connections that are open, too. The caller resets those that
   * they do not allow (`allowsConnection`).
   */
  update({ addresses, peers }: FilterRules): void {
    this.#own = new Set(addresses.map(keyOf));
    this.#peers = new Map(
      peers.flatMap(({ addresses, inbound, outbound }) => {
        const ports = {
          inbound: new Set(inbound),
          outbound: new Set(outbound),
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
    const packet = parsePacket(bytes);
    if (packet === null || !this.#own.has(packet.destination)) return false;
    const peer = this.#peers.get(packet.source);
    if (peer === undefined) return false;
    return packet.kind !== "tcp" || peer.inbound.has(packet.destinationPort) ||
      this.#isAnswer(packet);
  }

  #isAnswer(packet: TcpPacket): boolean {
    // A SYN alone asks for a connection: it answers nothing.
    if (packet.isSyn && !packet.isAck) return false;
    const key = keyOfFlow(
      packet.source,
      packet.sourcePort,
      packet.destinationPort,
    );
    const flow = this.#flows.get(key);
    if (flow === undefined) return false;
    if (this.#now() - flow.at > CLOSED_MS && !this.#openFlows().has(key)) {
      // So that a peer that goes on sending does not have it looked up each time.
      this.#flows.delete(key);
      return false;
    }
    this.#remember(key, flow);
    return true;
  }

  /** Whether a packet of the stack may leave. If it begins a connection, answers may come in. */
  sends(bytes: Uint8Array): boolean {
    const packet = parsePacket(bytes);
    const peer = packet === null ? undefined : this.#peers.get(packet.destination);
    if (packet === null || peer === undefined) return false;
    if (packet.kind !== "tcp") return true;
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
   * Those that were idle longest go first, until half of the room is free. Flows of open
   * connections stay: there are no more of them than the stack has local ports.
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
