import type { MeshConfiguration } from "../../service.ts";
import type { Datagram } from "../../ip/udp/receive_queue.ts";
import { mostBytes } from "../../ip/udp/udp_packet.ts";
import type { RemotePort } from "../byte_stream.ts";
import type { EngineUdpPort } from "../engine/engine.ts";
import type { Refusal } from "../flows/flow.ts";
import type { From } from "../from.ts";
import { MeshError, unreachable } from "../mesh_error.ts";
import { type ConfiguredPeer, findPeer } from "../service/names.ts";

/** A UDP datagram from a peer. */
export interface MeshDatagram {
  readonly data: Uint8Array;
  /** Its sender. Give it to `send` to answer. */
  readonly from: From;
}

/** Where a datagram goes. */
export type DatagramTarget = RemotePort | {
  /** The `name` of a peer, its agent's identifier, or one of its tunnel addresses. */
  readonly host: string;
  /** The UDP port. */
  readonly port: number;
};

/** What a socket needs of its member. */
export interface UdpMembership {
  /** Throws the error that ended the membership. */
  readonly configuration: () => MeshConfiguration;
  readonly refused: (refusal: Refusal) => void;
}

/** A UDP port of this agent. `Mesh.udp` opens it. */
export class MeshUdpSocket implements AsyncIterable<MeshDatagram>, Disposable {
  /** The UDP port at this agent's tunnel addresses. */
  readonly port: number;
  readonly #engine: EngineUdpPort;
  readonly #member: UdpMembership;
  #received: Datagram[] = [];
  /** Calls of `receive` are answered one after the other. */
  #turn: Promise<MeshDatagram | null> = Promise.resolve(null);
  #isClosed = false;

  /** Only `Mesh.udp` creates it. */
  constructor(engine: EngineUdpPort, member: UdpMembership) {
    this.#engine = engine;
    this.#member = member;
    this.port = engine.port;
  }

  /**
   * Sends a datagram, if a rule allows it, or if it answers one that has come from there within the
   * last minute. Like every datagram, it may be lost. It has at most 1,252 bytes to an IPv4
   * address, and to a name, and 1,232 bytes to an IPv6 address. Rejects with MeshError, or with
   * RangeError if the port is none.
   */
  async send(data: Uint8Array, to: DatagramTarget): Promise<void> {
    if (this.#isClosed) throw new MeshError("closed", "The socket was closed.");
    const { port } = to;
    if (!Number.isInteger(port) || port < 1 || port > 65_535) {
      throw new RangeError(`${port} is not a port.`);
    }
    const configuration = this.#member.configuration();
    const host = "host" in to ? to.host : to.address;
    const found = findPeer(configuration, host);
    if (found !== null) {
      requireSize(data, found.address, configuration);
      if (await this.#engine.send(data, { address: found.address, port })) return;
    }
    const peer = { agentId: found?.peer.agent_id ?? null, name: found?.peer.name ?? host };
    const reason = found === null ? "unknown_peer" : "no_rule";
    this.#member.refused({ proto: "udp", direction: "out", peer, port, reason });
    const isKnown = found !== null;
    throw unreachable({ agentId: configuration.agent_id, isKnown, host, port, proto: "udp" });
  }

  /** Resolves to the next datagram; to null after `close`, and when the mesh is left. */
  receive(): Promise<MeshDatagram | null> {
    const next = () => this.#next();
    return this.#turn = this.#turn.then(next, next);
  }

  async *[Symbol.asyncIterator](): AsyncIterator<MeshDatagram> {
    for (let next = await this.receive(); next !== null; next = await this.receive()) yield next;
  }

  /** Receives no more datagrams, and frees the port. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#received = [];
    this.#engine.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async #next(): Promise<MeshDatagram | null> {
    while (!this.#isClosed) {
      const datagram = this.#received.shift();
      if (datagram === undefined) {
        this.#received = [...await this.#engine.receive()];
        if (this.#received.length === 0) return null;
        continue;
      }
      const { data, address, port } = datagram;
      const peer = this.#peerAt(address);
      // It has become invisible in the meantime.
      if (peer === null) continue;
      const { agent_id: agentId, name } = peer;
      return { data, from: { agentId, name, address, port } };
    }
    return null;
  }

  #peerAt(address: string): ConfiguredPeer | null {
    try {
      return findPeer(this.#member.configuration(), address)?.peer ?? null;
    } catch {
      // The mesh was left.
      return null;
    }
  }
}

function requireSize(
  { length }: Uint8Array,
  address: string,
  { interface: { mtu } }: MeshConfiguration,
): void {
  const most = mostBytes(address, mtu);
  if (length <= most) return;
  throw new MeshError(
    "too_large",
    `A datagram to ${address} has at most ${most} bytes, not ${length}: it is not fragmented.`,
  );
}
