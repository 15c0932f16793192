import { DIRECT } from "../../paths/peers/ranks.ts";
import type { UdpOptions, UdpSocket } from "../../wireguard/sockets/udp_socket.ts";
import { type Endpoint, isSameEndpoint } from "../../wireguard/surroundings.ts";
import type { Port } from "./sessions.ts";

/** The start of the `via` of a stranger's endpoints. Each stranger has another `via`. */
const STRANGER = "stranger-";

/**
 * Opens a socket that no peer was told of, for one peer. A peer that answers datagrams from it
 * accepts datagrams from anyone, so the kernel can also reach the peer from its own port. The peer
 * then reports the socket's address to the service, which tells other peers (`observed_endpoint`).
 * So each peer needs a socket of its own.
 */
export function openStranger(
  openSocket: (options: UdpOptions) => Promise<UdpSocket>,
  { number, onDatagram }: {
    /** Another one for each socket. */
    readonly number: number;
    readonly onDatagram: UdpOptions["onDatagram"];
  },
): Promise<UdpSocket> {
  return openSocket({ port: 0, via: `${STRANGER}${number}`, onDatagram });
}

/** Whether the endpoint is reached from a stranger. */
export function isStrangers({ via }: Endpoint): boolean {
  return via.startsWith(STRANGER);
}

/** How many data packets after each handshake are also sent by the stranger. */
export const COPIES = 3;

/**
 * Where a data packet of the kernel is also to be sent by the stranger; null if nowhere. If the
 * peer began the session, the stranger has sent no initiation that the peer could answer. `to`:
 * where the packet is sent otherwise.
 */
export function nextCopy(port: Port, to: Endpoint | null): Endpoint | null {
  if (port.own === null || port.copies === 0 || (to !== null && isStrangers(to))) return null;
  port.copies--;
  return port.own;
}

/** Notes that the stranger of a port has received a data packet of the peer. */
export function noteAnswer(port: Port, from: Endpoint): void {
  if (port.own !== null && isSameEndpoint(port.own, from)) port.isOpen = true;
}

/** Whether the peer has answered the stranger, at the endpoint that the kernel had before. */
export function isOpen({ own, way, isOpen }: Port): boolean {
  return own !== null && (isOpen || (way !== null && isSameEndpoint(own, way)));
}

/** The same endpoint as a direct one, for code that does not know the stranger. */
export function withoutStranger(endpoint: Endpoint): Endpoint {
  return isStrangers(endpoint) ? { ...endpoint, via: DIRECT } : endpoint;
}
