import type { MeshConfiguration } from "../../service.ts";
import { parseAddress } from "../../ip/addresses.ts";
import { hex, type Packet, type TcpPacket, type UdpPacket } from "../../ip/filter/packet.ts";
import type { TcpConnection } from "../../ip/tcp_connection.ts";
import { TcpError } from "../../ip/tcp_error.ts";
import type { EntryEnd } from "../../ip/udp/idle_table.ts";
import type { FlowWatcher, UdpFlow } from "../../ip/udp/udp_ports.ts";
import type { FlowEnd, FlowPeer, FlowReason } from "../flows/flow.ts";
import type { FlowLog, OpenFlow } from "../flows/flow_log.ts";
import { addressOf } from "./rules.ts";

const REASONS: Readonly<Partial<Record<string, FlowReason>>> = {
  ECONNREFUSED: "nothing_listens",
  ECONNRESET: "by_peer",
  ETIMEDOUT: "no_answer",
  ECONNABORTED: "by_this_side",
};

const UDP_ENDS: Readonly<Record<EntryEnd, readonly [FlowEnd, FlowReason | null]>> = {
  idle: ["clean", null],
  closed: ["clean", null],
  too_many: ["reset", "too_many"],
  revoked: ["reset", "rule_revoked"],
};

/** A kernel host sends datagrams to this port, only to learn whether the tunnel works. */
const DISCARD_PORT = 9;

/** Tells a flow log what an engine does, by the names of the configuration. */
export class FlowWatch {
  readonly #log: FlowLog;
  #peers: ReadonlyMap<string, FlowPeer> = new Map();

  constructor(log: FlowLog) {
    this.#log = log;
  }

  update({ peers }: MeshConfiguration): void {
    this.#peers = new Map(
      peers.flatMap(({ agent_id: agentId, name, allowed_ips }) =>
        allowed_ips.map((network) => [keyOf(addressOf(network)), { agentId, name }] as const)
      ),
    );
  }

  accepted({ remoteAddress, localPort: port }: TcpConnection): OpenFlow {
    const peer = this.#peerAt(remoteAddress);
    return this.#log.opened({ proto: "tcp", direction: "in", peer, port });
  }

  connected({ remoteAddress, remotePort: port }: TcpConnection, startedAt: number): OpenFlow {
    const peer = this.#peerAt(remoteAddress);
    return this.#log.opened({ proto: "tcp", direction: "out", peer, port, startedAt });
  }

  exchanges({ direction, remoteAddress, remotePort, localPort }: UdpFlow): FlowWatcher {
    const peer = this.#peerAt(remoteAddress);
    const port = direction === "in" ? localPort : remotePort;
    const flow = this.#log.opened({ proto: "udp", direction, peer, port });
    return { ...flow, ended: (why) => flow.ended(...UDP_ENDS[why]) };
  }

  /** A packet that the stack does not get, or that it answers with a reset. */
  refused(packet: Packet, reason: FlowReason): void {
    if (!opensConnection(packet) && !isDatagram(packet)) return;
    const { kind: proto, source, destinationPort: port } = packet;
    const peer = this.#peers.get(source) ?? UNKNOWN;
    this.#log.refused({ proto, direction: "in", peer, port, reason });
  }

  /** A connection for which there is no place, although its handshake was admitted. */
  hasNoPlace({ remoteAddress, localPort: port }: {
    readonly remoteAddress: string;
    readonly localPort: number;
  }): void {
    const peer = this.#peerAt(remoteAddress);
    this.#log.refused({ proto: "tcp", direction: "in", peer, port, reason: "too_many" });
  }

  /** This side could not connect. */
  failed(
    { address, port, signal }: {
      readonly address: string;
      readonly port: number;
      readonly signal?: AbortSignal | undefined;
    },
    error: unknown,
  ): void {
    const known = error instanceof TcpError ? REASONS[error.code] : undefined;
    const reason = signal?.aborted ? "given_up" : known ?? "failed";
    const peer = this.#peerAt(address);
    this.#log.refused({ proto: "tcp", direction: "out", peer, port, reason });
  }

  #peerAt(address: string): FlowPeer {
    return this.#peers.get(keyOf(address)) ?? UNKNOWN;
  }
}

/** A peer that has just become invisible. */
const UNKNOWN: FlowPeer = { agentId: null, name: null };

export function opensConnection(packet: Packet): packet is TcpPacket {
  return packet.kind === "tcp" && packet.isSyn && !packet.isAck;
}

function isDatagram(packet: Packet): packet is UdpPacket {
  return packet.kind === "udp" && packet.destinationPort !== DISCARD_PORT;
}

/** Why a connection is over. */
export function reasonOfEnd(error: TcpError, isRevoked: boolean): FlowReason {
  return isRevoked ? "rule_revoked" : REASONS[error.code] ?? "failed";
}

function keyOf(address: string): string {
  return hex(parseAddress(address)!);
}
