import type { DatagramSocket } from "../../wireguard/sockets/udp_socket.ts";
import type { Address } from "../stun/address.ts";
import type { TurnTransport } from "./transport.ts";

/** TURN over a UDP socket, which stays open: the tunnel may use it, too. */
export function turnOverUdp(
  socket: DatagramSocket,
  server: Address,
): TurnTransport {
  return {
    isReliable: false,
    send: (message) => socket.send(message, server),
    close: () => {},
  };
}
