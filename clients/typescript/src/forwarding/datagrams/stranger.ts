import { DIRECT } from "../../paths/peers/ranks.ts";
import type { UdpOptions, UdpSocket } from "../../wireguard/sockets/udp_socket.ts";
import { type Endpoint, isSameEndpoint } from "../../wireguard/surroundings.ts";
import type { Port } from "./sessions.ts";

/** The `via` of the stranger's endpoints. */
export const STRANGER = "stranger";

/** The discard port (RFC 863). No rule lets packets in there. */
const DISCARD = 9;

/**
 * A socket that no peer was told of. A peer that answers datagrams from it accepts datagrams from
 * anyone, so the kernel can also reach the peer from its own port.
 */
export class Stranger {
  #socket: UdpSocket | null = null;

  async open(
    openSocket: (options: UdpOptions) => Promise<UdpSocket>,
    onDatagram: UdpOptions["onDatagram"],
  ): Promise<void> {
    this.#socket ??= await openSocket({ port: 0, via: STRANGER, onDatagram });
  }

  send(datagram: Uint8Array, to: Endpoint): void {
    this.#socket?.send(datagram, to);
  }

  /** Makes the kernel send a packet to this address in the mesh. */
  nudge(address: string): void {
    this.#socket?.send(new Uint8Array(1), { address, port: DISCARD });
  }

  close(): void {
    this.#socket?.close();
    this.#socket = null;
  }
}

/** Whether the peer has answered the stranger, at the endpoint that the kernel had before. */
export function isOpen({ own, way }: Port): boolean {
  return own !== null && way !== null && isSameEndpoint(own, way);
}

/** The same endpoint as a direct one, for code that does not know the stranger. */
export function withoutStranger(endpoint: Endpoint): Endpoint {
  return endpoint.via === STRANGER ? { ...endpoint, via: DIRECT } : endpoint;
}
